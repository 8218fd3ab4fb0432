// SPDX-License-Identifier: MIT
#include "codegen/onnx/value.h"

#include <catch2/catch.hpp>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/resize.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("shapes broadcast as in NumPy") {
  CHECK(broadcast_shapes({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast_shapes({2, 1, 4}, {5, 1}) == Shape{2, 5, 4});
  CHECK(broadcast_shapes({}, {}) == Shape{});
  CHECK(broadcast_shapes({0}, {1}) == Shape{0});
  CHECK_FALSE(broadcast_shapes({2}, {3}).has_value());
  CHECK_FALSE(broadcast_shapes({0}, {2}).has_value());
}

TEST_CASE("formulas on known values are computed at once") {
  ir::Graph graph;
  Builder builder(&graph);
  const Value x = builder.vector(DType::kFloat32, {1, 2, 3});
  const Value y = (x * 2.0 + 1.0) / x;
  CHECK(y.known_doubles() == std::vector<double>{3, 2.5, static_cast<double>(7.0F / 3.0F)});
  CHECK(graph.size() == 0);
  CHECK(builder.ints({4, 5}).known_ints() == Shape{4, 5});
}

TEST_CASE("known values enter the graph when a node needs them, once") {
  ir::Graph graph;
  Builder builder(&graph);
  const Value x = builder.input("x", {DType::kFloat32, {2, 3}});
  const Value y = x + 1.0;
  const Value z = y + 1.0;
  CHECK(builder.node(z) == graph.size() - 1);
  int constants = 0;
  for (const ir::Node& node : graph.nodes()) constants += node.op == ir::Op::kConstant ? 1 : 0;
  CHECK(constants == 1);
}

TEST_CASE("the first failure is remembered and what follows is absent") {
  ir::Graph graph;
  Builder builder(&graph);
  const Value a = builder.input("a", {DType::kFloat32, {2}});
  const Value b = builder.input("b", {DType::kFloat32, {3}});
  const Value bad = a + b;
  CHECK_FALSE(bad);
  CHECK_FALSE(exp(bad * 2.0));
  CHECK_FALSE(reshape(bad, {7}));
  CHECK_FALSE(matmul(bad, bad));
  CHECK(bad.dim(3) == 1);
  CHECK(bad.rank() == 0);
  CHECK(builder.failed());
  CHECK_THAT(builder.take_failure().sentence, Contains("shapes 2 and 3"));
  CHECK_FALSE(builder.failed());
}

TEST_CASE("movement that changes nothing adds nothing") {
  ir::Graph graph;
  Builder builder(&graph);
  const Value x = builder.input("x", {DType::kFloat32, {2, 3}});
  reshape(x, {2, 3});
  transpose(x, {0, 1});
  broadcast_to(x, {2, 3});
  slice_axis(x, 1, 0, 3);
  cast(x, DType::kFloat32);
  pad(x, {{0, 0}, {0, 0}});
  concat({x}, 0);
  CHECK(graph.size() == 1);
}

TEST_CASE("resampling taps: linear weights and clamped indices") {
  const Taps taps = make_taps({.interpolation = Interpolation::kLinear}, {2, 4, 2});
  REQUIRE(taps.indices.size() == 2);
  CHECK(taps.indices[0] == ir::Shape{0, 0, 0, 1});
  CHECK(taps.indices[1] == ir::Shape{0, 1, 1, 1});
  CHECK(taps.weights[1] == std::vector<double>{0.75, 0.25, 0.75, 0.25});
}

TEST_CASE("resampling taps: antialiasing widens the kernel when shrinking") {
  const ResizeMode mode{.interpolation = Interpolation::kLinear, .antialias = true};
  CHECK(tap_count(mode, {8, 16, 2}) == 2);
  CHECK(tap_count(mode, {8, 2, 0.25}) == 8);
  const Taps taps = make_taps(mode, {8, 2, 0.25});
  double sum = 0;
  for (const std::vector<double>& weights : taps.weights) sum += weights[1];
  CHECK(sum == Approx(1));
}

}  // namespace
}  // namespace camshaft::onnx
