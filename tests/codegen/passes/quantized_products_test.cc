// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/rewriter.h"
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::Op;

// A product of (x - 100) * 0.03 by what `weights` names %w.
std::string product(const std::string& weights) {
  return "%x = input \"x\" : u8[5x6]\n%i = cast(%x) {to=f32}\n%z = constant {splat 100} : "
         "f32[5x6]\n"
         "%d = sub(%i, %z)\n%s = constant {splat 0.03} : f32[5x6]\n%f = mul(%d, %s)\n" +
         weights + "\n%y = matmul(%f, %w)\noutput \"y\" = %y";
}

// Integers from -8 to 7 times a scale for each column.
const std::string kQuantized =
    "%k = constant {seed 3} : i32[6x4]\n%g = cast(%k) {to=f32}\n"
    "%c = constant {0.0123, 0.5, 1e-6, 3.7} : f32[1x4]\n%b = broadcast(%c) {shape=[6,4]}\n"
    "%w = mul(%g, %b)";

TEST_CASE("a product between dequantized numbers is one of their integers") {
  const Graph before = fold_constants(ir::graph_from(product(kQuantized)));
  const Graph after = quantized_products(before);
  REQUIRE(verify_graph(after).is_ok());
  const ir::Node sum = nodes_of(after, Op::kMatMul).at(0);
  CHECK(sum.type.dtype == DType::kInt32);
  const ir::Literal* integers = ir::literal_of(after, sum.inputs[1]);
  REQUIRE(integers != nullptr);
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t value = ir::literal_as_int(*integers, i);
    CHECK((value >= -128 && value <= 127));
  }
  const auto inputs = ir::seeded_inputs(before, 3);
  const auto expected = ir::run_all(before, inputs).at(0).floats;
  const auto actual = ir::run_all(after, inputs).at(0).floats;
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(std::abs(actual[i] - expected[i]) <= 1e-6 * std::abs(expected[i]));
  }
  // And then of bytes.
  const Graph bytes = byte_products(after);
  CHECK(nodes_of(bytes, Op::kMatMul).at(0).type.dtype == DType::kInt32);
  CHECK(bytes.node(nodes_of(bytes, Op::kMatMul).at(0).inputs[0]).type.dtype == DType::kUInt8);
}

TEST_CASE("weights that are no integers of a scale stay, and numbers that were no bytes") {
  const std::string text = product("%w = constant {seed 3} : f32[6x4]");
  std::string halves = product(kQuantized);
  halves.replace(halves.find("u8["), 2, "u16");
  for (const std::string& unfit : {text, halves}) {
    const Graph before = fold_constants(ir::graph_from(unfit));
    CHECK(equal_graphs(before, quantized_products(before)));
  }
}

TEST_CASE("sums whose factor is beyond f32's range stay sums of floats") {
  const auto with = [](const std::string& scale, const std::string& weights) {
    std::string text = product("%w = constant {" + weights + "} : f32[6x1]");
    text.replace(text.find("splat 0.03"), 10, "splat " + scale);
    return fold_constants(ir::graph_from(text));
  };
  const auto is_float = [](const Graph& graph) {
    return nodes_of(quantized_products(graph), Op::kMatMul).at(0).type.dtype == DType::kFloat32;
  };
  CHECK_FALSE(is_float(with("1e-10", "1e-20, 2e-20, 3e-20, 0, 1e-20, -5e-20")));
  CHECK(is_float(with("1e-20", "1e-20, 2e-20, 3e-20, 0, 1e-20, -5e-20")));  // sums may be in range
  CHECK(is_float(with("1e20", "1e20, 2e20, 3e20, 0, 1e20, -5e20")));  // so may they, if they are 0
}

TEST_CASE("what is subtracted from bytes must be one of their values") {
  for (const auto& [zero, is_fit] : {std::pair{"127", true}, {"-128", true}, {"128", false}}) {
    std::string text = product(kQuantized);
    text.replace(text.find("u8["), 2, "i8");
    text.replace(text.find("splat 100"), 9, std::string("splat ") + zero);
    const Graph after = quantized_products(fold_constants(ir::graph_from(text)));
    INFO(zero);
    CHECK((nodes_of(after, Op::kMatMul).at(0).type.dtype == DType::kInt32) == is_fit);
  }
}

}  // namespace
}  // namespace camshaft::passes
