// SPDX-License-Identifier: MIT
// Random small networks of bf16 for a target with matrix registers: convolutions of any channels
// and pixels, in blocks, in parts of blocks and planar, joined in place, cut, shuffled and added to
// each other, with any knobs and threads; on the interpreter, against the oracle.
#include <algorithm>
#include <map>
#include <random>

#include "codegen/passes/passes.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

// Of a few convolutions of bf16 one after the other, relative to the largest element.
constexpr double kTolerance = 4e-2;

// The text of a graph that a seed stands for.
class Net {
 public:
  explicit Net(uint64_t seed) : random_(seed) {
    batch_ = pick({1, 1, 2, 3});
    spatial_ = pick_shape();
    const int64_t channels = some_channels();
    text_ = "graph \"g\" {\n%x = input \"x\" : bf16" + shape_text(channels) + "\n";
    values_.push_back({"x", channels});
    const int64_t steps = below(5);
    for (int64_t i = 0; i < steps; ++i) add_step();
    convolve();
  }

  std::string text() {
    std::string text = text_;
    const size_t outputs = 1 + static_cast<size_t>(below(2));
    for (size_t i = 0; i < std::min(outputs, values_.size() - 1); ++i) {
      const Value& value = values_[values_.size() - 1 - i];
      text += "output \"y" + std::to_string(i) + "\" = %" + value.name + "\n";
    }
    return text + "}";
  }
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }
  size_t index_below(int64_t end) { return static_cast<size_t>(below(end)); }
  int64_t pick(const std::vector<int64_t>& options) {
    return options[index_below(static_cast<int64_t>(options.size()))];
  }

 private:
  struct Value {
    std::string name;
    int64_t channels;
  };

  std::vector<int64_t> pick_shape() {
    static const std::vector<std::vector<int64_t>> shapes = {
        {4, 8}, {7, 9}, {2, 3}, {1, 4}, {5, 1}, {3, 3}, {1, 17}, {21}, {16}, {33}, {6, 7}};
    return shapes[index_below(static_cast<int64_t>(shapes.size()))];
  }
  int64_t some_channels() {
    return pick({8, 9, 12, 15, 16, 17, 20, 24, 28, 29, 32, 33, 36, 40, 48, 56, 58, 64, 72, 87});
  }
  std::string shape_text(int64_t channels) const {
    std::string text = "[" + std::to_string(batch_) + "x" + std::to_string(channels);
    for (const int64_t extent : spatial_) text += "x" + std::to_string(extent);
    return text + "]";
  }
  std::string list(int64_t number) const {
    std::string text = "[";
    for (size_t i = 0; i < spatial_.size(); ++i) text += (i ? "," : "") + std::to_string(number);
    return text + "]";
  }
  std::string fresh() { return "v" + std::to_string(++names_); }
  const Value& some_value() {
    const auto count = static_cast<int64_t>(values_.size());
    return below(3) > 0 ? values_.back() : values_[index_below(count)];
  }
  std::string line(const std::string& what) {
    std::string name = fresh();
    text_ += "%" + name + " = " + what + "\n";
    return name;
  }

  void add_step() {
    const int64_t kind = below(10);
    if (kind < 6) {
      convolve();
    } else if (kind == 6) {
      join();
    } else if (kind == 7) {
      cut();
    } else if (kind == 8) {
      shuffle();
    } else {
      pool();
    }
  }

  void convolve() {
    const Value from = some_value();
    const int64_t channels = below(4) == 0 ? values_.front().channels : some_channels();
    const int64_t kernel = below(12) == 0 && from.channels < 40 ? 3 : 1;
    std::string w = "constant {seed " + std::to_string(below(1000)) + "} : bf16[" +
                    std::to_string(channels) + "x" + std::to_string(from.channels);
    for (size_t i = 0; i < spatial_.size(); ++i) w += "x" + std::to_string(kernel);
    const std::string weights = line(w + "]");
    std::string sum = line("conv(%" + from.name + ", %" + weights + ") {strides=" + list(1) +
                           ", dilations=" + list(1) + ", pads_begin=" + list(kernel / 2) +
                           ", pads_end=" + list(kernel / 2) + ", groups=1}");
    const std::string full = " : f32" + shape_text(channels);
    sum = line("mul(%" + sum + ", %" + line("constant {splat 0.125}" + full) + ")");
    if (below(3) == 0) sum = line("add(%" + sum + ", %" + line("constant {seed 7}" + full) + ")");
    for (const Value& other : values_) {
      if (other.channels != channels || below(2) == 0) continue;
      sum = line("add(%" + sum + ", %" + line("cast(%" + other.name + ") {to=f32}") + ")");
      break;
    }
    if (below(2) == 0) {
      sum = line("max(%" + sum + ", %" + line("constant {splat 0}" + full) + ")");
    }
    values_.push_back({line("cast(%" + sum + ") {to=bf16}"), channels});
  }

  void join() {
    const int64_t count = 2 + below(2);
    std::string operands;
    int64_t channels = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Value& value =
          i == 0 ? some_value() : values_[index_below(static_cast<int64_t>(values_.size()))];
      operands += (i ? ", %" : "%") + value.name;
      channels += value.channels;
    }
    if (channels > 120) return;
    values_.push_back({line("concat(" + operands + ") {axis=1}"), channels});
  }

  std::string slice_of(const Value& from, int64_t begin, int64_t extent) {
    std::string begins = "[0," + std::to_string(begin);
    std::string extents = "[" + std::to_string(batch_) + "," + std::to_string(extent);
    std::string steps = "[1,1";
    for (const int64_t e : spatial_) {
      begins += ",0";
      extents += "," + std::to_string(e);
      steps += ",1";
    }
    return line("slice(%" + from.name + ") {begin=" + begins + "], extent=" + extents +
                "], step=" + steps + "]}");
  }

  void cut() {
    const Value from = some_value();
    const int64_t begin = from.channels / pick({2, 3, 4});
    const int64_t extent = from.channels - begin;
    if (extent < 1) return;
    values_.push_back({slice_of(from, begin, extent), extent});
    if (below(2) == 0 && begin > 0) values_.push_back({slice_of(from, 0, begin), begin});
  }

  // Channels of groups among each other.
  void shuffle() {
    const Value from = some_value();
    const int64_t groups = pick({2, 3, 4});
    if (from.channels % groups != 0) return;
    int64_t pixels = 1;
    for (const int64_t e : spatial_) pixels *= e;
    const std::string n = "[" + std::to_string(batch_) + ",";
    const std::string wide =
        line("reshape(%" + from.name + ") {shape=" + n + std::to_string(groups) + "," +
             std::to_string(from.channels / groups) + "," + std::to_string(pixels) + "]}");
    const std::string turned = line("transpose(%" + wide + ") {perm=[0,2,1,3]}");
    std::string shape = n + std::to_string(from.channels);
    for (const int64_t e : spatial_) shape += "," + std::to_string(e);
    values_.push_back({line("reshape(%" + turned + ") {shape=" + shape + "]}"), from.channels});
  }

  void pool() {
    const Value from = some_value();
    values_.push_back(
        {line("pool(%" + from.name + ") {kind=max, kernel=" + list(1) + ", strides=" + list(1) +
              ", dilations=" + list(1) + ", pads_begin=" + list(0) + ", pads_end=" + list(0) + "}"),
         from.channels});
  }

  std::mt19937_64 random_;
  int64_t batch_ = 1;
  std::vector<int64_t> spatial_;
  std::string text_;
  std::vector<Value> values_;
  int names_ = 0;
};

// Runs networks [first, end) by strategies and knobs that any seed chooses: half the time the usual
// strategy, else any that can do the region. How often each was taken.
std::map<std::string, int> run_nets(uint64_t first, uint64_t end) {
  std::map<std::string, int> taken;
  for (uint64_t seed = first; seed < end; ++seed) {
    Net net(seed);
    const std::string text = net.text();
    CAPTURE(seed, text);
    const ir::Graph graph = passes::remove_dead(parsed(text));
    const std::vector<ir::Literal> inputs = seeded_inputs(graph);
    const auto block = static_cast<int32_t>(net.pick({1, 4, 8, 16, 32}));
    const auto threads = static_cast<int>(net.pick({1, 1, 2, 3, 7}));
    CpuTarget target = test_target(64);
    target.matrices = true;
    target.l2_bytes = net.pick({8 << 10, 32 << 10, 512 << 10});
    target.l1_bytes = static_cast<int32_t>(target.l2_bytes / 16);
    CAPTURE(block, threads, target.l2_bytes);
    const Schedule schedule = schedule::make_schedule(graph, {block, true});
    const ScheduleRun run = run_schedule(schedule, inputs, target, [&](const Task& task) {
      const Task shared{task.schedule, task.region, task.target, threads};
      std::vector<const Strategy*> fitting;
      for (const Strategy& strategy : strategies()) {
        if (!strategy.is_for_gpus && strategy.matches(shared)) fitting.push_back(&strategy);
      }
      const auto count = static_cast<int64_t>(fitting.size());
      const Strategy& strategy = *fitting[net.below(2) == 0 ? 0 : net.index_below(count)];
      ++taken[strategy.name];
      const std::vector<Knobs> knobs = strategy.knobs(shared);
      return strategy.emit(shared, knobs[net.index_below(static_cast<int64_t>(knobs.size()))]);
    });
    check_against_oracle(graph, inputs, run.outputs, kTolerance);
  }
  return taken;
}

TEST_CASE("random networks by matrix registers") {
  std::map<std::string, int> taken = run_nets(0, 40);
  CHECK(taken["conv_matrix"] > 0);
  CHECK(taken["conv_matrix_planar"] > 0);
}

TEST_CASE("many random networks by matrix registers", "[.][long]") {
  CHECK(run_nets(40, 1500).size() > 4);
}

}  // namespace
}  // namespace camshaft::lower
