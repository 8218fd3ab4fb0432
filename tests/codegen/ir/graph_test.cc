// SPDX-License-Identifier: MIT
#include "codegen/ir/graph.h"

#include <catch2/catch.hpp>

#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

const TensorType kImage{DType::kFloat32, {1, 3, 8, 8}};

TEST_CASE("the op table knows every op by its own row") {
  for (int i = 0; i < kOpCount; ++i) CHECK(op_info(static_cast<Op>(i)).op == static_cast<Op>(i));
  CHECK(std::string(op_info(Op::kConv).name) == "conv");
  CHECK(op_info(Op::kConv).arity == 2);
  CHECK(op_info(Op::kConcat).arity == -1);
  CHECK(is_elementwise(Op::kSelect));
  CHECK(is_movement(Op::kPad));
  CHECK(is_structured(Op::kGather));
  CHECK_FALSE(is_elementwise(Op::kInput));
}

TEST_CASE("tensor types count elements and bytes") {
  CHECK(kImage.elements() == 192);
  CHECK(kImage.size_bytes() == 768);
  CHECK(TensorType{DType::kFloat64, {}}.elements() == 1);
  CHECK(TensorType{DType::kInt8, {4, 0}}.size_bytes() == 0);
  CHECK(to_string(kImage) == "f32[1x3x8x8]");
  CHECK(to_string(TensorType{DType::kBool, {}}) == "bool[]");
}

TEST_CASE("a graph types its nodes as they are added") {
  Graph graph;
  graph.name = "small";
  const NodeId x = graph.add_input("x", kImage);
  const NodeId w = graph.add_constant(zero_literal({DType::kFloat32, {2, 3, 3, 3}}), "w");
  const NodeId y = graph.add(Op::kConv, {x, w}, ConvAttrs{{2, 2}, {1, 1}, {1, 1}, {1, 1}, 1}, "c");
  graph.add_output("y", y);
  CHECK(graph.node(y).type == TensorType{DType::kFloat32, {1, 2, 4, 4}});
  CHECK(graph.inputs.at(0).node == x);
  CHECK(graph.outputs.at(0).node == y);
}

TEST_CASE("a splat of a rank above 0 is a broadcast of one element") {
  Graph graph;
  const NodeId scalar = graph.add_splat({DType::kFloat32, {}}, 2);
  const NodeId tensor = graph.add_splat({DType::kInt32, {4, 5}}, -3);
  CHECK(graph.node(scalar).op == Op::kConstant);
  CHECK(graph.node(tensor).op == Op::kBroadcast);
  CHECK(graph.node(tensor).type == TensorType{DType::kInt32, {4, 5}});
  const Node& one = graph.node(graph.node(tensor).inputs.at(0));
  CHECK(literal_as_int(*one.as<ConstantAttrs>().literal, 0) == -3);
}

TEST_CASE("a splat may take its type from a node of the same graph") {
  Graph graph;
  NodeId last = graph.add_input("x", kImage);
  for (int i = 0; i < 100; ++i) last = graph.add_splat(graph.node(last).type, i);
  CHECK(graph.node(last).type == kImage);
  CHECK(verify_graph(graph).is_ok());
}

TEST_CASE("consumers are listed once for each operand that they read") {
  Graph graph;
  const NodeId x = graph.add_input("x", kImage);
  const NodeId square = graph.add(Op::kMul, {x, x});
  const NodeId root = graph.add(Op::kSqrt, {square});
  graph.add_output("y", root);
  const auto consumers = consumers_of(graph);
  CHECK(consumers.at(0) == std::vector<NodeId>{square, square});
  CHECK(consumers.at(1) == std::vector<NodeId>{root});
  CHECK(consumers.at(2).empty());
}

}  // namespace
}  // namespace camshaft::ir
