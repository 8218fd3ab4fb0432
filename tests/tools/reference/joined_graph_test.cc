// SPDX-License-Identifier: MIT
#include "tools/reference/joined_graph.h"

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "codegen/ir/literal.h"
#include "tools/reference/implementation.h"

namespace camshaft::reference {
namespace {

ir::Graph parse(const char* text) {
  base::Result<ir::Graph> graph = ir::parse_graph(text);
  REQUIRE(graph.has_value());
  return std::move(*graph);
}

NamedTensor tensor(const char* name, const std::vector<float>& values) {
  ir::Literal literal{{ir::DType::kFloat32, {static_cast<int64_t>(values.size())}}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  literal.bytes.assign(bytes, bytes + values.size() * sizeof(float));
  return {name, std::make_shared<const ir::Literal>(std::move(literal))};
}

// The inputs are not in the order of their nodes.
const char* const kDifference = R"(graph "difference" {
  %0 = input "b" : f32[2]
  %1 = input "a" : f32[2]
  %2 = neg(%0) : f32[2]
  %3 = add(%1, %2) : f32[2]
  output "y" = %3
})";
const char* const kScaled = R"(graph "scaled" {
  %0 = input "a" : f32[3]
  %1 = constant {2, 3, 4} : f32[3]
  %2 = mul(%0, %1) : f32[3]
  output "y" = %2
  output "z" = %1
})";

TEST_CASE("joined graphs compute what each computes, under names of their own") {
  ir::Graph difference = parse(kDifference);
  std::swap(difference.inputs[0], difference.inputs[1]);
  const ir::Graph scaled = parse(kScaled);
  const std::vector<NamedTensor> first = {tensor("a", {5, 7}), tensor("b", {1, 10})};
  const std::vector<NamedTensor> second = {tensor("a", {1, -1, 0.5F})};
  const GraphPart parts[] = {{&difference, &first}, {&scaled, &second}, {&scaled, &second}};
  const JoinedGraph joined = join_graphs(parts);
  REQUIRE(ir::verify_graph(joined.graph).is_ok());
  std::string names;
  for (const ir::GraphOutput& output : joined.graph.outputs) names += output.name + " ";
  CHECK(names == "0/y 1/y 1/z 2/y 2/z ");
  ir::Graph counted = difference;
  counted.outputs[0].counted_axes = {0};
  const GraphPart alone[] = {{&counted, &first}};
  CHECK(join_graphs(alone).graph.outputs[0].counted_axes == std::vector<int>{0});
  for (const char* on : {kOracle, "llvm"}) {
    Implementation implementation(on, 1);
    const auto outputs = implementation.run(joined.graph, joined.tensors);
    REQUIRE(outputs.has_value());
    REQUIRE(outputs->size() == 5);
    CHECK((*outputs)[0].data<float>()[0] == 4);
    CHECK((*outputs)[0].data<float>()[1] == -3);
    for (const size_t i : {1, 3}) {
      CHECK((*outputs)[i].data<float>()[0] == 2);
      CHECK((*outputs)[i].data<float>()[1] == -3);
      CHECK((*outputs)[i].data<float>()[2] == 2);
      CHECK((*outputs)[i + 1].data<float>()[2] == 4);
    }
  }
}

}  // namespace
}  // namespace camshaft::reference
