// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::Op;

const std::string kPointwise =
    " {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}\n";

// Nodes of one op, in order.
std::vector<ir::Node> nodes_of(const Graph& graph, Op op) {
  std::vector<ir::Node> nodes;
  for (ir::NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op == op) nodes.push_back(graph.node(id));
  }
  return nodes;
}

DType operand_dtype(const Graph& graph, const ir::Node& node, size_t which) {
  return graph.node(node.inputs[which]).type.dtype;
}

Graph narrowed(const std::string& text, DType dtype, const std::set<ir::NodeId>& stored = {}) {
  Graph graph = narrow_floats(ir::graph_from(text), dtype, stored);
  REQUIRE(verify_graph(graph).is_ok());
  return graph;
}

const std::string kTwoConvolutions =
    "%x = input \"x\" : f32[1x4x3x3]\n%v = constant {seed 1} : f32[8x4x1x1]\n"
    "%w = constant {seed 2} : f32[8x8x1x1]\n%a = conv(%x, %v)" +
    kPointwise + "%z = constant {splat 0} : f32[1x8x3x3]\n%r = max(%a, %z)\n%b = conv(%r, %w)" +
    kPointwise + "%s = add(%b, %r)\noutput \"y\" = %s";

TEST_CASE("products read narrow values and give f32; those of an input stay as they are") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const Graph graph = narrowed(kTwoConvolutions, dtype);
    const std::vector<ir::Node> convs = nodes_of(graph, Op::kConv);
    REQUIRE(convs.size() == 2);
    for (const size_t operand : {0, 1}) {
      CHECK(operand_dtype(graph, convs[0], operand) == DType::kFloat32);
      CHECK(operand_dtype(graph, convs[1], operand) == dtype);
    }
    // Weights are narrow in the plan.
    CHECK(graph.node(convs[1].inputs[1]).op == Op::kConstant);
    CHECK(convs[1].type.dtype == DType::kFloat32);
    CHECK(graph.node(graph.outputs[0].node).type.dtype == DType::kFloat32);
    // What is added is what lies in memory, widened.
    const ir::Node& sum = graph.node(graph.outputs[0].node);
    const ir::Node& added = graph.node(sum.inputs[1]);
    REQUIRE(added.op == Op::kCast);
    CHECK(added.inputs[0] == convs[1].inputs[0]);
  }
}

TEST_CASE("a target may want convolutions of inputs narrow, those of many taps") {
  const auto first_operand = [](const std::string& shape, bool of_inputs) {
    const std::string pads = shape == "1x1" ? "[0,0]" : "[1,1]";
    const std::string text = "%x = input \"x\" : f32[1x4x5x5]\n%v = constant {seed 1} : f32[8x4x" +
                             shape + "]\n%a = conv(%x, %v) {strides=[1,1], dilations=[1,1], " +
                             "pads_begin=" + pads + ", pads_end=" + pads +
                             ", groups=1}\noutput \"y\" = %a";
    const Graph graph = narrow_floats(ir::graph_from(text), DType::kBFloat16, {}, {}, of_inputs);
    REQUIRE(verify_graph(graph).is_ok());
    return operand_dtype(graph, nodes_of(graph, Op::kConv).at(0), 0);
  };
  CHECK(first_operand("3x3", true) == DType::kBFloat16);
  CHECK(first_operand("3x3", false) == DType::kFloat32);
  CHECK(first_operand("3x2", true) == DType::kFloat32);
  CHECK(first_operand("1x1", true) == DType::kFloat32);
}

TEST_CASE("narrow graphs compute what wide ones do, to the precision of the dtype") {
  const ir::Graph before = ir::graph_from(kTwoConvolutions);
  const auto inputs = ir::seeded_inputs(before, 5);
  const auto expected = ir::run_all(before, inputs).at(0).floats;
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const double precision = dtype == DType::kFloat16 ? 0x1p-11 : 0x1p-8;
    const auto actual = ir::run_all(narrow_floats(before, dtype, {}), inputs).at(0).floats;
    REQUIRE(actual.size() == expected.size());
    double largest = 0;
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      worst = std::max(worst, std::abs(actual[i] - expected[i]));
    }
    CHECK(worst <= 4 * precision * largest);
    CHECK(worst > precision * largest / 64);  // it is not the wide graph
  }
}

TEST_CASE("movement and pools pass narrow values on") {
  const Graph graph = narrowed(
      "%x = input \"x\" : f32[1x8x4x4]\n%e = exp(%x)\n%f = sqrt(%x)\n%c = concat(%e, %f) {axis=1}\n"
      "%p = pool(%c) {kind=max, kernel=[2,2], strides=[2,2], dilations=[1,1], pads_begin=[0,0], "
      "pads_end=[0,0]}\n%w = constant {seed 2} : f32[8x16x1x1]\n%b = conv(%p, %w)" +
          kPointwise + "output \"y\" = %b",
      DType::kBFloat16);
  CHECK(nodes_of(graph, Op::kPool).at(0).type.dtype == DType::kBFloat16);
  CHECK(nodes_of(graph, Op::kConcat).at(0).type.dtype == DType::kBFloat16);
  CHECK(nodes_of(graph, Op::kExp).at(0).type.dtype == DType::kFloat32);
  CHECK(nodes_of(graph, Op::kCast).size() == 2);
}

TEST_CASE("what the caller names is stored narrow, each reader widens it") {
  const std::string text =
      "%x = input \"x\" : f32[4]\n%e = exp(%x)\n%s = sqrt(%e)\n%n = neg(%e)\n%y = add(%s, %n)\n"
      "output \"y\" = %y";
  CHECK(nodes_of(narrowed(text, DType::kFloat16), Op::kCast).empty());
  const Graph graph = narrowed(text, DType::kFloat16, {1});
  const std::vector<ir::Node> casts = nodes_of(graph, Op::kCast);
  REQUIRE(casts.size() == 3);
  CHECK(casts[0].type.dtype == DType::kFloat16);
  CHECK(casts[1].inputs == casts[2].inputs);
}

TEST_CASE("what the caller names is rounded and stays f32") {
  const std::string text =
      "%x = input \"x\" : f32[4]\n%e = exp(%x)\n%s = sqrt(%e)\n%n = neg(%e)\n%y = add(%s, %n)\n"
      "output \"y\" = %y";
  const Graph graph = narrow_floats(ir::graph_from(text), DType::kBFloat16, {}, {1});
  REQUIRE(verify_graph(graph).is_ok());
  const std::vector<ir::Node> casts = nodes_of(graph, Op::kCast);
  REQUIRE(casts.size() == 2);
  CHECK(casts[0].type.dtype == DType::kBFloat16);
  CHECK(casts[1].type.dtype == DType::kFloat32);
  for (const Op reader : {Op::kSqrt, Op::kNeg}) {
    const ir::NodeId operand = nodes_of(graph, reader).at(0).inputs[0];
    CHECK(graph.node(operand).op == Op::kCast);
    CHECK(graph.node(operand).type.dtype == DType::kFloat32);
  }
}

TEST_CASE("other dtypes keep theirs") {
  for (const std::string dtype : {"f64", "i32"}) {
    const std::string text = "%x = input \"x\" : " + dtype +
                             "[2x3]\n%w = constant {seed 1} : " + dtype +
                             "[3x4]\n%y = matmul(%x, %w)\noutput \"y\" = %y";
    check_unchanged([](const Graph& g) { return narrow_floats(g, DType::kBFloat16, {}); }, text);
  }
}

}  // namespace
}  // namespace camshaft::passes
