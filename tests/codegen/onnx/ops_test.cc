// SPDX-License-Identifier: MIT
// How operators decompose, and what they refuse. That they compute the right numbers is tested
// against the onnx package and onnxruntime in tests/e2e.
#include "codegen/onnx/op_table.h"

#include <catch2/catch.hpp>

#include <set>

#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

std::vector<OpRow> all_rows() {
  std::vector<OpRow> rows;
  for (const OpFamily family : op_families()) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  return rows;
}

TEST_CASE("each operator stands in the table once") {
  std::set<std::pair<std::string, std::string>> names;
  for (const OpRow& row : all_rows()) {
    CHECK(names.emplace(row.domain, row.name).second);
    REQUIRE(find_op(row.domain, row.name) != nullptr);
    CHECK(find_op(row.domain, row.name)->function == row.function);
    CHECK(row.since >= kOldestOpset);
    CHECK(row.since <= kNewestOpset);
    CHECK(row.min_inputs <= row.max_inputs);
  }
  CHECK(find_op("", "relu") == nullptr);
  CHECK(find_op("ai.onnx", "Relu") == find_op("", "Relu"));
  CHECK(find_op(kMicrosoft, "Relu") == nullptr);
  CHECK(find_op(kMicrosoft, "Gelu") != find_op("", "Gelu"));
}

// Shapes computed with operators: what exporters write for x.view(x.size(0), -1).
TEST_CASE("arithmetic on shapes leaves no trace in the graph") {
  Model model;
  model.input("x", {2, 3, 4})
      .ints("zero", {0})
      .ints("minus_one", {-1})
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "zero"}, {"batch"})
      .node("Mul", {"batch", "batch"}, {"square"})
      .node("Div", {"square", "batch"}, {"again"})
      .node("Concat", {"again", "minus_one"}, {"target"})
      .attr("axis", 0)
      .node("Reshape", {"x", "target"}, {"y"})
      .output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(output_type(graph).shape == Shape{2, 12});
  CHECK(graph.size() == 2);  // the input and one reshape
}

TEST_CASE("expanding by a computed shape, as exporters write it") {
  Model model;
  model.input("x", {1, 3})
      .ints("target", {2, -1})
      .ints("minus_one", {-1})
      .ints("length", {2})
      .node("ConstantOfShape", {"length"}, {"ones"});
  *model.graph().mutable_node(0)->add_attribute() = [] {
    ::onnx::AttributeProto attribute;
    attribute.set_name("value");
    attribute.set_type(::onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() = to_tensor_proto(ir::make_literal({DType::kInt64, {1}}, {1}), "");
    return attribute;
  }();
  model.node("Equal", {"target", "minus_one"}, {"is_free"})
      .node("Where", {"is_free", "ones", "target"}, {"shape"})
      .node("Expand", {"x", "shape"}, {"y"})
      .output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(output_type(graph).shape == Shape{2, 3});
  CHECK(graph.size() == 2);
}

TEST_CASE("a shape that depends on data is unsupported") {
  Model model;
  model.input("x", {4}).input("shape", DType::kInt64, {1});
  model.node("Reshape", {"x", "shape"}, {"y"}).output("y");
  const Outcome outcome = read(model);
  CHECK(outcome.code == base::Code::kUnsupported);
  CHECK_THAT(outcome.text(), Contains("input 1 (shape) depends on data"));
}

TEST_CASE("batch normalization is one multiplication and one addition") {
  Model model;
  model.input("x", {1, 2, 1, 2});
  model.initializer("scale", DType::kFloat32, {2}, {2, 1})
      .initializer("bias", DType::kFloat32, {2}, {1, 0})
      .initializer("mean", DType::kFloat32, {2}, {3, 1})
      .initializer("var", DType::kFloat32, {2}, {4, 0.25});
  model.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"})
      .attr_float("epsilon", 0)
      .output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(count_ops(graph, ir::Op::kMul) == 1);
  CHECK(count_ops(graph, ir::Op::kAdd) == 1);
  CHECK(count_ops(graph, ir::Op::kConstant) == 2);
  CHECK(count_ops(graph, ir::Op::kSqrt) == 0);
  CHECK(run(graph, {{3, 5, 1, 2}}) == std::vector<double>{1, 3, 0, 2});
}

TEST_CASE("weights of one matrix are not copied for each batch") {
  Model model;
  model.input("x", {4, 8, 3}).initializer("w", DType::kFloat32, {3, 2}, {1, 2, 3, 4, 5, 6});
  model.node("MatMul", {"x", "w"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(output_type(graph).shape == Shape{4, 8, 2});
  CHECK(count_ops(graph, ir::Op::kBroadcast) == 0);
}

TEST_CASE("large constants of one value stay small") {
  Model model;
  model.input("x", {1}).ints("shape", {1 << 20, 1 << 10});
  model.node("ConstantOfShape", {"shape"}, {"c"}).node("Add", {"x", "c"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(model);
  for (const ir::Node& node : graph.nodes()) {
    if (node.op == ir::Op::kConstant) CHECK(node.type.elements() == 1);
  }
}

TEST_CASE("a model can't ask for gigantic tables") {
  Model range;
  range.input("x", {1}).initializer("zero", DType::kInt64, {}, {0});
  range.initializer("many", DType::kInt64, {}, {1e15}).initializer("one", DType::kInt64, {}, {1});
  range.node("Range", {"zero", "many", "one"}, {"y"}).output("y");
  CHECK_THAT(read(range).text(), Contains("table of 1000000000000000 elements"));

  Model resize;
  resize.input("x", {1, 1, 1, 1}).ints("sizes", {1, 1, 1, 1e12});
  resize.node("Resize", {"x", "", "", "sizes"}, {"y"}).output("y");
  CHECK(read(resize).code == base::Code::kUnsupported);

  Model tile;
  tile.input("x", {1 << 20}).ints("repeats", {4e18});
  tile.node("Tile", {"x", "repeats"}, {"y"}).output("y");
  CHECK(read(tile).code == base::Code::kInvalidArgument);
}

TEST_CASE("operands that do not fit are told with both shapes") {
  Model shapes;
  shapes.input("a", {2, 3}).input("b", {2, 4}).node("Add", {"a", "b"}, {"y"}).output("y");
  Outcome outcome = read(shapes);
  CHECK(outcome.code == base::Code::kInvalidArgument);
  CHECK_THAT(outcome.text(), Contains("2x3") && Contains("2x4"));

  Model dtypes;
  dtypes.input("a", {2}).input("b", DType::kInt64, {2}).node("Mul", {"a", "b"}, {"y"}).output("y");
  CHECK_THAT(read(dtypes).text(), Contains("f32[2]") && Contains("i64[2]"));

  Model axis;
  axis.input("a", {2, 3}).node("Softmax", {"a"}, {"y"}).attr("axis", 2).output("y");
  CHECK_THAT(read(axis).text(), Contains("axis 2 is not one of the 2 axes"));

  Model kernel;
  kernel.input("x", {1, 3, 8, 8}).input("w", {4, 3, 3, 3});
  kernel.node("Conv", {"x", "w"}, {"y"}).attr_ints("kernel_shape", {5, 5}).output("y");
  CHECK_THAT(read(kernel).text(), Contains("kernel_shape is 5x5") && Contains("4x3x3x3"));
}

TEST_CASE("malformed equations are refused") {
  for (const char* equation : {"ij,jk->ik", "i->i", "ij->ijk", "ij->ii", "i1->i", "..i->i", "->",
                               "......->", "ij->i->j", "iii->i"}) {
    Model model;
    model.input("x", {2, 3}).node("Einsum", {"x"}, {"y"}).attr_string("equation", equation);
    const Outcome outcome = read(model.output("y"));
    INFO(equation);
    CHECK(outcome.code == base::Code::kInvalidArgument);
  }
}

TEST_CASE("outputs that are not supported are told by number") {
  Model model;
  model.input("x", {1, 1, 4, 4});
  model.node("Relu", {"x"}, {"y", "z"}).output("y");
  CHECK_THAT(read(model).text(), Contains("output 1 is not supported"));
  model.graph().mutable_node(0)->mutable_output()->RemoveLast();
  graph_of(model);
}

TEST_CASE("a fused operator's activation must be known") {
  const auto model = [](const char* activation) {
    Model made;
    made.input("x", {1, 2, 4, 4}).input("w", {3, 2, 1, 1});
    made.node("FusedConv", {"x", "w"}, {"y"}).domain("com.microsoft");
    made.attr_string("activation", activation).output("y");
    return made;
  };
  CHECK(count_ops(graph_of(model("Relu")), ir::Op::kMax) == 1);
  CHECK(count_ops(graph_of(model("")), ir::Op::kMax) == 0);
  CHECK_THAT(read(model("Wobble")).text(), Contains("activation 'Wobble' is not supported"));
}

TEST_CASE("layer normalization is read at any opset, as onnxruntime writes it") {
  Model model(11);
  model.input("x", {2, 3}).initializer("scale", DType::kFloat32, {3}, {1, 1, 1});
  model.node("LayerNormalization", {"x", "scale"}, {"y"}).attr("axis", -1).output("y");
  CHECK(output_type(graph_of(model)).shape == Shape{2, 3});
}

// Every operator with operands that hardly fit it: a graph or a problem, but never a crash.
TEST_CASE("no operator trips over strange operands") {
  const std::vector<Shape> shapes = {{}, {0}, {3}, {1, 1}, {2, 3}, {2, 0, 3}, {2, 4, 5, 6}};
  int readable = 0;
  for (const OpRow& row : all_rows()) {
    const int most = std::min(row.max_inputs, row.min_inputs + 3);
    for (int inputs = row.min_inputs; inputs <= most; ++inputs) {
      for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool, DType::kFloat16}) {
        for (size_t first = 0; first < shapes.size(); ++first) {
          Model model(std::max(row.since, 21));
          std::vector<std::string> names;
          for (int i = 0; i < inputs; ++i) {
            names.push_back("x" + std::to_string(i));
            model.input(names.back(), dtype, {});
            auto* declared = model.graph().mutable_input(i)->mutable_type()->mutable_tensor_type();
            for (const int64_t extent : shapes[(first + static_cast<size_t>(i) * 2) % 7]) {
              declared->mutable_shape()->add_dim()->set_dim_value(extent);
            }
          }
          model.node(row.name, names, {"y"}).domain(row.domain).output("y");
          for (const char* name : {"axis", "to", "blocksize", "size", "num_groups", "num_heads",
                                   "q_num_heads", "kv_num_heads"}) {
            if (first % 2 == 0) model.attr(name, 1);
          }
          const Outcome outcome = read(model);
          if (outcome.code != base::Code::kOk) continue;
          CHECK(ir::verify_graph(outcome.graph).is_ok());
          ++readable;
        }
      }
    }
  }
  CHECK(readable > 100);
}

}  // namespace
}  // namespace camshaft::onnx
