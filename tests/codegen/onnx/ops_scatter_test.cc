// SPDX-License-Identifier: MIT
// What Scatter and TopK refuse, and what their graphs do with indices that no axis has.
#include <catch2/catch.hpp>

#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;
using Values = std::vector<double>;

TEST_CASE("an index outside drops its update, on every axis") {
  Model elements(18);
  elements.input("data", {2, 3})
      .initializer("indices", DType::kInt32, {2, 2}, {3, -4, -3, 2})
      .initializer("updates", DType::kFloat32, {2, 2}, {10, 20, 30, 40})
      .node("ScatterElements", {"data", "indices", "updates"}, {"y"})
      .attr("axis", 1)
      .output("y");
  CHECK(run(graph_of(elements), {{1, 2, 3, 4, 5, 6}}) == Values{1, 2, 3, 30, 5, 40});

  Model tuples(18);
  tuples.input("data", {2, 3})
      .ints("flat", {0, 3, 1, -4, -1, -1, 2, 0, -3, 0, 1, 0})
      .ints("pairs", {6, 2})
      .initializer("updates", DType::kFloat32, {6}, {10, 20, 30, 40, 50, 60})
      .node("Reshape", {"flat", "pairs"}, {"indices"})
      .node("ScatterND", {"data", "indices", "updates"}, {"y"})
      .output("y");
  CHECK(run(graph_of(tuples), {{1, 2, 3, 4, 5, 6}}) == Values{1, 2, 3, 60, 5, 30});
}

TEST_CASE("a scatter copies whole rows where the tuples leave axes open") {
  Model model(18);
  model.input("data", {4, 5, 6})
      .input("indices", DType::kInt64, {2, 1})
      .input("updates", {2, 5, 6})
      .node("ScatterND", {"data", "indices", "updates"}, {"y"})
      .output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(count_ops(graph, ir::Op::kScatter) == 1);
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::Op::kScatter) CHECK(node.type.shape == Shape{4, 30});
  }
}

TEST_CASE("operands of a scatter that do not fit are refused") {
  const auto elements = [](std::initializer_list<Dim> indices, std::initializer_list<Dim> updates) {
    Model model(18);
    model.input("data", {2, 3}).input("indices", DType::kInt64, indices).input("updates", updates);
    model.node("ScatterElements", {"data", "indices", "updates"}, {"y"}).attr("axis", 1);
    return read(model.output("y")).text();
  };
  CHECK(elements({2, 5}, {2, 5}).empty());
  CHECK_THAT(elements({3, 1}, {3, 1}), Contains("indices exceed data on axis 0"));
  CHECK_THAT(elements({2, 2}, {2, 3}), Contains("the last two of one shape"));
  CHECK_THAT(elements({2}, {2}), Contains("of one rank"));

  const auto tuples = [](std::initializer_list<Dim> indices, std::initializer_list<Dim> updates) {
    Model model(18);
    model.input("data", {2, 3}).input("indices", DType::kInt64, indices).input("updates", updates);
    return read(model.node("ScatterND", {"data", "indices", "updates"}, {"y"}).output("y")).text();
  };
  CHECK(tuples({4, 1}, {4, 3}).empty());
  CHECK_THAT(tuples({4, 1}, {4, 2}), Contains("updates must be 4x3") && Contains("not 4x2"));
  CHECK_THAT(tuples({4, 3}, {4}), Contains("between 1 and 2 coordinates"));

  for (const char* op : {"ScatterElements", "ScatterND"}) {
    Model model(18);
    model.input("data", {2, 2}).input("indices", DType::kInt64, {2, 2}).input("updates", {2, 2});
    model.node(op, {"data", "indices", "updates"}, {"y"}).attr_string("reduction", "mean");
    CHECK_THAT(read(model.output("y")).text(),
               Contains("reduction must be none, add, mul, max or min"));
  }
}

TEST_CASE("TopK refuses a K that is unknown or more than there is") {
  const auto top = [](const Values& k) {
    Model model;
    model.input("x", {2, 3}).ints("k", k).node("TopK", {"x", "k"}, {"y", "i"}).output("y");
    return read(model.output("i")).text();
  };
  CHECK(top({3}).empty());
  CHECK_THAT(top({4}), Contains("K is 4, but axis 1 has 3 elements"));
  CHECK_THAT(top({-1}), Contains("K is -1"));
  CHECK_THAT(top({1, 2}), Contains("must have one element, not 2"));

  Model unknown;
  unknown.input("x", {2, 3}).input("k", DType::kInt64, {1}).node("TopK", {"x", "k"}, {"y", "i"});
  CHECK_THAT(read(unknown.output("y")).text(), Contains("input 1 (K) depends on data"));
  Model old(9);
  old.input("x", {2, 3}).node("TopK", {"x"}, {"y", "i"}).output("y");
  CHECK_THAT(read(old).text(), Contains("attribute 'k' is missing"));
}

}  // namespace
}  // namespace camshaft::onnx
