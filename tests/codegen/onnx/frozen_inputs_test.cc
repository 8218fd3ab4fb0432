// SPDX-License-Identifier: MIT
// Inputs that become constants, bounds of numbers that depend on data, and what is wrong with them.
#include "codegen/onnx/frozen_inputs.h"

#include "tests/codegen/onnx/support/onnx_testing.h"
#include "tests/support/last_sentence.h"

namespace camshaft::onnx {
namespace {

using base::Code;
using Catch::Contains;

// y = x + c, where c is declared as given.
Model sum_model(DType dtype, std::initializer_list<Dim> shape) {
  Model model;
  model.input("x", dtype, {2, 3}).input("c", dtype, shape);
  model.node("Add", {"x", "c"}, {"y"}).output("y");
  return model;
}

ReaderOptions freeze(const std::string& text) {
  ReaderOptions options;
  REQUIRE(add_freeze_option(text, &options).is_ok());
  return options;
}

// The value that c gets, or no literal where it is refused with a sentence that has `part`.
ir::Literal frozen_c(const Model& model, const ReaderOptions& options, const char* part = "") {
  std::vector<Problem> problems;
  ReaderSources sources;
  const std::string bytes = model.bytes();
  const auto graph =
      read_onnx_bytes(base::as_bytes(std::string_view(bytes)), "", options, &problems, &sources);
  Outcome outcome;
  outcome.problems = problems;
  INFO(outcome.text());
  CHECK_THAT(outcome.text(), Contains(part));
  CHECK(graph.has_value() == (*part == '\0'));
  if (!graph) return {};
  CHECK(graph->inputs.size() == 1);
  return *sources.frozen.at("c");
}

TEST_CASE("numbers become the dtype and shape that the model declares") {
  const ir::Literal row = frozen_c(sum_model(DType::kFloat32, {3}), freeze("c=1,-2.5,1e3"));
  CHECK(equal_literals(row, ir::make_literal({DType::kFloat32, {3}}, {1, -2.5, 1000})));
  const ir::Literal scalar = frozen_c(sum_model(DType::kInt64, {}), freeze("c=16000"));
  CHECK(equal_literals(scalar, ir::make_literal({DType::kInt64, {}}, {16000})));
  // Beyond what a double holds.
  const ir::Literal exact =
      frozen_c(sum_model(DType::kInt64, {1}), freeze("c=-9223372036854775807"));
  CHECK(ir::literal_as_int(exact, 0) == -INT64_MAX);
  const ir::Literal large =
      frozen_c(sum_model(DType::kUInt64, {1}), freeze("c=18446744073709551615"));
  CHECK(static_cast<uint64_t>(ir::literal_as_int(large, 0)) == UINT64_MAX);
  CHECK(ir::literal_as_double(frozen_c(sum_model(DType::kFloat16, {}), freeze("c=0.1")), 0) ==
        ir::round_to_dtype(0.1, DType::kFloat16));
}

TEST_CASE("one number fills a shape, and a free extent is as long as there are numbers") {
  CHECK(frozen_c(sum_model(DType::kFloat32, {2, 3}), freeze("c=0")).type.shape == Shape{2, 3});
  CHECK(frozen_c(sum_model(DType::kFloat32, {"n", 3}), freeze("c=1,2,3,4,5,6")).type.shape ==
        Shape{2, 3});
  ReaderOptions options = freeze("c=7");
  options.shapes["n"] = {2};
  Model model;  // x has the dimension too, so that --shape names something
  model.input("x", {"n", 3}).input("c", {"n", 3});
  model.node("Add", {"x", "c"}, {"y"}).output("y");
  CHECK(frozen_c(model, options).type.shape == Shape{2, 3});
}

TEST_CASE("values that don't fit are refused with what is declared") {
  const Model row = sum_model(DType::kFloat32, {3});
  frozen_c(row, freeze("c=1,2"), "'c': is declared as f32[3], which 2 numbers can't fill");
  frozen_c(row, freeze("c=1,x,2"), "'c': can't be frozen as 'x': that is no number of type f32");
  frozen_c(row, freeze("c=1,,2"), "frozen as ''");
  frozen_c(sum_model(DType::kInt8, {}), freeze("c=128"), "no number of type i8");
  frozen_c(sum_model(DType::kUInt8, {}), freeze("c=-1"), "no number of type u8");
  frozen_c(sum_model(DType::kInt64, {}), freeze("c=1.5"), "no number of type i64");
  frozen_c(sum_model(DType::kFloat32, {"n", "m"}), freeze("c=1,2"),
           "f32[nxm], which 2 numbers can't fill: give its value as --freeze c=FILE.npy");
  ReaderOptions options;
  const auto literal = [](ir::TensorType type) {
    return std::make_shared<const ir::Literal>(ir::zero_literal(std::move(type)));
  };
  options.frozen["c"] = literal({DType::kFloat32, {3}});
  CHECK(frozen_c(row, options).type.shape == Shape{3});
  options.frozen["c"] = literal({DType::kFloat64, {3}});
  frozen_c(row, options, "'c': is declared as f32[3], but to be frozen as f64[3]");
  options.frozen["c"] = literal({DType::kFloat32, {1, 3}});
  frozen_c(row, options, "to be frozen as f32[1x3]");
  options.frozen["c"] = literal({DType::kFloat32, {2}});
  frozen_c(row, options, "to be frozen as f32[2]");
}

TEST_CASE("an input's default gives way to its frozen value") {
  Model model = sum_model(DType::kFloat32, {3});
  model.initializer("c", DType::kFloat32, {3}, {9, 9, 9});
  CHECK(run(graph_of(model, freeze("c=1,2,3")), {{0, 0, 0, 0, 0, 0}}) ==
        std::vector<double>{1, 2, 3, 1, 2, 3});
}

TEST_CASE("names that freeze nothing are told") {
  const Outcome outcome = read(sum_model(DType::kFloat32, {3}), freeze("d=1"));
  CHECK(outcome.code == Code::kInvalidArgument);
  CHECK_THAT(outcome.text(), Contains("'d': is to be frozen, but the model has no such input"));
}

TEST_CASE("options of the command line") {
  ReaderOptions options;
  CHECK(add_freeze_option("a=b=1,2", &options).is_ok());
  CHECK(options.frozen_text.at("a=b") == "1,2");
  CHECK(add_freeze_option("a=b=3", &options).code() == Code::kInvalidArgument);
  CHECK_THAT(test::last_sentence(), Contains("a value was given before"));
  for (const char* wrong : {"", "a", "a=", "=1"}) {
    INFO(wrong);
    CHECK(add_freeze_option(wrong, &options).code() == Code::kInvalidArgument);
    CHECK_THAT(test::last_sentence(), Contains("NAME=16000"));
  }
  CHECK(add_bound_option("n=300", &options).is_ok());
  CHECK(add_bound_option("n=300", &options).is_ok());
  CHECK(add_bound_option("m=0", &options).is_ok());
  CHECK(options.bounds.at("n") == 300);
  CHECK(add_bound_option("n=301", &options).code() == Code::kInvalidArgument);
  for (const char* wrong : {"", "n", "n=", "=3", "n=-1", "n=1.5", "n=many", "n=1e3"}) {
    INFO(wrong);
    CHECK(add_bound_option(wrong, &options).code() == Code::kInvalidArgument);
  }
}

// y = places where x is not 0, at most 6.
Model places_model() {
  Model model;
  model.input("x", {2, 3}).node("NonZero", {"x"}, {"y"}).output("y");
  return model;
}

TEST_CASE("a bound is for the node, or what comes out of it") {
  for (const char* name : {"y", "y_node"}) {
    ReaderOptions options;
    options.bounds = {{name, 4}};
    const ir::Graph graph = graph_of(places_model(), options);
    REQUIRE(graph.outputs.size() == 3);
    CHECK(graph.node(graph.outputs[0].node).type.shape == Shape{2, 4});
    CHECK(graph.outputs[0].counted_axes == std::vector<int>{1});
    CHECK(graph.outputs[1].name == "y.count");
    CHECK(graph.outputs[2].name == kBoundExceeded);
  }
  // One that can't be exceeded needs no watching.
  ReaderOptions large;
  large.bounds = {{"y", 100}};
  CHECK(graph_of(places_model(), large).outputs.size() == 2);
}

TEST_CASE("a bound that bounds nothing is told") {
  ReaderOptions options;
  options.bounds = {{"y", 4}, {"z", 3}};
  const Outcome outcome = read(places_model(), options);
  CHECK(outcome.code == Code::kInvalidArgument);
  CHECK_THAT(outcome.text(), Contains("'z': has a bound, but no number") && !Contains("'y'"));
}

// What camshaft.bound_exceeded is for these inputs.
bool is_exceeded(const ir::Graph& graph, const std::vector<ir::Literal>& inputs) {
  std::vector<ir::OracleTensor> tensors;
  for (const ir::Literal& input : inputs) tensors.push_back(ir::to_oracle(input));
  const auto outputs = ir::run_oracle(graph, tensors);
  REQUIRE(outputs.has_value());
  REQUIRE(graph.outputs.back().name == kBoundExceeded);
  return outputs->back().ints[0] != 0;
}

TEST_CASE("a run that needs more than a bound says so, of whatever the bound is") {
  const auto x = [](std::vector<double> values) {
    return ir::make_literal({DType::kFloat32, {2, 3}}, values);
  };
  const auto n = [](double value) { return ir::make_literal({DType::kInt64, {1}}, {value}); };
  ReaderOptions options;
  options.bounds = {{"y", 4}};
  const ir::Graph places = graph_of(places_model(), options);
  CHECK_FALSE(is_exceeded(places, {x({1, 1, 1, 1, 0, 0})}));
  CHECK(is_exceeded(places, {x({1, 1, 1, 1, 1, 0})}));

  options.bounds = {{"n", 4}};
  Model expand;
  expand.input("n", DType::kInt64, {1}).node("ConstantOfShape", {"n"}, {"y"}).output("y");
  const ir::Graph zeros = graph_of(expand, options);
  CHECK_FALSE(is_exceeded(zeros, {n(4)}));
  CHECK(is_exceeded(zeros, {n(5)}));

  Model range;
  range.input("n", DType::kInt64, {1}).ints("zero", {0}).ints("one", {1}).ints("axes", {0});
  range.node("Squeeze", {"n", "axes"}, {"limit"}).node("Squeeze", {"zero", "axes"}, {"start"});
  range.node("Squeeze", {"one", "axes"}, {"delta"});
  range.node("Range", {"start", "limit", "delta"}, {"y"}).output("y");
  options.bounds = {{"limit", 4}};
  const ir::Graph numbers = graph_of(range, options);
  CHECK_FALSE(is_exceeded(numbers, {n(4)}));
  CHECK(is_exceeded(numbers, {n(5)}));
}

TEST_CASE("outputs of the reader's own must not have the names of the model's") {
  Model model = places_model();
  model.node("Relu", {"x"}, {"y.count"}).output("y.count");
  const Outcome outcome = read(model);
  CHECK(outcome.code == Code::kInvalidArgument);
  CHECK_THAT(outcome.text(), Contains("'y.count': is the name of an output, but Camshaft needs it"));
}

TEST_CASE("what depends on data has no slices") {
  Model model = places_model();
  model.metadata(std::string(kOutputSlicesKey),
                 R"([{"name": "first", "offset": 0, "shape": [1], "output": "y"}])");
  CHECK_THAT(read(model).text(),
             Contains("slice 'first' is of output 'y', whose extents depend on data"));
}

}  // namespace
}  // namespace camshaft::onnx
