// SPDX-License-Identifier: MIT
#include "codegen/lower/separable_plan.h"

#include <algorithm>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

// A pointwise convolution that makes `channels` channels, the depthwise one, the pointwise one that
// reads it, and one more, so that all that lies between is in blocks.
struct Case {
  int batch, channels, out, height, width;
  int kernel = 3, stride = 1, dilation = 1;
  int pad_top = 1, pad_left = 1, pad_bottom = 1, pad_right = 1;
  bool has_residual = false;

  static int extent(int in, int pads, int reach, int stride) {
    return (in + pads - reach) / stride + 1;
  }
  int reach() const { return (kernel - 1) * dilation + 1; }
  int out_height() const { return extent(height, pad_top + pad_bottom, reach(), stride); }
  int out_width() const { return extent(width, pad_left + pad_right, reach(), stride); }
};

constexpr const char* kPointwise =
    "{strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}";

std::string shape(int n, int c, int h, int w) {
  return std::to_string(n) + (", " + std::to_string(c)) + ", " + std::to_string(h) + ", " +
         std::to_string(w);
}
std::string type(int n, int c, int h, int w) {
  return "f32[" + std::to_string(n) + "x" + std::to_string(c) + "x" + std::to_string(h) + "x" +
         std::to_string(w) + "]";
}

std::string graph_text(const Case& c) {
  const int h = c.out_height();
  const int w = c.out_width();
  char conv[200];
  std::snprintf(conv, sizeof conv,
                "{strides=[%d,%d], dilations=[%d,%d], pads_begin=[%d,%d], pads_end=[%d,%d], "
                "groups=%d}",
                c.stride, c.stride, c.dilation, c.dilation, c.pad_top, c.pad_left, c.pad_bottom,
                c.pad_right, c.channels);
  std::string text = "graph \"g\" {\n";
  const auto line = [&](const std::string& more) { text += more + "\n"; };
  line("%x = input \"x\" : " + type(c.batch, 5, c.height, c.width));
  line("%r = input \"r\" : " + type(c.batch, c.out, h, w));
  line("%w0 = constant {seed 3} : " + type(c.channels, 5, 1, 1));
  line("%x0 = conv(%x, %w0) " + std::string(kPointwise));
  line("%wd = constant {seed 4} : " + type(c.channels, 1, c.kernel, c.kernel));
  line("%d0 = conv(%x0, %wd) " + std::string(conv));
  line("%bd = constant {seed 5} : " + type(1, c.channels, 1, 1));
  line("%bdb = broadcast(%bd) {shape=[" + shape(c.batch, c.channels, h, w) + "]}");
  line("%d1 = add(%d0, %bdb)");
  line("%d = sigmoid(%d1)");
  line("%wp = constant {seed 6} : " + type(c.out, c.channels, 1, 1));
  line("%p0 = conv(%d, %wp) " + std::string(kPointwise));
  line("%bp = constant {seed 7} : " + type(1, c.out, 1, 1));
  line("%bpb = broadcast(%bp) {shape=[" + shape(c.batch, c.out, h, w) + "]}");
  line("%p1 = add(%p0, %bpb)");
  line(c.has_residual ? "%p2 = add(%p1, %r)" : "%p2 = sub(%p1, %bpb)");
  line("%p = tanh(%p2)");
  line("%wl = constant {seed 8} : " + type(8, c.out, 1, 1));
  line("%l = conv(%p, %wl) " + std::string(kPointwise));
  if (!c.has_residual) line("%s = neg(%r)\noutput \"s\" = %s");
  line("output \"y\" = %l\n}");
  return text;
}

// Channels scaled by a number each, as by a squeeze-and-excite, before a pointwise convolution.
std::string scale_text(int batch, int channels, int out, int height, int width) {
  std::string text = "graph \"g\" {\n";
  const auto line = [&](const std::string& more) { text += more + "\n"; };
  line("%x = input \"x\" : " + type(batch, 5, height, width));
  line("%w0 = constant {seed 3} : " + type(channels, 5, 1, 1));
  line("%x0 = conv(%x, %w0) " + std::string(kPointwise));
  line("%m = reduce(%x0) {kind=sum, axes=[2, 3]}");
  line("%ws = constant {seed 4} : " + type(channels, channels, 1, 1));
  line("%e0 = conv(%m, %ws) " + std::string(kPointwise));
  line("%e = sigmoid(%e0)");
  line("%eb = broadcast(%e) {shape=[" + shape(batch, channels, height, width) + "]}");
  line("%d = mul(%x0, %eb)");
  line("%wp = constant {seed 6} : " + type(out, channels, 1, 1));
  line("%p0 = conv(%d, %wp) " + std::string(kPointwise));
  line("%p = tanh(%p0)");
  line("%wl = constant {seed 8} : " + type(8, out, 1, 1));
  line("%l = conv(%p, %wl) " + std::string(kPointwise));
  line("output \"y\" = %l\n}");
  return text;
}

bool can_join(const Task& joined) {
  const std::optional<SeparableConv> conv = find_separable_conv(joined);
  return conv && !rank_separable(joined, *conv).empty();
}

using Decides = bool (*)(const Task& joined);

Schedule joined_schedule(const ir::Graph& graph, int32_t block, const CpuTarget& target,
                         Decides decides = can_join, int threads = 1) {
  schedule::ScheduleOptions options = {block, true};
  options.joins = [&](const Schedule& schedule, const Region& joined) {
    return decides({schedule, joined, target, threads});
  };
  return schedule::make_schedule(graph, options);
}

CpuTarget target_of(int32_t block) {
  return test_target(block == 16 ? 64 : block == 8 ? 32 : 16);
}

int joined_regions(const Schedule& schedule) {
  return static_cast<int>(
      std::count_if(schedule.regions.begin(), schedule.regions.end(),
                    [](const Region& region) { return region.inner != ir::kNoNode; }));
}

using Choose = std::function<void(Knobs& knobs)>;

// The joined region by these knobs gives what two kernels give, bit by bit, and what the oracle
// says.
void check_joined(const std::string& text, int32_t block, int threads, const Choose& choose) {
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const CpuTarget target = target_of(block);
  const Schedule apart = schedule::make_schedule(graph, {block, true});
  const Schedule joined = joined_schedule(graph, block, target);
  REQUIRE(joined_regions(apart) == 0);
  REQUIRE(joined_regions(joined) == 1);
  CHECK(joined.regions.size() + 1 == apart.regions.size());
  const ScheduleRun run = run_schedule(joined, inputs, target, [&](const Task& plain) {
    const Task task{plain.schedule, plain.region, plain.target, threads};
    if (task.region.inner == ir::kNoNode) return lower_region(task);
    const Strategy* strategy = find_strategy("conv_separable");
    REQUIRE(strategy->matches(task));
    Knobs knobs = strategy->knobs(task).front();
    choose(knobs);
    CAPTURE(to_string(knobs));
    return strategy->emit(task, knobs);
  });
  CHECK(std::count(run.strategies.begin(), run.strategies.end(), "conv_separable") == 1);
  check_against_oracle(graph, inputs, run.outputs, 2e-5);
  const ScheduleRun two = run_schedule(apart, inputs, target);
  REQUIRE(run.outputs.size() == two.outputs.size());
  for (size_t i = 0; i < two.outputs.size(); ++i) {
    CHECK(run.outputs[i].bytes == two.outputs[i].bytes);
  }
}

TEST_CASE("depthwise and pointwise convolutions in one kernel match the oracle and two kernels") {
  std::vector<Case> cases = {
      {1, 8, 8, 6, 7},
      {2, 16, 24, 9, 11, 3, 2},
      {1, 24, 16, 8, 13, 5, 1, 1, 2, 2, 2, 2, true},
      {1, 16, 40, 7, 7, 7, 2, 1, 3, 3, 3, 3},
      {1, 8, 12, 12, 10, 3, 1, 2, 2, 2, 2, 2, true},
      {1, 16, 8, 5, 9, 3, 1, 1, 0, 2, 1, 0},  // pads that differ
      {3, 8, 10, 4, 5, 3, 2, 1, 0, 0, 1, 1},  // the last vector of outputs is partial
      {1, 8, 3, 5, 6, 3, 1, 1, 1, 1, 1, 1, true},
      {1, 12, 20, 6, 5},                     // blocks of four channels
      {1, 8, 8, 1, 1, 1, 1, 1, 0, 0, 0, 0},  // one pixel, one tap
      {1, 8, 16, 4, 30, 5, 2, 2, 3, 4, 5, 4},
  };
  for (const Case& c : cases) {
    const std::string text = graph_text(c);
    CAPTURE(text);
    for (const int32_t rows : {1, 2, 3, 100}) {
      for (const int threads : {1, 2, 3}) {
        check_joined(text, 8, threads, [&](Knobs& knobs) {
          knobs.rows = std::min<int32_t>(rows, c.out_height());
          knobs.pixels = threads == 2 ? 4 : 6;
          knobs.vectors = threads == 1 ? 2 : 1;
        });
      }
    }
  }
}

TEST_CASE("channels are scaled on the way into a pointwise convolution") {
  for (const int threads : {1, 2, 4}) {
    for (const int32_t rows : {1, 4, 7}) {
      CAPTURE(threads, rows);
      const auto choose = [&](Knobs& knobs) {
        knobs.rows = rows;
        knobs.vectors = 1;
      };
      check_joined(scale_text(1, 16, 24, 7, 9), 8, threads, choose);
      check_joined(scale_text(2, 8, 13, 7, 3), 8, threads, choose);
    }
  }
}

TEST_CASE("joined regions for other vector widths, and with the chosen knobs") {
  for (const int32_t block : {4, 8, 16}) {
    CAPTURE(block);
    check_joined(graph_text({1, 32, 48, 11, 14, 3, 2, 1, 1, 1, 1, 1, true}), block, 1,
                 [](Knobs&) {});
    check_joined(scale_text(1, 48, 32, 9, 6), block, 3, [](Knobs&) {});
  }
}

// Negative control of the comparison of bits: other weights give others.
TEST_CASE("joined regions compute with the weights that they are given") {
  std::string text = graph_text({1, 16, 24, 6, 7});
  const CpuTarget target = target_of(8);
  const auto bytes_of = [&](const std::string& of) {
    const ir::Graph graph = parsed(of);
    return run_schedule(joined_schedule(graph, 8, target), seeded_inputs(graph), target)
        .outputs.back()
        .bytes;
  };
  const std::vector<std::byte> usual = bytes_of(text);
  CHECK(usual == bytes_of(text));
  for (const std::string seed : {"{seed 4}", "{seed 5}", "{seed 6}", "{seed 7}"}) {
    std::string other = text;
    other.replace(other.find(seed), seed.size(), "{seed 9}");
    CHECK(usual != bytes_of(other));
  }
}

int joins(const std::string& text, const CpuTarget& target = target_of(8),
          Decides decides = can_join, int threads = 1) {
  const Schedule schedule = joined_schedule(parsed(text), 8, target, decides, threads);
  CHECK(schedule::verify_schedule(schedule).is_ok());
  return joined_regions(schedule);
}

TEST_CASE("regions that can't be one kernel stay apart") {
  const std::string usual = graph_text({1, 16, 24, 6, 7});
  REQUIRE(joins(usual) == 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = usual;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    return text;
  };
  // The tensor between them is read by another one too, or is an output.
  CHECK(joins(with("output \"y\"", "%u = exp(%d)\noutput \"u\" = %u\noutput \"y\"")) == 0);
  CHECK(joins(with("output \"y\"", "output \"d\" = %d\noutput \"y\"")) == 0);
  // Channels in no blocks: seven of them.
  CHECK(joins(graph_text({1, 7, 24, 6, 7})) == 0);
  // Weights that are only known when the plan runs.
  CHECK(joins(with("%wp = constant {seed 6} : f32", "%wp = input \"wp\" : f32")) == 0);
  // A GPU's items have no caches of their own.
  CpuTarget gpu = target_of(8);
  gpu.is_gpu = true;
  CHECK(joins(usual, gpu) == 0);
  // A row of all channels is more than the caches hold.
  CpuTarget small = target_of(8);
  small.l2_bytes = 1 << 10;
  CHECK(joins(usual, small) == 0);
}

TEST_CASE("regions are joined where the tensor between them is larger than the caches") {
  const CpuTarget target = target_of(8);
  const auto depthwise = [&](int channels, int out, int size, int stride = 1, int threads = 1) {
    const Case c = {1, channels, out, size, size, 3, stride};
    return joins(graph_text(c), target, pays_to_join, threads);
  };
  CHECK(depthwise(32, 16, 112) == 1);
  CHECK(depthwise(32, 16, 112, 1, 2) == 1);
  // In the second level of the caches anyway.
  CHECK(depthwise(384, 64, 14) == 0);
  CHECK(depthwise(960, 160, 7) == 0);
  CHECK(depthwise(64, 64, 8) == 0);
  // In the third one, which costs less than strips whose every channel is far from the next.
  CHECK(depthwise(144, 24, 56) == 0);
  // In none.
  CpuTarget small = target;
  small.l3_bytes = 1 << 20;
  CHECK(joins(graph_text({1, 144, 24, 56, 56}), small, pays_to_join) == 1);
  // Not beside what it is computed from.
  const std::string strided = graph_text({1, 96, 24, 112, 112, 3, 2});
  CHECK(joins(strided, target, pays_to_join) == 0);
  small.l3_bytes = 4 << 20;
  CHECK(joins(strided, small, pays_to_join) == 1);
  // Scaling in passing is less work at any size, unless weights would pass too often.
  CHECK(joins(scale_text(1, 96, 24, 56, 56), target, pays_to_join) == 1);
  CHECK(joins(scale_text(1, 120, 40, 28, 28), target, pays_to_join, 2) == 1);
  CHECK(joins(scale_text(1, 1152, 192, 7, 7), target, pays_to_join) == 0);
}

TEST_CASE("a joined region has no memory for what lies between, and says what it does") {
  const ir::Graph graph = parsed(graph_text({1, 32, 16, 40, 40}));
  const CpuTarget target = target_of(8);
  const Schedule apart = schedule::make_schedule(graph, {8, true});
  const Schedule joined = joined_schedule(graph, 8, target);
  CHECK(joined.arena_bytes < apart.arena_bytes);
  const auto region = std::find_if(joined.regions.begin(), joined.regions.end(),
                                   [](const Region& r) { return r.inner != ir::kNoNode; });
  REQUIRE(region != joined.regions.end());
  const Task task{joined, *region, target};
  CHECK_FALSE(task.has_buffer(region->inner));
  CHECK(region_description(task) == "1x32x40x40 -> 1x16x40x40 k3x3 s1x1 g32 + k1x1 s1x1");
  const int64_t depthwise_flops = 2 * 9 + 2;  // with bias and sigmoid
  CHECK(region_flops(task) == 1600 * (32 * depthwise_flops + 16 * (2 * 32 + 3)));
  const int64_t weights = 32 * 9 + 32 + 16 * 32 + 16;
  CHECK(region_bytes(task) == 4 * (1600 * (32 + 16) + weights));
}

TEST_CASE("the schedule's verifier knows joined regions") {
  const ir::Graph graph = parsed(graph_text({1, 16, 24, 6, 7}));
  const Schedule good = joined_schedule(graph, 8, target_of(8));
  REQUIRE(schedule::verify_schedule(good).is_ok());
  const auto joined =
      static_cast<size_t>(std::find_if(good.regions.begin(), good.regions.end(),
                                       [](const Region& r) { return r.inner != ir::kNoNode; }) -
                          good.regions.begin());
  const auto refused = [&](const std::function<void(Schedule&, Region&)>& spoil) {
    Schedule bad = good;
    spoil(bad, bad.regions[joined]);
    return !schedule::verify_schedule(bad).is_ok();
  };
  CHECK_FALSE(refused([](Schedule&, Region&) {}));
  CHECK(refused(
      [](Schedule& bad, Region& region) { bad.buffer_of[static_cast<size_t>(region.inner)] = 0; }));
  CHECK(refused([](Schedule&, Region& region) { region.inner = region.root; }));
  CHECK(refused([](Schedule&, Region& region) { region.inner = region.leaves.front(); }));
  CHECK(refused(
      [](Schedule& bad, Region& region) { bad.regions.back().leaves.push_back(region.inner); }));
}

}  // namespace
}  // namespace camshaft::lower
