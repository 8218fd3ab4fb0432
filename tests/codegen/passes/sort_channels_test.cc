// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/rewriter.h"
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

using ir::Op;

const std::string kPointwise = " {strides=[1], dilations=[1], pads_begin=[0], pads_end=[0]}\n";
constexpr int kWidth = 3;

// A graph's lines, one value after the other; all values are f32[batch x channels x kWidth].
class Network {
 public:
  explicit Network(int batch = 1) : batch_(batch) {}

  std::string input(int channels) {
    const std::string name = fresh();
    text_ +=
        name + " = input \"" + name.substr(1) + "\" : " + type({batch_, channels, kWidth}) + "\n";
    return name;
  }
  std::string constant(const std::vector<int>& shape) {
    const std::string name = fresh();
    text_ += name + " = constant {seed " + std::to_string(++seed_) + "} : " + type(shape) + "\n";
    return name;
  }
  std::string conv(const std::string& x, int channels, int out) {
    return line("conv(" + x + ", " + constant({out, channels, 1}) + ")" + kPointwise);
  }
  std::string depthwise(const std::string& x, int channels) {
    return line("conv(" + x + ", " + constant({channels, 1, 3}) +
                ") {strides=[1], dilations=[1], pads_begin=[1], pads_end=[1], groups=" +
                std::to_string(channels) + "}\n");
  }
  // Scale, bias and activation of each channel.
  std::string normalized(const std::string& x, int channels) {
    const std::string shape = " {shape=" + list({batch_, channels, kWidth}) + "}\n";
    const std::string scale = line("broadcast(" + constant({1, channels, 1}) + ")" + shape);
    const std::string bias = line("broadcast(" + constant({1, channels, 1}) + ")" + shape);
    const std::string product = line("mul(" + x + ", " + scale + ")\n");
    const std::string sum = line("add(" + product + ", " + bias + ")\n");
    return line("tanh(" + sum + ")\n");
  }
  std::string reshape(const std::string& x, const std::vector<int>& shape) {
    return line("reshape(" + x + ") {shape=" + list(shape) + "}\n");
  }
  std::string shuffle(const std::string& x, int channels, int groups) {
    const std::string split = reshape(x, {batch_, groups, channels / groups, kWidth});
    const std::string turned = line("transpose(" + split + ") {perm=[0,2,1,3]}\n");
    return reshape(turned, {batch_, channels, kWidth});
  }
  std::string slice(const std::string& x, int begin, int count, int step = 1) {
    return line("slice(" + x + ") {begin=" + list({0, begin, 0}) + ", extent=" +
                list({batch_, count, kWidth}) + ", step=" + list({1, step, 1}) + "}\n");
  }
  std::string concat(const std::string& a, const std::string& b) {
    return line("concat(" + a + ", " + b + ") {axis=1}\n");
  }
  // What ShuffleNetV2 does with `channels` channels: half of them pass, half are convolved.
  std::string unit(const std::string& x, int channels) {
    const int half = channels / 2;
    const std::string kept = slice(x, 0, half);
    std::string y = normalized(conv(slice(x, half, half), half, half), half);
    y = normalized(conv(depthwise(y, half), half, half), half);
    return shuffle(concat(kept, y), channels, 2);
  }
  std::string line(const std::string& expression) {
    const std::string name = fresh();
    text_ += name + " = " + expression;
    return name;
  }
  void output(const std::string& x) {
    text_ += "output \"y" + std::to_string(++outputs_) + "\" = " + x + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string fresh() { return "%v" + std::to_string(++values_); }
  static std::string joined(const std::vector<int>& shape, const char* between) {
    std::string text;
    for (const int extent : shape) text += (text.empty() ? "" : between) + std::to_string(extent);
    return text;
  }
  static std::string list(const std::vector<int>& shape) { return "[" + joined(shape, ",") + "]"; }
  static std::string type(const std::vector<int>& shape) {
    return "f32[" + joined(shape, "x") + "]";
  }

  int batch_;
  int values_ = 0;
  int seed_ = 0;
  int outputs_ = 0;
  std::string text_;
};

size_t count(const Graph& graph, Op op) {
  return nodes_of(graph, op).size();
}
size_t movements(const Graph& graph) {
  return count(graph, Op::kReshape) + count(graph, Op::kTranspose) + count(graph, Op::kSlice) +
         count(graph, Op::kConcat);
}

// The sum of each output runs in another order, nothing else.
void check_same_results(const Graph& before, const Graph& after) {
  INFO(print_graph(before) << print_graph(after));
  REQUIRE(verify_graph(after).is_ok());
  const auto inputs = ir::seeded_inputs(before, 3);
  const auto expected = ir::run_all(before, inputs);
  const auto actual = ir::run_all(after, inputs);
  REQUIRE(actual.size() == expected.size());
  double worst = 0;
  for (size_t o = 0; o < expected.size(); ++o) {
    REQUIRE(actual[o].type == expected[o].type);
    double largest = 1;
    for (const double want : expected[o].floats) largest = std::max(largest, std::fabs(want));
    for (size_t i = 0; i < expected[o].floats.size(); ++i) {
      const double error = std::fabs(actual[o].floats[i] - expected[o].floats[i]);
      worst = std::max(worst, error / largest);
    }
  }
  CHECK(worst < 1e-12);
}

Graph sorted(const Network& network) {
  const Graph before = ir::graph_from(network.text());
  Graph after = sort_channels(before);
  check_same_results(before, after);
  CHECK(equal_graphs(after, sort_channels(after)));
  return after;
}

void check_left_alone(const Network& network) {
  const Graph before = remove_dead(ir::graph_from(network.text()));  // inputs first
  CHECK(equal_graphs(sort_channels(before), before));
}

TEST_CASE("a shuffle between two convolutions goes into their weights") {
  for (const int batch : {1, 2}) {
    Network network(batch);
    const std::string a = network.normalized(network.conv(network.input(5), 5, 12), 12);
    network.output(network.conv(network.shuffle(a, 12, 3), 12, 4));
    CHECK(movements(sorted(network)) == 0);
  }
}

TEST_CASE("a shuffle is pushed through depthwise convolutions, pools and reductions") {
  Network network;
  const std::string a = network.conv(network.input(5), 5, 8);
  std::string b = network.normalized(network.depthwise(network.shuffle(a, 8, 2), 8), 8);
  b = network.line("pool(" + b +
                   ") {kind=max, kernel=[2], strides=[1], dilations=[1], pads_begin=[0], "
                   "pads_end=[1]}\n");
  // A squeeze-and-excite.
  std::string scale = network.line("reduce(" + b + ") {kind=sum, axes=[2]}\n");
  scale = network.conv(network.conv(scale, 8, 2), 2, 8);
  b = network.line("mul(" + b + ", " + network.line("broadcast(" + scale + ") {shape=[1,8,3]}\n") +
                   ")\n");
  network.output(network.conv(b, 8, 4));
  CHECK(movements(sorted(network)) == 0);
}

TEST_CASE("units that keep a half of their channels read whole runs of what made them") {
  Network network;
  const std::string x = network.input(5);
  std::string y = network.concat(network.conv(x, 5, 16), network.conv(x, 5, 16));
  y = network.shuffle(y, 32, 2);
  for (int i = 0; i < 4; ++i) y = network.unit(y, 32);
  network.output(network.conv(y, 32, 7));
  const Graph after = sorted(network);
  CHECK(count(after, Op::kTranspose) == 0);
  CHECK(count(after, Op::kReshape) == 0);
  CHECK(count(after, Op::kConcat) == 5);
  // Of each of the two first convolutions' and of each unit's channels, half are read by the unit
  // behind it, a quarter by the next, and so on.
  CHECK(count(after, Op::kSlice) <= 2 * 5 + 4 + 3 + 2 + 1 + 4);
  for (const ir::Node& node : nodes_of(after, Op::kSlice)) {
    CHECK(node.as<ir::SliceAttrs>().step == ir::Shape{1, 1, 1});
  }
}

TEST_CASE("weights that are all one number need no order") {
  Network network;
  const std::string ones = network.line("constant {splat 1} : f32[8x5x1]\n");
  const std::string a = network.line("conv(" + network.input(5) + ", " + ones + ")" + kPointwise);
  const std::string b = network.normalized(a, 8);
  network.output(network.conv(network.shuffle(b, 8, 4), 8, 4));
  CHECK(movements(sorted(network)) == 0);
}

TEST_CASE("shuffles are known in whatever shape they are written") {
  SECTION("without a batch axis") {
    Network network;
    const std::string a = network.reshape(network.conv(network.input(5), 5, 8), {4, 2, kWidth});
    const std::string turned = network.line("transpose(" + a + ") {perm=[1,0,2]}\n");
    const std::string halves = network.reshape(turned, {2, 1, 4, kWidth});
    const std::string half = network.reshape(
        network.line("slice(" + halves + ") {begin=[1,0,0,0], extent=[1,1,4,3], step=[1,1,1,1]}\n"),
        {1, 4, kWidth});
    network.output(network.conv(half, 4, 4));
    const Graph after = sorted(network);
    CHECK(movements(after) == 1);  // one slice
  }
  SECTION("as strided slices") {
    Network network;
    const std::string a = network.conv(network.input(5), 5, 8);
    const std::string b = network.concat(network.slice(a, 1, 4, 2), network.slice(a, 6, 4, -2));
    network.output(network.conv(b, 8, 4));
    CHECK(movements(sorted(network)) == 0);
  }
  SECTION("with an axis more for a concatenation") {
    Network network;
    const std::string x = network.input(5);
    const std::string a = network.reshape(network.conv(x, 5, 4), {1, 4, 1, kWidth});
    const std::string b = network.reshape(network.conv(x, 5, 4), {1, 4, 1, kWidth});
    const std::string both = network.line("concat(" + a + ", " + b + ") {axis=2}\n");
    const std::string turned = network.line("transpose(" + both + ") {perm=[0,2,1,3]}\n");
    const std::string back = network.line("transpose(" + turned + ") {perm=[0,2,1,3]}\n");
    network.output(network.conv(network.reshape(back, {1, 8, kWidth}), 8, 4));
    const Graph after = sorted(network);
    CHECK(movements(after) == 1);  // a concatenation of both, whole
  }
}

TEST_CASE("weights alone follow channels that something else reads") {
  Network network;
  const std::string a = network.conv(network.input(5), 5, 12);
  network.output(network.conv(network.shuffle(a, 12, 3), 12, 4));
  const auto check_weights_alone = [&] {
    const Graph after = sorted(network);
    CHECK(movements(after) == 0);
    const Graph before = ir::graph_from(network.text());
    CHECK(ir::equal_literals(*ir::literal_of(after, nodes_of(after, Op::kConv)[0].inputs[1]),
                             *ir::literal_of(before, nodes_of(before, Op::kConv)[0].inputs[1])));
  };
  SECTION("an output") {
    network.output(network.line("neg(" + a + ")\n"));
    check_weights_alone();
  }
  SECTION("a matrix product") {
    network.output(network.line("matmul(" + a + ", " + network.constant({1, 3, 2}) + ")\n"));
    check_weights_alone();
  }
  SECTION("a sum with an input") {
    const std::string sum = network.line("add(" + a + ", " + network.input(12) + ")\n");
    network.output(network.conv(sum, 12, 4));
    check_weights_alone();
  }
  SECTION("a reduction over the channels") {
    network.output(network.line("reduce(" + a + ") {kind=max, axes=[1]}\n"));
    check_weights_alone();
  }
}

TEST_CASE("a shuffle that something else reads stays") {
  Network network;
  const std::string a = network.conv(network.input(5), 5, 12);
  const std::string b = network.shuffle(a, 12, 3);
  network.output(network.conv(b, 12, 4));
  SECTION("an output") {
    network.output(b);
    check_left_alone(network);
  }
  SECTION("an output behind a depthwise convolution") {
    network.output(network.depthwise(b, 12));
    check_left_alone(network);
  }
  SECTION("a matrix product") {
    network.output(network.line("matmul(" + b + ", " + network.constant({1, 3, 2}) + ")\n"));
    check_left_alone(network);
  }
  SECTION("a convolution of groups") {
    network.output(network.line("conv(" + b + ", " + network.constant({6, 4, 1}) +
                                ") {strides=[1], dilations=[1], pads_begin=[0], pads_end=[0], "
                                "groups=3}\n"));
    check_left_alone(network);
  }
  SECTION("a convolution with weights that are not known") {
    network.output(network.line("conv(" + b + ", " + network.line("input \"w\" : f32[4x12x1]\n") +
                                ")" + kPointwise));
    check_left_alone(network);
  }
  SECTION("a sum with another shuffle") {
    const std::string c = network.shuffle(network.conv(b, 12, 12), 12, 2);
    network.output(network.conv(network.line("add(" + b + ", " + c + ")\n"), 12, 4));
    check_left_alone(network);
  }
  SECTION("a reduction over the channels") {
    network.output(network.line("reduce(" + b + ") {kind=max, axes=[1]}\n"));
    check_left_alone(network);
  }
}

TEST_CASE("movement of more than channels is left alone") {
  Network network;
  const std::string a = network.conv(network.input(6), 6, 6);
  SECTION("channels and columns change places") {
    const std::string b = network.reshape(a, {1, kWidth, 6});
    const std::string turned = network.line("transpose(" + b + ") {perm=[0,2,1]}\n");
    network.output(network.conv(turned, 6, 2));
    check_left_alone(network);
  }
  SECTION("columns turn around") {
    const std::string b =
        network.line("slice(" + a + ") {begin=[0,0,2], extent=[1,6,3], step=[1,1,-1]}\n");
    network.output(network.conv(b, 6, 2));
    check_left_alone(network);
  }
}

TEST_CASE("splits and concatenations that shuffle nothing are left alone") {
  Network network;
  const std::string x = network.conv(network.input(5), 5, 8);
  const std::string a = network.slice(x, 0, 4);
  const std::string b = network.slice(x, 4, 4);
  const std::string c = network.conv(b, 4, 4);
  network.output(network.conv(network.concat(network.concat(a, b), c), 12, 4));
  check_left_alone(network);
}

// A random network of values of a few numbers of channels.
Network random_network(uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  const auto below = [&](size_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>((state >> 33) % limit);
  };
  Network network(below(4) == 0 ? 2 : 1);
  std::vector<std::pair<std::string, int>> values = {{network.input(4), 4}};
  const auto add = [&](const std::string& name, int channels) {
    values.emplace_back(name, channels);
  };
  add(network.conv(values[0].first, 4, 8), 8);
  for (int i = 0; i < 14; ++i) {
    // Late values more often, so that chains grow.
    const auto [x, channels] =
        values[values.size() - 1 - below(std::min<size_t>(values.size(), 3))];
    switch (below(8)) {
      case 0:
        add(network.depthwise(x, channels), channels);
        break;
      case 1:
        add(network.normalized(x, channels), channels);
        break;
      case 2:
      case 3:
        add(network.shuffle(x, channels, 2), channels);
        break;
      case 4:
        add(network.slice(x, static_cast<int>(below(2)) * channels / 2, channels / 2),
            channels / 2);
        break;
      case 5:
        for (const auto& [other, others] : values) {
          if (others != channels || other == x) continue;
          if (below(2) == 0) {
            add(network.concat(other, x), channels + others);
          } else {
            add(network.line("add(" + x + ", " + other + ")\n"), channels);
          }
          break;
        }
        break;
      default: {
        const int out = 4 << below(3);
        add(network.conv(x, channels, out), out);
      }
    }
    if (values.back().second < 4 || values.back().second > 32) values.pop_back();
  }
  network.output(network.conv(values.back().first, values.back().second, 3));
  if (below(3) == 0) network.output(network.line("abs(" + values[values.size() / 2].first + ")\n"));
  return network;
}

TEST_CASE("random networks of shuffles keep their results") {
  int changed = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Network network = random_network(seed);
    const Graph before = remove_dead(ir::graph_from(network.text()));
    const Graph after = sort_channels(before);
    if (equal_graphs(before, after)) continue;
    ++changed;
    check_same_results(before, after);
    CHECK(movements(after) <= movements(before) + count(before, Op::kConcat) * 8);
  }
  CHECK(changed > 30);
}

TEST_CASE("the comparison of results sees weights in a wrong order") {
  Network network;
  const std::string a = network.conv(network.input(5), 5, 4);
  const std::string b = network.shuffle(a, 4, 2);
  network.output(network.conv(b, 4, 4));
  const Graph before = ir::graph_from(network.text());
  Network unshuffled;
  const std::string c = unshuffled.conv(unshuffled.input(5), 5, 4);
  unshuffled.output(unshuffled.conv(c, 4, 4));
  const Graph wrong = ir::graph_from(unshuffled.text());
  const auto inputs = ir::seeded_inputs(before, 3);
  CHECK(ir::run_all(before, inputs).at(0).floats != ir::run_all(wrong, inputs).at(0).floats);
}

}  // namespace
}  // namespace camshaft::passes
