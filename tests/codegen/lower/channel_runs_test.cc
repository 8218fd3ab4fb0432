// SPDX-License-Identifier: MIT
#include "codegen/lower/channel_runs.h"

#include <algorithm>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

struct Case {
  int batch = 1;
  int height = 5, width = 7;
  int stride = 1;
  int kernel = 1;
  int groups = 1;
  int out = 21;
  std::string dtype = "f32";
};

// Channels of three values, of 20, 13 and 40, in five runs of 12, 13, 7, 1 and 15; what reads them
// adds a bias and a value of its shape.
std::string graph_text(const Case& c) {
  const auto type = [&](int channels, int height, int width) {
    return "f32[" + std::to_string(c.batch) + "x" + std::to_string(channels) + "x" +
           std::to_string(height) + "x" + std::to_string(width) + "]";
  };
  std::string text = "graph \"g\" {\n";
  const auto line = [&](const std::string& more) { text += more + "\n"; };
  const std::string pointwise =
      " {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}";
  line("%x = input \"x\" : " + type(5, c.height, c.width));
  for (const auto& [name, channels] : {std::pair("a", 20), {"b", 13}, {"d", 40}}) {
    const std::string value = name;
    line("%w" + value + " = constant {seed 3} : f32[" + std::to_string(channels) + "x5x1x1]");
    line("%" + value + "0 = conv(%x, %w" + value + ")" + pointwise);
    line("%" + value + "1 = tanh(%" + value + "0)");
    line("%" + value + " = cast(%" + value + "1) {to=" + c.dtype + "}");
  }
  const auto slice = [&](const char* name, const char* from, int begin, int count) {
    line("%" + std::string(name) + " = slice(%" + from + ") {begin=[0," + std::to_string(begin) +
         ",0,0], extent=[" + std::to_string(c.batch) + "," + std::to_string(count) + "," +
         std::to_string(c.height) + "," + std::to_string(c.width) + "], step=[1,1,1,1]}");
  };
  slice("p", "a", 3, 12);
  slice("q", "d", 1, 7);
  slice("r", "a", 19, 1);
  slice("s", "d", 25, 15);
  line("%c = concat(%p, %b, %q, %r, %s) {axis=1}");
  const int in = 48 / c.groups;
  const std::string kernel = std::to_string(c.kernel) + "x" + std::to_string(c.kernel);
  line("%w = constant {seed 6} : " + c.dtype + "[" + std::to_string(c.out) + "x" +
       std::to_string(in) + "x" + kernel + "]");
  const std::string pads = "[" + std::to_string(c.kernel / 2) + "," + std::to_string(c.kernel / 2);
  const std::string stride = std::to_string(c.stride);
  line("%e = conv(%c, %w) {strides=[" + stride + "," + stride + "], dilations=[1,1], pads_begin=" +
       pads + "], pads_end=" + pads + "], groups=" + std::to_string(c.groups) + "}");
  const int height = (c.height + c.stride - 1) / c.stride;
  const int width = (c.width + c.stride - 1) / c.stride;
  line("%r1 = input \"r\" : " + type(c.out, height, width));
  line("%y0 = add(%e, %r1)");
  line("%y = sigmoid(%y0)\noutput \"y\" = %y\n}");
  return text;
}

Schedule gathered(const ir::Graph& graph, int32_t block, const CpuTarget& target) {
  schedule::ScheduleOptions options = {block, true};
  options.joins = [&](const Schedule& schedule, const Region& joined) {
    return pays_to_gather({schedule, joined, target});
  };
  return schedule::make_schedule(graph, options);
}

// The runs of the last region's root; the results must be right.
std::vector<int64_t> checked_runs(const Case& c, int32_t block, const CpuTarget& target,
                                  double tolerance = 1e-6) {
  const ir::Graph graph = parsed(graph_text(c));
  const Schedule schedule = gathered(graph, block, target);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const ScheduleRun run = run_schedule(schedule, inputs, target);
  check_against_oracle(graph, inputs, run.outputs, tolerance);
  const std::vector<int64_t> runs = channel_runs({schedule, schedule.regions.back(), target, 1});
  if (!runs.empty()) CHECK(run.strategies.back() == "conv_direct");
  CHECK(schedule.regions.size() == (runs.empty() ? 5U : 4U));
  return runs;
}

TEST_CASE("a pointwise convolution reads runs of channels where they lie") {
  const std::vector<int64_t> runs = {12, 13, 7, 1, 15};
  for (const int32_t block : {1, 4, 8}) {
    CHECK(checked_runs({}, block, test_target()) == runs);
    CHECK(checked_runs({.batch = 2, .height = 9, .width = 13}, block, test_target()) == runs);
    CHECK(checked_runs({.stride = 2}, block, test_target()) == runs);
    CHECK(checked_runs({.height = 3, .width = 41, .stride = 2}, block, test_target()) == runs);
    CHECK(checked_runs({.out = 64}, block, test_target()) == runs);
  }
  CHECK(checked_runs({.out = 40}, 16, test_target(64)) == runs);
}

TEST_CASE("weights that don't stay in the caches are fetched for runs of channels, too") {
  CpuTarget target = test_target();
  target.l2_bytes = 4096;
  CHECK(checked_runs({.height = 2, .width = 3, .out = 64}, 8, target).size() == 5);
}

TEST_CASE("other convolutions have their channels copied") {
  CHECK(checked_runs({.kernel = 3}, 8, test_target()).empty());
  CHECK(checked_runs({.groups = 3}, 8, test_target()).empty());
  CHECK(checked_runs({.dtype = "bf16"}, 8, test_target(), 2e-2).empty());
  CpuTarget gpu = test_target();
  gpu.is_gpu = true;
  CHECK(checked_runs({}, 1, gpu).empty());
}

TEST_CASE("pieces that are more than runs of values in memory are copied") {
  const std::string text = graph_text({});
  const auto has_runs = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    if (!from.empty()) changed.replace(changed.find(from), from.size(), to);
    const ir::Graph graph = parsed(changed);
    const CpuTarget target = test_target();
    const Schedule schedule = gathered(graph, 8, target);
    return !channel_runs({schedule, schedule.regions.back(), target, 1}).empty();
  };
  CHECK(has_runs("", ""));  // control
  const std::string of_all = "%c = concat(%p, %b, %q, %r, %s)";
  CHECK_FALSE(has_runs(of_all, "%p1 = exp(%p)\n%c = concat(%p1, %b, %q, %r, %s)"));
  CHECK_FALSE(has_runs(of_all,
                       "%q1 = slice(%q) {begin=[0,6,0,0], extent=[1,7,5,7], step=[1,-1,1,1]}\n"
                       "%q2 = neg(%q1)\n%c = concat(%p, %b, %q2, %r, %s)"));
}

// Slices of one value, side by side: `pieces` are their first channels and numbers of channels.
std::string copy_text(const std::vector<std::pair<int, int>>& pieces) {
  std::string text =
      "graph \"g\" {\n%x = input \"x\" : f32[2x40x3x5]\n"
      "%v = constant {seed 2} : f32[40x40x1x1]\n%d = conv(%x, %v) {strides=[1,1], "
      "dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}\n";
  std::string concat = "%c = concat(";
  int channels = 0;
  for (const auto& [begin, count] : pieces) {
    const std::string name = "%p" + std::to_string(channels);
    text += name + " = slice(%d) {begin=[0," + std::to_string(begin) + ",0,0], extent=[2," +
            std::to_string(count) + ",3,5], step=[1,1,1,1]}\n";
    concat += (channels == 0 ? "" : ", ") + name;
    channels += count;
  }
  return text + concat + ") {axis=1}\n%w = constant {seed 1} : f32[8x" + std::to_string(channels) +
         "x3x3]\n%y = conv(%c, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], "
         "pads_end=[1,1]}\noutput \"y\" = %y\n}";
}

TEST_CASE("pieces that are no whole blocks of a concatenation are copied where they belong") {
  const std::vector<std::vector<std::pair<int, int>>> cases = {
      {{3, 9}, {1, 8}, {16, 8}, {5, 7}},      // anywhere
      {{3, 9}, {5, 15}},                      // the same, of two
      {{0, 18}, {18, 9}, {27, 5}},            // in the same places of blocks
      {{0, 18}, {26, 1}, {35, 1}, {20, 12}},  // of which some are within a block
      {{8, 8}, {0, 16}, {32, 8}},             // whole blocks
  };
  for (const auto& pieces : cases) {
    for (const int32_t block : {1, 4, 8}) {
      CAPTURE(pieces.size(), pieces[0].second, block);
      check_graph(copy_text(pieces), 1e-5, block);
    }
  }
}

}  // namespace
}  // namespace camshaft::lower
