// SPDX-License-Identifier: MIT
#include "codegen/onnx/operators.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/codegen/onnx/support/onnx_testing.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::onnx {
namespace {

TEST_CASE("operators are found in graphs, branches and functions") {
  Model model;
  model.input("x", {4}).node("Relu", {"x"}, {"r"}).node("Relu", {"r"}, {"y"}).output("y");
  ::onnx::NodeProto* branch = model.graph().add_node();
  branch->set_op_type("If");
  ::onnx::AttributeProto* then = branch->add_attribute();
  then->mutable_g()->add_node()->set_op_type("QLinearConv");
  ::onnx::ModelProto whole;
  REQUIRE(whole.ParseFromString(model.bytes()));
  whole.add_functions()->add_node()->set_op_type("Frobnicate");

  const test::TemporaryFolder folder;
  std::ofstream(folder / "model.onnx", std::ios::binary) << whole.SerializeAsString();
  const base::Result<std::set<std::string>> operators = operators_of(folder / "model.onnx");
  REQUIRE(operators);
  CHECK(*operators == std::set<std::string>{"Frobnicate", "If", "QLinearConv", "Relu"});

  std::ofstream(folder / "other.onnx", std::ios::binary) << "no model";
  CHECK(operators_of(folder / "other.onnx").error().code() == base::Code::kCorrupt);
  CHECK(operators_of(folder / "none.onnx").error().code() == base::Code::kNotFound);
}

}  // namespace
}  // namespace camshaft::onnx
