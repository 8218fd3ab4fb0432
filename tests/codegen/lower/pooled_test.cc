// SPDX-License-Identifier: MIT
// Depthwise convolutions whose kernel also reduces what it writes (schedule::Region::pooled).
#include <algorithm>

#include "codegen/lower/separable_plan.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

// A pointwise convolution to `channels`, a depthwise one of stride `stride` with an activation, the
// mean of that, mixed among channels, and the product of both.
std::string graph_text(int batch, int channels, int height, int width, int stride,
                       const std::string& kind = "sum", const std::string& axes = "2, 3") {
  const int h = (height - 1) / stride + 1;
  const int w = (width - 1) / stride + 1;
  const int means = axes == "2, 3" ? 1 : w;
  char text[2000];
  std::snprintf(text, sizeof text, R"(graph "g" {
    %%x = input "x" : f32[%dx5x%dx%d]
    %%w0 = constant {seed 3} : f32[%dx5x1x1]
    %%x0 = conv(%%x, %%w0) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %%wd = constant {seed 4} : f32[%dx1x3x3]
    %%d0 = conv(%%x0, %%wd) {strides=[%d,%d], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=%d}
    %%d = sigmoid(%%d0)
    %%m0 = reduce(%%d) {kind=%s, axes=[%s]}
    %%n0 = constant {seed 7} : f32[1x%dx1x1]
    %%n = broadcast(%%n0) {shape=[%d,%d,1,%d]}
    %%m = mul(%%m0, %%n)
    %%we = constant {seed 5} : f32[%dx%dx1x1]
    %%e = conv(%%m, %%we) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %%mb = broadcast(%%e) {shape=[%d,%d,%d,%d]}
    %%s = mul(%%d, %%mb)
    %%a = tanh(%%s)
    output "y" = %%a
  })",
                batch, height, width, channels, channels, stride, stride, channels, kind.c_str(),
                axes.c_str(), channels, batch, channels, means, channels, channels, batch, channels,
                h, w);
  return text;
}

Schedule pooled_schedule(const ir::Graph& graph, int32_t block, int threads = 1) {
  const CpuTarget target = test_target(block == 16 ? 64 : block == 8 ? 32 : 16);
  schedule::ScheduleOptions options = {block, true};
  options.joins = [&](const Schedule& schedule, const Region& joined) {
    return joined.pooled != ir::kNoNode && pays_to_join({schedule, joined, target, threads});
  };
  return schedule::make_schedule(graph, options);
}

const Region* pooled_region(const Schedule& schedule) {
  const auto found =
      std::find_if(schedule.regions.begin(), schedule.regions.end(),
                   [](const Region& region) { return region.pooled != ir::kNoNode; });
  return found == schedule.regions.end() ? nullptr : &*found;
}

void check_pooled(const std::string& text, int32_t block) {
  CAPTURE(text, block);
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const Schedule schedule = pooled_schedule(graph, block);
  REQUIRE(pooled_region(schedule) != nullptr);
  CHECK(schedule.regions.size() + 1 ==
        schedule::make_schedule(graph, {block, true}).regions.size());
  const CpuTarget target = test_target(block == 16 ? 64 : block == 8 ? 32 : 16);
  const ScheduleRun run = run_schedule(schedule, inputs, target);
  CHECK(std::count(run.strategies.begin(), run.strategies.end(), "reduce") == 0);
  check_against_oracle(graph, inputs, run.outputs, 2e-5);
}

TEST_CASE("what a depthwise convolution writes is reduced in passing") {
  for (const int32_t block : {4, 8, 16}) {
    check_pooled(graph_text(1, 16, 7, 9, 1), block);
    check_pooled(graph_text(2, 32, 12, 5, 2), block);
    check_pooled(graph_text(1, 48, 23, 31, 1), block);
    check_pooled(graph_text(1, 16, 1, 1, 1), block);
  }
  for (const char* kind : {"max", "min", "prod"}) {
    check_pooled(graph_text(2, 16, 7, 9, 1, kind), 8);
  }
}

TEST_CASE("other reductions keep a kernel of their own") {
  const auto has_pooled = [](const std::string& text, int32_t block = 8, int threads = 1) {
    const Schedule schedule = pooled_schedule(parsed(text), block, threads);
    CHECK(schedule::verify_schedule(schedule).is_ok());
    return pooled_region(schedule) != nullptr;
  };
  CHECK(has_pooled(graph_text(1, 32, 7, 9, 1)));
  CHECK_FALSE(has_pooled(graph_text(1, 32, 7, 9, 1, "sum", "2")));  // over one axis
  CHECK_FALSE(has_pooled(graph_text(1, 7, 7, 9, 1)));               // channels in no blocks
  // Three vectors of channels are no work for two threads; four are.
  CHECK_FALSE(has_pooled(graph_text(1, 24, 7, 9, 1), 8, 2));
  CHECK(has_pooled(graph_text(1, 32, 7, 9, 1), 8, 2));
  // With something that may not be there yet.
  std::string text = graph_text(1, 32, 7, 9, 1);
  const std::string number = "constant {seed 7}";
  text.replace(text.find(number), number.size(), "input \"n\"");
  CHECK_FALSE(has_pooled(text));
}

TEST_CASE("a region with a second output: memory, description, the verifier") {
  const ir::Graph graph = parsed(graph_text(1, 32, 20, 20, 1));
  const Schedule good = pooled_schedule(graph, 8);
  REQUIRE(pooled_region(good) != nullptr);
  const Region& region = *pooled_region(good);
  const Task task{good, region, test_target()};
  CHECK(region_description(task) == "1x32x20x20 -> 1x32x20x20 k3x3 s1x1 g32 + reduce");
  CHECK(region_bytes(task) == 4 * (32 * 400 * 2 + 32 + 32 * 9 + 32));
  CHECK(good.buffer(region.pooled).first_region == good.buffer(region.output).first_region);
  for (const char* strategy : {"conv_direct", "conv_depthwise_rows", "fallback"}) {
    CHECK_FALSE(find_strategy(strategy)->matches(task));
  }
  const auto number = static_cast<size_t>(&region - good.regions.data());
  const auto refused = [&](const std::function<void(Schedule&, Region&)>& spoil) {
    Schedule bad = good;
    spoil(bad, bad.regions[number]);
    return !schedule::verify_schedule(bad).is_ok();
  };
  CHECK_FALSE(refused([](Schedule&, Region&) {}));
  CHECK(refused([](Schedule&, Region& bad) { bad.pooled = ir::kNoNode; }));
  CHECK(refused([](Schedule&, Region& bad) { bad.pooled = bad.output; }));
  CHECK(refused([](Schedule&, Region& bad) { bad.nodes.pop_back(); }));
}

}  // namespace
}  // namespace camshaft::lower
