// SPDX-License-Identifier: MIT
#include <cstdint>

#include "codegen/passes/rewriter.h"
#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::Op;

// A convolution of bytes of `dtype` less `zero`, by weights from -8 to 7 that are `factor` times as
// large, padded by 1.
std::string convolution(const std::string& dtype, int zero, int factor) {
  return "%x = input \"x\" : " + dtype +
         "[1x4x5x5]\n%i = cast(%x) {to=i32}\n%z = constant {splat " + std::to_string(zero) +
         "} : i32[1x4x5x5]\n%d = sub(%i, %z)\n%s = constant {seed 3} : i32[6x4x3x3]\n"
         "%f = constant {splat " +
         std::to_string(factor) +
         "} : i32[6x4x3x3]\n%w = mul(%s, %f)\n%y = conv(%d, %w) {strides=[1,1], dilations=[1,1], "
         "pads_begin=[1,1], pads_end=[1,1], groups=1}\noutput \"y\" = %y";
}

// Of both graphs, on bytes of all sizes.
void check_equal_results(const Graph& before, const Graph& after) {
  auto inputs = ir::seeded_inputs(before, 11);
  const bool is_signed = inputs[0].type.dtype == DType::kInt8;
  for (size_t i = 0; i < inputs[0].ints.size(); ++i) {
    inputs[0].ints[i] = static_cast<int64_t>(i * 89 + 200) % 256 - (is_signed ? 128 : 0);
  }
  CHECK(ir::run_all(before, inputs).at(0).ints == ir::run_all(after, inputs).at(0).ints);
}

TEST_CASE("sums of bytes less a zero point become sums of bytes") {
  struct Case {
    const char* dtype;
    int zero, factor;
    size_t pads, adds;
  };
  for (const Case& c : {Case{"u8", 117, 16, 1, 1},
                        {"u8", 0, 1, 0, 0},
                        {"i8", -3, 16, 1, 1},
                        {"i8", -128, 1, 0, 0},
                        {"i8", 0, 1, 1, 1},
                        {"u8", 255, -15, 1, 1}}) {
    INFO(c.dtype << " less " << c.zero << " by " << c.factor);
    const Graph before = fold_constants(ir::graph_from(convolution(c.dtype, c.zero, c.factor)));
    const Graph after = byte_products(before);
    REQUIRE(verify_graph(after).is_ok());
    const ir::Node conv = nodes_of(after, Op::kConv).at(0);
    CHECK(after.node(conv.inputs[0]).type.dtype == DType::kUInt8);
    CHECK(after.node(conv.inputs[1]).type.dtype == DType::kInt8);
    CHECK(conv.type.dtype == DType::kInt32);
    CHECK(nodes_of(after, Op::kPad).size() == c.pads);
    CHECK(nodes_of(after, Op::kAdd).size() == c.adds);
    check_equal_results(before, after);
  }
}

TEST_CASE("matrix products too, of all batches") {
  const Graph before = fold_constants(ir::graph_from(
      "%x = input \"x\" : i8[2x3x8]\n%i = cast(%x) {to=i32}\n%z = constant {splat 5} : i32[2x3x8]\n"
      "%d = sub(%i, %z)\n%w = constant {seed 3} : i32[1x8x4]\n%b = broadcast(%w) {shape=[2,8,4]}\n"
      "%y = matmul(%d, %b)\noutput \"y\" = %y"));
  const Graph after = byte_products(before);
  REQUIRE(verify_graph(after).is_ok());
  const ir::Node product = nodes_of(after, Op::kMatMul).at(0);
  CHECK(after.node(product.inputs[0]).type.dtype == DType::kUInt8);
  check_equal_results(before, after);
}

TEST_CASE("numbers that get another shape on the way are bytes still") {
  const Graph before = fold_constants(ir::graph_from(
      "%x = input \"x\" : i8[1x8x1x1]\n%i = cast(%x) {to=i32}\n%z = constant {splat 5} : "
      "i32[1x8x1x1]\n%d = sub(%i, %z)\n%r = reshape(%d) {shape=[1,8]}\n%w = constant {seed 3} : "
      "i32[8x4]\n%y = matmul(%r, %w)\noutput \"y\" = %y"));
  const Graph after = byte_products(before);
  REQUIRE(verify_graph(after).is_ok());
  const ir::Node product = nodes_of(after, Op::kMatMul).at(0);
  CHECK(after.node(product.inputs[0]).type == ir::TensorType{DType::kUInt8, {1, 8}});
  check_equal_results(before, after);
}

TEST_CASE("what does not fit bytes stays") {
  // Weights beyond an i8, a zero point that no byte is, and numbers that were no bytes.
  for (const std::string& text :
       {convolution("u8", 3, 17), convolution("u8", 256, 1), convolution("i8", 128, 1),
        convolution("i16", 3, 1), convolution("u8", -1, 1)}) {
    const Graph before = fold_constants(ir::graph_from(text));
    CHECK(equal_graphs(before, byte_products(before)));
  }
}

}  // namespace
}  // namespace camshaft::passes
