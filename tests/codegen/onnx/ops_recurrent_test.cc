// SPDX-License-Identifier: MIT
// What recurrent layers refuse, and the form of their graphs.
#include <catch2/catch.hpp>

#include <functional>

#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

// An LSTM of 3 units over 5 steps of 2 values each, for a batch of 4.
Model lstm(const std::function<void(Model&)>& change = {}) {
  Model model(14);
  model.input("x", {5, 4, 2}).input("w", {1, 12, 2}).input("r", {1, 12, 3});
  model.node("LSTM", {"x", "w", "r"}, {"y", "y_h", "y_c"}).attr("hidden_size", 3);
  if (change) change(model);
  return model.output("y");
}

std::string problems(const std::function<void(Model&)>& change) {
  return read(lstm(change)).text();
}

// Changes the shape of one of the inputs.
std::string problems_of_shape(int input, std::initializer_list<int64_t> shape) {
  return problems([&](Model& model) {
    auto* declared = model.graph().mutable_input(input)->mutable_type()->mutable_tensor_type();
    declared->clear_shape();
    for (const int64_t extent : shape) declared->mutable_shape()->add_dim()->set_dim_value(extent);
  });
}

// Connects one more input, at a place of the LSTM.
std::string problems_of_input(int place, DType dtype, std::initializer_list<Dim> shape) {
  return problems([&](Model& model) {
    model.input("more", dtype, shape);
    ::onnx::NodeProto* node = model.graph().mutable_node(0);
    while (node->input_size() < place) node->add_input("");
    node->add_input("more");
  });
}

TEST_CASE("a recurrent layer gives all steps and the last states") {
  const ir::Graph graph = graph_of(lstm());
  CHECK(output_type(graph).shape == Shape{5, 1, 4, 3});
  CHECK(count_ops(graph, ir::Op::kMatMul) == 5);  // the projection, and all steps but the first
}

TEST_CASE("operands of a recurrent layer that do not fit are refused") {
  CHECK(problems({}).empty());
  CHECK_THAT(problems_of_shape(0, {5, 4}), Contains("X must be floats with 3 axes, not f32[5x4]"));
  CHECK_THAT(problems_of_shape(1, {1, 12, 3}), Contains("input 1 (W) must be 1x12x2, not 1x12x3"));
  CHECK_THAT(problems_of_shape(2, {2, 12, 3}), Contains("input 2 (R) must be 1x12x3, not 2x12x3"));
  CHECK_THAT(problems_of_input(3, DType::kFloat32, {1, 12}), Contains("input 3 (B) must be 1x24"));
  CHECK_THAT(problems_of_input(3, DType::kFloat16, {1, 24}), Contains("(B) is f16, but X is f32"));
  CHECK_THAT(problems_of_input(4, DType::kInt32, {5}),
             Contains("input 4 (sequence_lens) must be 4 integers, not i32[5]"));
  CHECK_THAT(problems_of_input(5, DType::kFloat32, {1, 3, 4}),
             Contains("input 5 (initial_h) must be 1x4x3"));
  CHECK_THAT(problems_of_input(6, DType::kFloat32, {4, 3}),
             Contains("input 6 (initial_c) must be 1x4x3"));
  CHECK_THAT(problems_of_input(7, DType::kFloat32, {1, 12}), Contains("input 7 (P) must be 1x9"));
  CHECK_THAT(problems_of_shape(0, {5000, 4, 2}),
             Contains("5000 steps in all directions are too many") && Contains("4096 at most"));
}

TEST_CASE("attributes of a recurrent layer that mean nothing are refused") {
  const auto text = [](const std::string& name, const std::string& value) {
    return problems([&](Model& model) { model.attr_string(name, value); });
  };
  CHECK(text("direction", "reverse").empty());
  CHECK_THAT(text("direction", "backward"), Contains("direction must be forward, reverse or"));
  CHECK_THAT(problems([](Model& model) { model.attr("layout", 2); }),
             Contains("layout must be 0 or 1"));
  CHECK_THAT(problems([](Model& model) { model.attr_float("clip", 0); }),
             Contains("clip must be positive"));
  const auto named = [](std::initializer_list<const char*> names) {
    return problems([&](Model& model) { model.attr_strings("activations", names); });
  };
  CHECK(named({"sigmoid", "TANH", "Softsign"}).empty());
  CHECK_THAT(named({"Sigmoid", "Tanh"}), Contains("needs 3 activations, not 2"));
  CHECK_THAT(named({"Sigmoid", "Tanh", "Gelu"}), Contains("activation 'Gelu' is not known"));
}

}  // namespace
}  // namespace camshaft::onnx
