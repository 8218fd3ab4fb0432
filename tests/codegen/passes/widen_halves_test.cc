// SPDX-License-Identifier: MIT
#include <cmath>

#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

const std::string kWindow =
    "{strides=[1], dilations=[1], pads_begin=[0], pads_end=[1], groups=1}\n";

TEST_CASE("products of halves are computed in f32 and rounded once") {
  for (const std::string half : {"f16", "bf16"}) {
    check_rewrite(widen_halves,
                  "%x = input \"x\" : " + half + "[2x3x5]\n%w = input \"w\" : " + half +
                      "[4x3x2]\n%c = conv(%x, %w) " + kWindow + "%y = cast(%c) {to=" + half +
                      "}\noutput \"y\" = %y",
                  "%x = input \"x\" : " + half + "[2x3x5]\n%w = input \"w\" : " + half +
                      "[4x3x2]\n%a = cast(%x) {to=f32}\n%b = cast(%w) {to=f32}\n"
                      "%c = conv(%a, %b) " +
                      kWindow + "%y = cast(%c) {to=" + half + "}\noutput \"y\" = %y");
  }
  check_rewrite(widen_halves,
                "%x = input \"x\" : f16[2x3]\n%w = input \"w\" : f16[3x4]\n"
                "%c = matmul(%x, %w)\n%y = cast(%c) {to=f16}\noutput \"y\" = %y",
                "%x = input \"x\" : f16[2x3]\n%w = input \"w\" : f16[3x4]\n"
                "%a = cast(%x) {to=f32}\n%b = cast(%w) {to=f32}\n%c = matmul(%a, %b)\n"
                "%y = cast(%c) {to=f16}\noutput \"y\" = %y");
}

TEST_CASE("a product and its bias are rounded together") {
  const std::string head =
      "%x = input \"x\" : f16[2x3]\n%w = input \"w\" : f16[3x4]\n"
      "%b = constant {seed 1} : f16[1x4]\n%n = broadcast(%b) {shape=[2,4]}\n";
  const std::string product =
      "%c = cast(%x) {to=f32}\n%d = cast(%w) {to=f32}\n%m = matmul(%c, %d)\n";
  for (const std::string operands : {"%m, %n", "%n, %m"}) {
    check_rewrite(widen_halves,
                  head + "%p = matmul(%x, %w)\n%m = cast(%p) {to=f16}\n%y = add(" + operands +
                      ")\noutput \"y\" = %y",
                  head + product +
                      "%e = cast(%n) {to=f32}\n%s = add(%m, %e)\n%y = cast(%s) {to=f16}\n"
                      "output \"y\" = %y");
  }
  // What is no constant may be rounded already.
  check_rewrite(
      widen_halves,
      "%x = input \"x\" : f16[2x3]\n%w = input \"w\" : f16[3x4]\n"
      "%r = input \"r\" : f16[2x4]\n%p = matmul(%x, %w)\n%m = cast(%p) {to=f16}\n%y = add(%m, %r)\n"
      "output \"y\" = %y",
      "%x = input \"x\" : f16[2x3]\n%w = input \"w\" : f16[3x4]\n"
      "%r = input \"r\" : f16[2x4]\n" +
          product + "%h = cast(%m) {to=f16}\n%y = add(%h, %r)\noutput \"y\" = %y");
}

TEST_CASE("pools of halves too: they stand between convolutions") {
  const std::string pool =
      " {kind=average, kernel=[2], strides=[1], dilations=[1], pads_begin=[1], pads_end=[0]}\n";
  check_rewrite(widen_halves,
                "%x = input \"x\" : bf16[1x2x5]\n%y = pool(%x)" + pool + "output \"y\" = %y",
                "%x = input \"x\" : bf16[1x2x5]\n%a = cast(%x) {to=f32}\n%b = pool(%a)" + pool +
                    "%y = cast(%b) {to=bf16}\noutput \"y\" = %y");
}

TEST_CASE("other dtypes and other operators keep theirs") {
  for (const std::string dtype : {"f32", "f64", "i32"}) {
    check_unchanged(widen_halves, "%x = input \"x\" : " + dtype + "[2x3]\n%w = input \"w\" : " +
                                      dtype + "[3x4]\n%y = matmul(%x, %w)\noutput \"y\" = %y");
  }
  check_unchanged(widen_halves,
                  "%x = input \"x\" : f16[2x3]\n%s = reduce(%x) {kind=sum, axes=[1]}\n"
                  "%y = exp(%s)\noutput \"y\" = %y");
}

TEST_CASE("sums of halves keep their value") {
  const ir::Graph before = ir::graph_from(
      "%x = input \"x\" : f16[7x300]\n%w = constant {seed 2} : f16[300x9]\n"
      "%y = matmul(%x, %w)\noutput \"y\" = %y");
  const auto inputs = ir::seeded_inputs(before, 5);
  const auto expected = ir::run_all(before, inputs).at(0).floats;
  const auto actual = ir::run_all(widen_halves(before), inputs).at(0).floats;
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(std::abs(actual[i] - expected[i]) <= std::abs(expected[i]) * 0x1p-10);
  }
}

}  // namespace
}  // namespace camshaft::passes
