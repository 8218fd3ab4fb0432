// SPDX-License-Identifier: MIT
// Operators of opsets before 7.
#include "codegen/onnx/older_forms.h"

#include <catch2/catch.hpp>

#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

Model add(std::initializer_list<Dim> b, bool broadcast) {
  Model model(6);
  model.input("a", {2, 3, 4, 5}).input("b", b).node("Add", {"a", "b"}, {"y"});
  if (broadcast) model.attr("broadcast", 1);
  return model;
}

TEST_CASE("before opset 7 an operand is aligned to an axis") {
  // An extent of 1 would broadcast at either end: only the axis says where the 4 belongs.
  const ir::Graph graph = graph_of(add({3, 4}, true).attr("axis", 1).output("y"));
  CHECK(output_type(graph).shape == Shape{2, 3, 4, 5});
  CHECK(output_type(graph_of(add({4, 5}, true).output("y"))).shape == Shape{2, 3, 4, 5});
  CHECK(output_type(graph_of(add({2, 3, 4, 5}, false).output("y"))).shape == Shape{2, 3, 4, 5});

  CHECK_THAT(read(add({3, 4}, true).output("y")).text(), Contains("2x3x4x5"));
  CHECK_THAT(read(add({3, 4}, true).attr("axis", 3).output("y")).text(),
             Contains("B has 2 axes, which is more than A has from axis 3 on"));
  CHECK_THAT(read(add({4, 5}, false).output("y")).text(), Contains("broadcast is not set"));
}

TEST_CASE("before opset 7 a slope for each channel is a vector") {
  Model model(6);
  model.input("x", {2, 3, 4}).input("slope", {3}).node("PRelu", {"x", "slope"}, {"y"}).output("y");
  CHECK(output_type(graph_of(model)).shape == Shape{2, 3, 4});
}

TEST_CASE("before opset 7 networks say whether they are in training") {
  const auto dropout = [](int is_test) {
    Model model(6);
    model.input("x", {2}).node("Dropout", {"x"}, {"y"}).attr("is_test", is_test).output("y");
    return read(model);
  };
  CHECK(dropout(1).code == base::Code::kOk);
  CHECK_THAT(dropout(0).text(), Contains("training mode"));
}

TEST_CASE("forms that had other inputs are refused by name") {
  Model model(4);
  model.input("x", {2, 3}).ints("shape", {6}).node("Reshape", {"x", "shape"}, {"y"}).output("y");
  const Outcome outcome = read(model);
  CHECK(outcome.code == base::Code::kUnsupported);
  CHECK_THAT(outcome.text(), Contains("(Reshape)") && Contains("before opset 5"));
  CHECK(first_readable_opset("Relu") == 1);
}

}  // namespace
}  // namespace camshaft::onnx
