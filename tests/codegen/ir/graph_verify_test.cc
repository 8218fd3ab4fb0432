// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "codegen/ir/graph.h"
#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

Graph small_graph() {
  Graph graph;
  graph.name = "small";
  const NodeId x = graph.add_input("x", {DType::kFloat32, {2, 3}});
  const NodeId k = graph.add_constant(splat_literal({DType::kFloat32, {2, 3}}, 2), "k");
  graph.add_output("y", graph.add(Op::kMul, {x, k}, {}, "scaled"));
  return graph;
}

// A graph's nodes are only reachable for reading; a test that breaks them must cheat.
Node& broken_node(Graph& graph, NodeId id) {
  return const_cast<Node&>(graph.node(id));
}

TEST_CASE("a well-formed graph is verified") {
  Graph graph = small_graph();
  CHECK(verify_graph(graph).is_ok());
  graph.outputs[0].slices.push_back({"part", 2, {2, 2}, "m"});
  CHECK(verify_graph(graph).is_ok());
  CHECK(verify_graph(Graph()).is_ok());
}

TEST_CASE("each broken rule is found") {
  Graph graph = small_graph();
  const auto is_refused = [&] { return verify_graph(graph).code() == base::Code::kInternal; };
  SECTION("operand after its node") {
    broken_node(graph, 2).inputs[1] = 2;
    CHECK(is_refused());
  }
  SECTION("operand that does not exist") {
    broken_node(graph, 2).inputs[0] = -1;
    CHECK(is_refused());
  }
  SECTION("wrong number of operands") {
    broken_node(graph, 2).inputs.push_back(0);
    CHECK(is_refused());
  }
  SECTION("a type that is not the inferred one") {
    broken_node(graph, 2).type.shape = {3, 2};
    CHECK(is_refused());
  }
  SECTION("operand types that do not fit") {
    broken_node(graph, 1).type.dtype = DType::kInt32;
    CHECK(is_refused());
  }
  SECTION("attributes of another op") {
    broken_node(graph, 2).attrs = ConcatAttrs{};
    CHECK(is_refused());
  }
  SECTION("a source with operands") {
    broken_node(graph, 1).inputs = {0};
    CHECK(is_refused());
  }
  SECTION("constant without literal") {
    broken_node(graph, 1).attrs = ConstantAttrs{};
    CHECK(is_refused());
  }
  SECTION("literal of the wrong size") {
    auto literal = std::make_shared<Literal>(splat_literal({DType::kFloat32, {2, 3}}, 2));
    literal->bytes.pop_back();
    broken_node(graph, 1).attrs = ConstantAttrs{literal};
    CHECK(is_refused());
  }
  SECTION("input of an impossible type") {
    broken_node(graph, 0).type.shape = {2, -3};
    CHECK(is_refused());
  }
  SECTION("input not listed") {
    graph.inputs.clear();
    CHECK(is_refused());
  }
  SECTION("input listed twice") {
    graph.inputs.push_back({"x2", 0, ""});
    CHECK(is_refused());
  }
  SECTION("input without a name") {
    graph.inputs[0].name.clear();
    CHECK(is_refused());
  }
  SECTION("listed input that is no input node") {
    graph.inputs[0].node = 1;
    CHECK(is_refused());
  }
  SECTION("output that does not exist") {
    graph.outputs[0].node = 3;
    CHECK(is_refused());
  }
  SECTION("two outputs of one name") {
    graph.add_output("y", 0);
    CHECK(is_refused());
  }
  SECTION("slice beyond its output") {
    graph.outputs[0].slices = {{"part", 3, {2, 2}, ""}};
    CHECK(is_refused());
  }
  SECTION("slice before its output") {
    graph.outputs[0].slices = {{"part", -1, {2}, ""}};
    CHECK(is_refused());
  }
  SECTION("slice whose size overflows") {
    graph.outputs[0].slices = {{"part", 0, {int64_t{1} << 40, int64_t{1} << 40}, ""}};
    CHECK(is_refused());
  }
  SECTION("two slices of one name") {
    graph.outputs[0].slices = {{"a", 0, {1}, ""}, {"a", 1, {1}, ""}};
    CHECK(is_refused());
  }
}

TEST_CASE("a bool constant holds 0 and 1 only") {
  Graph graph;
  Literal literal = zero_literal({DType::kBool, {2}});
  literal.bytes[1] = std::byte{1};
  graph.add_constant(literal);
  CHECK(verify_graph(graph).is_ok());
  literal.bytes[0] = std::byte{2};
  graph.add_constant(literal);
  CHECK_FALSE(verify_graph(graph).is_ok());
}

}  // namespace
}  // namespace camshaft::ir
