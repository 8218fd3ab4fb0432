// SPDX-License-Identifier: MIT
#include "codegen/onnx/reader.h"

#include <catch2/catch.hpp>

#include <fstream>

#include "tests/codegen/onnx/support/onnx_testing.h"
#include "tests/support/last_sentence.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

Model relu_model() {
  Model model;
  model.input("x", {1, 4}).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("a model becomes a graph with its names") {
  const ir::Graph graph = graph_of(relu_model());
  CHECK(graph.name == "test");
  REQUIRE(graph.inputs.size() == 1);
  CHECK(graph.inputs[0].name == "x");
  REQUIRE(graph.outputs.size() == 1);
  CHECK(graph.outputs[0].name == "y");
  CHECK(graph.node(graph.outputs[0].node).name == "y_node");
  CHECK(run(graph, {{-1, 2, -3, 4}}) == std::vector<double>{0, 2, 0, 4});
}

TEST_CASE("what is no ONNX model is corrupt") {
  for (const std::string& bytes :
       {std::string(), std::string("\x89PNG\r\n\x1a\n"), std::string("text\n"),
        std::string(100, '\xff'), std::string(4096, '\0')}) {
    const Outcome outcome = read_text(bytes);
    CHECK(outcome.code == base::Code::kCorrupt);
    REQUIRE(outcome.problems.size() == 1);
    CHECK_THAT(outcome.problems[0].sentence, Contains("not an ONNX model"));
  }
}

TEST_CASE("a model cut anywhere never reads as another one and never crashes") {
  Model model = relu_model();
  model.initializer("w", DType::kFloat32, {4}, {1, 2, 3, 4}).node("Add", {"y", "w"}, {"z"});
  const std::string bytes = model.bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Outcome outcome = read_text(bytes.substr(0, size));
    CHECK((outcome.code == base::Code::kOk) == outcome.problems.empty());
  }
}

TEST_CASE("a missing file is not found") {
  std::vector<Problem> problems;
  const auto graph = read_onnx("/nonexistent/model.onnx", {}, &problems);
  CHECK(graph.error().code() == base::Code::kNotFound);
}

TEST_CASE("versions that can't be read are named") {
  Model no_opset = relu_model();
  no_opset.proto.clear_opset_import();
  const Outcome outcome = read(no_opset);
  CHECK(outcome.code == base::Code::kCorrupt);
  CHECK_THAT(outcome.text(), Contains("opset 0 of the default domain does not exist"));

  Model old_ir = relu_model();
  old_ir.proto.set_ir_version(2);
  CHECK(read(old_ir).code == base::Code::kUnsupported);
}

TEST_CASE("a newer opset is read with a notice") {
  Model model(99);
  model.input("x", {1}).node("Relu", {"x"}, {"y"}).output("y");
  graph_of(model);
  CHECK_THAT(test::last_sentence(), Contains("opset 99 is newer"));
}

TEST_CASE("all problems are told at once, each with its node") {
  Model model;
  model.input("x", {1, 4})
      .node("Relu", {"x"}, {"a"})
      .node("Frobnicate", {"a"}, {"b"})
      .node("Exp", {"nothing"}, {"c"})
      .node("Concat", {"a", "x"}, {"d"})
      .node("Relu", {"a"}, {"e"})
      .attr("color", 3)
      .node("Nonzero", {"b"}, {"f"})
      .output("f");
  const Outcome outcome = read(model);
  CHECK(outcome.code == base::Code::kUnsupported);
  REQUIRE(outcome.problems.size() == 5);
  CHECK(outcome.problems[0].node == "b_node");
  CHECK(outcome.problems[0].op_type == "Frobnicate");
  CHECK_THAT(to_string(outcome.problems[1]), Contains("'c_node' (Exp)") && Contains("'nothing'"));
  CHECK_THAT(to_string(outcome.problems[2]), Contains("'d_node' (Concat)") && Contains("'axis'"));
  CHECK_THAT(to_string(outcome.problems[3]), Contains("'e_node' (Relu)") && Contains("'color'"));
  CHECK(outcome.problems[4].op_type == "Nonzero");
  CHECK_THAT(test::last_sentence(), Contains("Frobnicate") && Contains("4 more problems"));
}

TEST_CASE("after an unknown operator, reading goes on with the declared type") {
  Model model;
  model.input("x", {1, 4})
      .node("Frobnicate", {"x"}, {"a"})
      .value_info("a", DType::kFloat32, {2, 3})
      .node("Reshape", {"a", "shape"}, {"b"})
      .ints("shape", {7})
      .output("b");
  const Outcome outcome = read(model);
  REQUIRE(outcome.problems.size() == 2);
  CHECK_THAT(to_string(outcome.problems[1]), Contains("reshape") && Contains("f32[2x3]"));
}

TEST_CASE("operators of other domains are named") {
  const auto sentence = [](const char* domain, const char* op_type) {
    Model model;
    model.input("x", {1}).node(op_type, {"x"}, {"y"}).domain(domain).output("y");
    const Outcome outcome = read(model);
    CHECK(outcome.code == base::Code::kUnsupported);
    return outcome.text();
  };
  CHECK_THAT(sentence("com.example", "Relu"),
             Contains("operators of domain 'com.example' are not supported"));
  CHECK_THAT(sentence("ai.onnx.preview.training", "Adam"),
             Contains("training operators (domain 'ai.onnx.preview.training')"));
  for (const std::string domain : {"com.microsoft", "ai.onnx.ml", "ai.onnx.preview"}) {
    CHECK_THAT(sentence(domain.c_str(), "Relu"),
               Contains("this operator of domain '" + domain + "' is not supported"));
  }
}

TEST_CASE("an operator of another domain does not depend on the default domain's opset") {
  Model model(7);
  model.input("x", {2}).node("Gelu", {"x"}, {"y"}).domain("com.microsoft").output("y");
  CHECK(run(graph_of(model), {{0, 10}}) == std::vector<double>{0, 10});
}

TEST_CASE("an operator that its opset lacks is corrupt") {
  Model model(13);
  model.input("x", {1}).node("Gelu", {"x"}, {"y"}).output("y");
  const Outcome outcome = read(model);
  CHECK(outcome.code == base::Code::kCorrupt);
  CHECK_THAT(outcome.text(), Contains("from opset 20 on"));
}

TEST_CASE("attributes of a wrong type are refused, as onnxruntime does") {
  Model model;
  model.input("a", {2, 2}).node("Gemm", {"a", "a"}, {"y"}).attr("alpha", 0).output("y");
  const Outcome outcome = read(model);
  CHECK(outcome.code == base::Code::kCorrupt);
  CHECK_THAT(outcome.text(), Contains("'alpha' must be of type float, the file has int"));
}

TEST_CASE("free dimensions need a shape, and the sentence says which") {
  Model model;
  model.input("x", {"batch", 3, ""}).node("Relu", {"x"}, {"y"}).output("y");
  Outcome outcome = read(model);
  CHECK(outcome.code == base::Code::kInvalidArgument);
  // The number of 'batch' alone would not do.
  CHECK_THAT(outcome.text(), Contains("--shape x=batchx3x?") && !Contains("--shape batch"));
  Model named;
  named.input("x", {"batch", 3, "w"}).node("Relu", {"x"}, {"y"}).output("y");
  CHECK_THAT(read(named).text(),
             Contains("--shape x=batchx3xw") && Contains(", or --shape batch=N --shape w=N"));

  CHECK(output_type(graph_of(model, {{{"x", {2, 3, 5}}}})).shape == Shape{2, 3, 5});
  outcome = read(model, {{{"x", {2, 4, 5}}}});
  CHECK(outcome.code == base::Code::kInvalidArgument);
  CHECK(outcome.problems.size() == 1);
  CHECK_THAT(outcome.text(), Contains("gives 2x4x5") && Contains("batchx3x?"));
  outcome = read(model, {{{"z", {1}}, {"x", {2, 3, 5}}}});
  CHECK_THAT(outcome.text(), Contains("--shape z") && Contains("inputs: x"));
  outcome = read(model, {{{"batch", {1, 2}}}});
  CHECK(outcome.code == base::Code::kInvalidArgument);
  CHECK_THAT(outcome.text(),
             Contains("--shape batch=1x2: 'batch' is a dimension: give one number, as in "
                      "--shape batch=1") &&
                 !Contains("no input has that name"));
}

TEST_CASE("a dimension's name stands for one extent everywhere") {
  Model model;
  model.input("x", {"n", 3}).input("y", {"n", 1}).node("Add", {"x", "y"}, {"z"}).output("z");
  CHECK(output_type(graph_of(model, {{{"n", {4}}}})).shape == Shape{4, 3});
  CHECK(output_type(graph_of(model, {{{"x", {5, 3}}}})).shape == Shape{5, 3});
}

TEST_CASE("an input's shape and a dimension's name must not contradict each other") {
  Model model;
  model.input("x", {"n", 3}).node("Relu", {"x"}, {"y"}).output("y");
  CHECK(output_type(graph_of(model, {{{"n", {5}}, {"x", {5, 3}}}})).shape == Shape{5, 3});
  const Outcome outcome = read(model, {{{"n", {4}}, {"x", {5, 3}}}});
  CHECK(outcome.code == base::Code::kInvalidArgument);
  CHECK(outcome.problems.size() == 1);
  CHECK_THAT(outcome.text(), Contains("gives 5x3") && Contains("axis 0 is 'n'") && Contains("n=4"));
}

TEST_CASE("an input without a shape needs one") {
  Model model = relu_model();
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  CHECK_THAT(read(model).text(), Contains("has no shape") && Contains("--shape x="));
  CHECK(output_type(graph_of(model, {{{"x", {7}}}})).shape == Shape{7});
}

TEST_CASE("--shape options are parsed") {
  ReaderOptions options;
  CHECK(add_shape_option("x=1x3x224x224", &options).is_ok());
  CHECK(add_shape_option("batch=2", &options).is_ok());
  CHECK(add_shape_option("scalar=", &options).is_ok());
  CHECK(options.shapes.at("x") == Shape{1, 3, 224, 224});
  CHECK(options.shapes.at("batch") == Shape{2});
  CHECK(options.shapes.at("scalar").empty());
  for (const char* bad :
       {"x", "=1", "y=1x", "y=x1", "y=1xx2", "y=-1", "y=0", "y=3x0", "y=1.5", "x=2"}) {
    CHECK(add_shape_option(bad, &options).code() == base::Code::kInvalidArgument);
  }
}

TEST_CASE("types that are not supported are refused by name") {
  Model sequence = relu_model();
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  CHECK_THAT(read(sequence).text(), Contains("'x': is a sequence"));

  Model text = relu_model();
  text.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(8);
  const Outcome outcome = read(text);
  CHECK(outcome.code == base::Code::kUnsupported);
  CHECK_THAT(outcome.text(), Contains("element type string"));
}

TEST_CASE("initializers among the inputs are constants") {
  Model model;
  model.input("x", {2}).input("w", {2}).initializer("w", DType::kFloat32, {2}, {3, 4});
  model.node("Mul", {"x", "w"}, {"y"}).output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(graph.inputs.size() == 1);
  CHECK(run(graph, {{1, 2}}) == std::vector<double>{3, 8});
}

TEST_CASE("inputs, initializers and inner values may be outputs") {
  Model model;
  model.input("x", {2}).initializer("w", DType::kFloat32, {1}, {5});
  model.node("Neg", {"x"}, {"a"}).node("Neg", {"a"}, {"b"});
  for (const char* name : {"x", "w", "a", "b"}) model.output(name);
  const ir::Graph graph = graph_of(model);
  REQUIRE(graph.outputs.size() == 4);
  CHECK(graph.outputs[0].node == graph.inputs[0].node);
  CHECK(graph.node(graph.outputs[1].node).op == ir::Op::kConstant);
}

TEST_CASE("nodes may stand in any order, but not in a circle") {
  Model model;
  model.input("x", {2}).node("Neg", {"a"}, {"y"}).node("Exp", {"x"}, {"a"}).output("y");
  graph_of(model);

  Model circle;
  circle.input("x", {2}).node("Add", {"x", "b"}, {"a"}).node("Neg", {"a"}, {"b"}).output("b");
  const Outcome outcome = read(circle);
  CHECK(outcome.code == base::Code::kCorrupt);
  CHECK_THAT(outcome.text(),
             Contains("'a_node' (Add)") && Contains("'b_node' (Neg)") && Contains("cycle"));
}

TEST_CASE("names made twice are corrupt") {
  Model nodes = relu_model();
  nodes.node("Neg", {"x"}, {"y"});
  CHECK_THAT(read(nodes).text(), Contains("already made by node 'y_node'"));

  Model shadow = relu_model();
  shadow.node("Neg", {"x"}, {"x"});
  CHECK(read(shadow).code == base::Code::kCorrupt);

  Model twice = relu_model();
  twice.initializer("w", DType::kFloat32, {1}, {1}).initializer("w", DType::kFloat32, {1}, {2});
  CHECK_THAT(read(twice).text(), Contains("'w': is initialized twice"));
}

TEST_CASE("missing pieces of a graph are corrupt") {
  Model output = relu_model();
  output.output("z");
  CHECK_THAT(read(output).text(), Contains("'z': is an output that no node makes"));

  Model none;
  none.input("x", {2}).node("Relu", {"x"}, {"y"});
  CHECK_THAT(read(none).text(), Contains("no outputs"));

  Model operand;
  operand.input("x", {2}).node("Add", {"x", ""}, {"y"}).output("y");
  CHECK_THAT(read(operand).text(), Contains("input 1 is missing"));
}

TEST_CASE("an output declared with another dtype is corrupt") {
  Model model = relu_model();
  model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
  CHECK_THAT(read(model).text(), Contains("declared as an output of int64, but is f32[1x4]"));
}

TEST_CASE("a model's own files are listed") {
  const test::TemporaryFolder folder;
  Model model = relu_model();
  write_file(folder / "model.onnx", model.bytes());
  ReaderSources sources;
  REQUIRE(read_onnx(folder / "model.onnx", {}, nullptr, &sources).has_value());
  CHECK(sources.files == std::vector<std::string>{folder / "model.onnx"});
}

}  // namespace
}  // namespace camshaft::onnx
