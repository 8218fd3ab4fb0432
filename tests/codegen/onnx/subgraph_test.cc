// SPDX-License-Identifier: MIT
// Graphs inside nodes, functions and sparse tensors: what can be wrong with them, and that it is
// told. What they compute is tested against onnxruntime (tests/e2e/onnx_dynamic_test.py).
#include "codegen/onnx/sparse_tensor.h"
#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

// All sentences that reading the model gives, one a line.
std::string problems_of(Model& model, const ReaderOptions& options = {}) {
  std::vector<Problem> problems;
  const std::string bytes = model.proto.SerializeAsString();
  const auto graph = read_onnx_bytes(
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "", options, &problems);
  std::string text;
  for (const Problem& problem : problems) text += to_string(problem) + "\n";
  CHECK(graph.has_value() == problems.empty());
  return text;
}

::onnx::GraphProto* add_graph(Model& model, const std::string& name) {
  ::onnx::AttributeProto* attribute =
      model.graph().mutable_node(model.graph().node_size() - 1)->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  return attribute->mutable_g();
}

void add_node(::onnx::GraphProto* graph, const char* op_type, const char* input,
              const char* output) {
  ::onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op_type);
  node->add_input(input);
  node->add_output(output);
  graph->add_output()->set_name(output);
}

Model model_with_if(const char* op_type, const char* input) {
  Model model;
  model.input("x", {2}).input("c", DType::kBool, {1}).node("If", {"c"}, {"y"}).output("y");
  add_node(add_graph(model, "then_branch"), op_type, input, "t");
  add_node(add_graph(model, "else_branch"), "Neg", "x", "e");
  return model;
}

TEST_CASE("branches read the names around them") {
  Model good = model_with_if("Abs", "x");
  CHECK(problems_of(good).empty());
  Model unknown_name = model_with_if("Abs", "nothing");
  CHECK_THAT(problems_of(unknown_name),
             Contains("y_node/t") && Contains("reads 'nothing', which no input"));
  Model unknown_operator = model_with_if("Frobnicate", "x");
  const std::string text = problems_of(unknown_operator);
  CHECK_THAT(text, Contains("(Frobnicate)"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);  // and nothing about the If around it
}

TEST_CASE("a missing branch, one too few outputs and an input too many are told") {
  Model no_else;
  no_else.input("x", {2}).input("c", DType::kBool, {1}).node("If", {"c"}, {"y"}).output("y");
  add_node(add_graph(no_else, "then_branch"), "Abs", "x", "t");
  CHECK_THAT(problems_of(no_else), Contains("attribute 'else_branch' is missing"));
  Model uneven = model_with_if("Abs", "x");
  uneven.graph().mutable_node(0)->mutable_attribute(1)->mutable_g()->clear_output();
  CHECK_THAT(problems_of(uneven), Contains("its branches differ in outputs"));
  Model with_input = model_with_if("Abs", "x");
  with_input.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->add_input()->set_name("i");
  CHECK_THAT(problems_of(with_input), Contains("has 1 inputs; the operator gives it 0"));
}

Model model_with_loop() {
  Model model;
  model.input("x", {2}).input("n", DType::kInt64, {}).input("c", DType::kBool, {});
  model.node("Loop", {"n", "c", "x"}, {"y"}).output("y");
  ::onnx::GraphProto* body = add_graph(model, "body");
  for (const char* name : {"i", "go", "s"}) body->add_input()->set_name(name);
  add_node(body, "Identity", "go", "go_on");
  add_node(body, "Neg", "s", "s_out");
  return model;
}

TEST_CASE("a loop without a bound asks for one, and takes it by the node's name") {
  Model model = model_with_loop();
  CHECK_THAT(problems_of(model), Contains("nothing bounds it") && Contains("--bound 'y_node=N'"));
  CHECK(problems_of(model, {.bounds = {{"y_node", 3}}}).empty());
  CHECK(problems_of(model, {.bounds = {{"n", 3}}}).empty());
}

TEST_CASE("a bound that a run exceeds is told by an output") {
  Model model = model_with_loop();
  const std::string bytes = model.proto.SerializeAsString();
  const auto graph =
      read_onnx_bytes({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "",
                      {.bounds = {{"n", 3}}}, nullptr);
  REQUIRE(graph.has_value());
  REQUIRE(graph->outputs.size() == 2);
  CHECK(graph->outputs[1].name == kBoundExceeded);
  const auto run = [&](int64_t trips) {
    const ir::OracleTensor x{{DType::kFloat32, {2}}, {1, 2}, {}};
    const ir::OracleTensor n{{DType::kInt64, {}}, {}, {trips}};
    const ir::OracleTensor c{{DType::kBool, {}}, {}, {1}};
    const auto outputs = ir::run_oracle(*graph, {x, n, c});
    REQUIRE(outputs.has_value());
    return *outputs;
  };
  CHECK(run(2)[0].floats == std::vector<double>{1, 2});
  CHECK(run(3)[0].floats == std::vector<double>{-1, -2});
  CHECK(run(3)[1].ints[0] == 0);
  CHECK(run(4)[1].ints[0] == 1);
}

TEST_CASE("an input can be frozen, to its own element type") {
  Model model = model_with_loop();
  const auto frozen = [](DType dtype) {
    return std::make_shared<const ir::Literal>(ir::splat_literal({dtype, {}}, 2));
  };
  CHECK(problems_of(model, {.frozen = {{"n", frozen(DType::kInt64)}}}).empty());
  CHECK_THAT(problems_of(model, {.frozen = {{"n", frozen(DType::kFloat32)}}}),
             Contains("is declared as i64[], but to be frozen as f32[]"));
  CHECK_THAT(problems_of(model, {.frozen = {{"q", frozen(DType::kInt64)}}, .bounds = {{"n", 1}}}),
             Contains("the model has no such input"));
}

TEST_CASE("functions: one that calls itself, and one called with too much") {
  Model model;
  model.input("x", {2}).node("Again", {"x"}, {"y"}).output("y");
  model.graph().mutable_node(0)->set_domain("own");
  ::onnx::FunctionProto* function = model.proto.add_functions();
  function->set_name("Again");
  function->set_domain("own");
  function->add_input("a");
  function->add_output("b");
  ::onnx::NodeProto* call = function->add_node();
  call->set_op_type("Again");
  call->set_domain("own");
  call->add_input("a");
  call->add_output("b");
  CHECK_THAT(problems_of(model), Contains("call each other without an end"));
  call->set_op_type("Abs");
  call->set_domain("");
  CHECK(problems_of(model).empty());
  model.graph().mutable_node(0)->add_input("x");
  CHECK_THAT(problems_of(model), Contains("has 2 inputs and 1 outputs; the function has 1 and 1"));
}

TEST_CASE("a sparse tensor becomes a dense one, or says what is wrong") {
  ::onnx::SparseTensorProto sparse;
  *sparse.mutable_values() = to_tensor_proto(ir::make_literal({DType::kFloat32, {2}}, {5, 7}), "w");
  *sparse.mutable_indices() =
      to_tensor_proto(ir::make_literal({DType::kInt64, {2, 2}}, {0, 1, 1, 2}), "i");
  sparse.add_dims(2);
  sparse.add_dims(3);
  ExternalFiles none("");
  Failure failure;
  const auto dense = to_dense_literal(sparse, &none, &failure);
  REQUIRE(dense != nullptr);
  CHECK(
      ir::equal_literals(*dense, ir::make_literal({DType::kFloat32, {2, 3}}, {0, 5, 0, 0, 0, 7})));
  *sparse.mutable_indices() = to_tensor_proto(ir::make_literal({DType::kInt64, {2}}, {4, 6}), "i");
  CHECK(to_dense_literal(sparse, &none, &failure) == nullptr);
  CHECK_THAT(failure.sentence, Contains("outside its shape"));
  sparse.set_dims(0, int64_t{1} << 40);
  CHECK(to_dense_literal(sparse, &none, &failure) == nullptr);
  CHECK_THAT(failure.sentence, Contains("larger than 1 GiB"));
}

}  // namespace
}  // namespace camshaft::onnx
