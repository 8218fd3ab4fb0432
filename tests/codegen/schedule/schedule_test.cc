// SPDX-License-Identifier: MIT
#include "codegen/schedule/schedule.h"

#include <catch2/catch.hpp>

#include "codegen/ir/literal.h"
#include "tests/codegen/schedule/schedule_testing.h"

namespace camshaft::schedule {
namespace {

constexpr const char* kResidualBlock = R"(
    %x = input "x" : f32[1x16x8x8]
    %w = constant {seed 1} : f32[16x16x3x3]
    %b = constant {seed 2} : f32[1x16x1x1]
    %zero = constant {splat 0} : f32[1x16x8x8]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1} "c1"
    %bb = broadcast(%b) {shape=[1,16,8,8]}
    %cb = add(%c, %bb)
    %r = max(%cb, %zero) "relu1"
    %w2 = constant {seed 3} : f32[16x16x1x1]
    %d = conv(%r, %w2) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1} "c2"
    %s = add(%d, %x)
    %r2 = max(%s, %zero)
    output "y" = %r2
)";

TEST_CASE("a convolution with bias, activation and residual add is one region") {
  const Schedule schedule = schedule_of(kResidualBlock);
  REQUIRE(schedule.regions.size() == 2);
  CHECK(schedule.graph.node(schedule.regions[0].root).name == "c1");
  CHECK(schedule.regions[0].name == "c1+relu1");
  CHECK(schedule.graph.node(schedule.regions[1].root).name == "c2");
}

TEST_CASE("without fusion every node is its own region, and splats are still numbers") {
  const Schedule schedule = schedule_of(kResidualBlock, 8, false);
  CHECK(schedule.regions.size() == 7);
}

TEST_CASE("a value that two regions need ends its region") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[1x8x4x4]
    %w = constant {seed 1} : f32[8x8x1x1]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %t = tanh(%c)
    %d = conv(%t, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %e = add(%d, %t)
    output "y" = %e
  )");
  REQUIRE(schedule.regions.size() == 2);
  CHECK(schedule.graph.node(schedule.regions[0].output).op == ir::Op::kTanh);
}

TEST_CASE("x * sigmoid(x) joins the convolution although x is read twice") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[1x8x4x4]
    %w = constant {seed 1} : f32[8x8x1x1]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %s = sigmoid(%c)
    %m = mul(%c, %s)
    output "y" = %m
  )");
  CHECK(schedule.regions.size() == 1);
}

TEST_CASE("what is computed per channel is not computed again for every pixel") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[1x8x4x4]
    %g = input "g" : f32[1x8x1x1]
    %s = sigmoid(%g)
    %sb = broadcast(%s) {shape=[1,8,4,4]}
    %m = mul(%x, %sb)
    output "y" = %m
  )");
  REQUIRE(schedule.regions.size() == 2);
  CHECK(schedule.graph.node(schedule.regions[0].output).op == ir::Op::kSigmoid);
}

TEST_CASE("outputs that are inputs, constants or the same value get nodes of their own") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[4]
    %c = constant {1, 2} : f32[2]
    %t = tanh(%x)
    output "a" = %x
    output "b" = %c
    output "c" = %t
    output "d" = %t
  )");
  CHECK(schedule.regions.size() == 4);
  int outputs = 0;
  for (const BufferInfo& buffer : schedule.buffers) outputs += buffer.kind == BufferKind::kOutput;
  CHECK(outputs == 4);
}

TEST_CASE("convolution results are blocked, graph inputs and outputs row-major") {
  const Schedule schedule = schedule_of(kResidualBlock);
  CHECK(schedule.buffer(schedule.graph.inputs[0].node).layout.channel_block == 1);
  CHECK(schedule.buffer(schedule.regions[0].output).layout.channel_block == 8);
  CHECK(schedule.buffer(schedule.graph.outputs[0].node).layout.channel_block == 1);
}

TEST_CASE("channels that are moved keep as much of a block as divides them") {
  const std::string attrs =
      "{strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}\n";
  const auto block_of = [&](int64_t channels) {
    const std::string all = std::to_string(4 * channels), own = std::to_string(channels);
    const Schedule schedule = schedule_of(
        "%x = input \"x\" : f32[1x4x6x6]\n%w = input \"w\" : f32[" + all +
            "x4x1x1]\n%v = input \"v\" : f32[4x" + own + "x1x1]\n%c = conv(%x, %w) " + attrs +
            "%r = reshape(%c) {shape=[1," + own +
            ",2,2,6,6]}\n"
            "%t = transpose(%r) {perm=[0,1,4,2,5,3]}\n"
            "%d = reshape(%t) {shape=[1," +
            own + ",12,12]}\n%a = sigmoid(%d)\n%e = conv(%a, %v) " + attrs + "output \"y\" = %e\n",
        16);
    for (const Region& region : schedule.regions) {
      if (schedule.type(region.output).shape == std::vector<int64_t>{1, channels, 12, 12}) {
        return schedule.buffer(region.output).layout.channel_block;
      }
    }
    return -1;
  };
  CHECK(block_of(32) == 16);
  CHECK(block_of(24) == 8);
  CHECK(block_of(12) == 4);
  CHECK(block_of(10) == 1);
}

// Random lifetimes and sizes through real schedules: chains with skips of random length.
ir::Graph random_chain(uint64_t seed) {
  ir::Graph graph;
  std::vector<ir::NodeId> values = {graph.add_input("x", {ir::DType::kFloat32, {64}})};
  const auto random = [&seed] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(seed >> 33);
  };
  for (int i = 0; i < 40; ++i) {
    const ir::NodeId from = values[static_cast<size_t>(random()) % values.size()];
    const int64_t extent = graph.node(from).type.shape[0];
    const int64_t times = 1 + random() % 3;
    const ir::NodeId piece = graph.add(
        ir::Op::kSlice, {from}, ir::SliceAttrs{{0}, {std::max<int64_t>(extent / 2, 1)}, {1}});
    values.push_back(graph.add(ir::Op::kConcat,
                               std::vector<ir::NodeId>(static_cast<size_t>(times), piece),
                               ir::ConcatAttrs{0}));
  }
  for (size_t i = 0; i < values.size(); i += 7)
    graph.add_output("y" + std::to_string(i), values[i]);
  graph.add_output("last", values.back());
  return graph;
}

TEST_CASE("the arena never overlaps live buffers and stays near the lower bound") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Schedule schedule = make_schedule(random_chain(seed), {8, true});
    REQUIRE(verify_schedule(schedule).is_ok());
    CHECK(schedule.arena_bytes >= schedule.arena_lower_bound_bytes);
    CHECK(schedule.arena_bytes <= 2 * schedule.arena_lower_bound_bytes);
  }
}

TEST_CASE("the verifier refuses broken schedules") {
  const Schedule good = schedule_of(kResidualBlock);
  Schedule overlap = schedule_of(R"(
    %x = input "x" : f32[64]
    %a = concat(%x, %x) {axis=0}
    %b = concat(%a, %x) {axis=0}
    %c = concat(%a, %b) {axis=0}
    output "y" = %c
  )");
  for (BufferInfo& buffer : overlap.buffers) buffer.offset_bytes = 0;
  CHECK_FALSE(verify_schedule(overlap).is_ok());
  Schedule order = good;
  std::swap(order.regions[0], order.regions[1]);
  CHECK_FALSE(verify_schedule(order).is_ok());
  Schedule leaf = good;
  leaf.regions[1].leaves.pop_back();
  CHECK_FALSE(verify_schedule(leaf).is_ok());
  Schedule output = good;
  output.regions.pop_back();
  CHECK_FALSE(verify_schedule(output).is_ok());
}

}  // namespace
}  // namespace camshaft::schedule
