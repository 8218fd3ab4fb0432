// SPDX-License-Identifier: MIT
// The builder: interning, folding, canonical sums, bounds, substitution.
#include "codegen/ir/kernel.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace camshaft::ir;

namespace {

struct IndexKernel {
  Kernel kernel;
  ExprId i, j, k;  // i in [0, 9], j in [0, 7], k in [-5, 20]

  IndexKernel() {
    i = kernel.var(kernel.add_loop_var("i", 0, 9));
    j = kernel.var(kernel.add_loop_var("j", 0, 7));
    k = kernel.var(kernel.add_loop_var("k", -5, 20));
  }
};

}  // namespace

TEST_CASE("equal expressions are one expression") {
  Kernel kernel;
  const ArrayId a = kernel.add_param("a", DType::kFloat32, 64, false);
  const ExprId i = kernel.var(kernel.add_loop_var("i", 0, 9));
  REQUIRE(kernel.load(a, i) == kernel.load(a, i));
  REQUIRE(kernel.load(a, i) != kernel.load(a, i, 4));
  REQUIRE(kernel.float_const(0.0) != kernel.float_const(-0.0));
  REQUIRE(kernel.float_const(std::nan("")) == kernel.float_const(std::nan("1")));
  REQUIRE(kernel.float_const(0.1) == kernel.float_const(static_cast<double>(0.1f)));
  REQUIRE(kernel.float_const(1, DType::kFloat64) != kernel.float_const(1));
  REQUIRE(kernel.int_const(1, DType::kInt32) != kernel.int_const(1));
}

TEST_CASE("integer sums have one order") {
  IndexKernel s;
  Kernel& k = s.kernel;
  const ExprId sum = k.add(k.add(k.mul(s.i, 8), s.j), 3);
  REQUIRE(sum == k.add(k.add(s.j, 1), k.add(k.mul(s.i, 8), 2)));
  REQUIRE(k.sub(sum, sum) == k.int_const(0));
  REQUIRE(k.sub(sum, k.add(s.j, 3)) == k.mul(s.i, 8));
  REQUIRE(k.mul(k.add(s.i, s.j), 2) == k.add(k.mul(s.j, 2), k.mul(s.i, 2)));
  REQUIRE(k.mul(k.int_const(2), s.i) == k.mul(s.i, 2));
  REQUIRE(k.mul(s.i, s.j) == k.mul(s.j, s.i));
}

TEST_CASE("div and mod use the ranges of variables") {
  IndexKernel s;
  Kernel& k = s.kernel;
  const ExprId flat = k.add(k.mul(s.i, 8), s.j);
  REQUIRE(k.div(flat, 8) == s.i);
  REQUIRE(k.mod(flat, 8) == s.j);
  REQUIRE(k.div(flat, 16) == k.div(s.i, 2));
  REQUIRE(k.div(s.j, 8) == k.int_const(0));
  REQUIRE(k.div(k.div(flat, 3), 5) == k.div(flat, 15));
  REQUIRE(k.mod(k.mod(flat, 12), 4) == k.mod(s.j, 4));
  REQUIRE(k.add(k.mul(k.div(flat, 12), 12), k.mod(flat, 12)) == flat);
  const ExprId from_one = k.var(k.add_loop_var("p", 1, 9));
  const ExprId below = k.add(k.add(k.mul(from_one, 8), k.mod(s.j, 4)), -4);
  REQUIRE(k.div(below, 8) == k.add(from_one, -1));
  // Coefficients above the divisor: quotient and remainder are of the same rest, and join again.
  const ExprId steep = k.add(k.mul(s.i, 24), k.mul(s.j, 3));
  REQUIRE(k.mod(steep, 7) == k.mod(k.mul(k.add(s.i, s.j), 3), 7));
  REQUIRE(k.add(k.mul(k.div(steep, 7), 7), k.mod(steep, 7)) == steep);
  REQUIRE(k.mod(k.mul(s.j, 9), 8) == s.j);
  // k may be negative, where truncation is not rounding down.
  REQUIRE(k.div(k.add(k.mul(s.i, 8), s.k), 8) != s.i);
  REQUIRE(k.expr(k.mod(s.k, 4)).op == KOp::kRem);
}

TEST_CASE("three digits split and join again") {
  Kernel k;
  const ExprId x = k.var(k.add_loop_var("x", 0, 5 * 7 * 11 - 1));
  const ExprId hi = k.div(x, 77);
  const ExprId mid = k.mod(k.div(x, 11), 7);
  const ExprId lo = k.mod(x, 11);
  REQUIRE(k.add(k.add(k.mul(hi, 77), k.mul(mid, 11)), lo) == x);
}

TEST_CASE("bounds decide min, max and comparisons") {
  IndexKernel s;
  Kernel& k = s.kernel;
  REQUIRE(k.binary(KOp::kMin, s.j, k.int_const(7)) == s.j);
  REQUIRE(k.binary(KOp::kMax, s.k, k.int_const(-5)) == s.k);
  REQUIRE(k.binary(KOp::kMin, k.add(s.k, 1), s.k) == s.k);
  REQUIRE(k.binary(KOp::kLt, s.j, k.int_const(8)) == k.int_const(1, DType::kBool));
  REQUIRE(k.expr(k.binary(KOp::kLt, s.k, k.int_const(20))).op == KOp::kLt);
  int64_t lo = 0, hi = 0;
  k.bounds(k.sub(k.mul(s.i, 3), s.k), &lo, &hi);
  REQUIRE(lo == -20);
  REQUIRE(hi == 32);
}

TEST_CASE("bounds of narrow integers") {
  Kernel k;
  const ArrayId a = k.add_param("a", DType::kUInt8, 4, false);
  const ExprId x = k.load(a, k.int_const(0));
  const ExprId y = k.load(a, k.int_const(1));
  const auto bounds = [&](ExprId id) {
    std::pair<int64_t, int64_t> result;
    k.bounds(id, &result.first, &result.second);
    return result;
  };
  const auto wide = [&](ExprId id) { return k.cast(id, DType::kInt32); };
  const std::pair<int64_t, int64_t> all_u8(0, 255);
  REQUIRE(bounds(x) == all_u8);
  REQUIRE(bounds(k.add(x, y)) == all_u8);  // it wraps
  REQUIRE(bounds(k.sub(wide(x), wide(y))) == std::pair<int64_t, int64_t>(-255, 255));
  REQUIRE(bounds(k.mul(wide(x), wide(y))) == std::pair<int64_t, int64_t>(0, 65025));
  REQUIRE(bounds(k.cast(k.sub(wide(x), wide(y)), DType::kUInt8)) == all_u8);
  REQUIRE(bounds(k.cast(k.cast(x, DType::kFloat32), DType::kInt64)).first == INT64_MIN);
}

TEST_CASE("float expressions keep every rounding") {
  Kernel k;
  const ArrayId a = k.add_param("a", DType::kFloat32, 4, false);
  const ExprId x = k.load(a, k.int_const(0));
  const ExprId one = k.float_const(1), zero = k.float_const(0), minus_zero = k.float_const(-0.0);
  REQUIRE(k.mul(x, one) == x);
  REQUIRE(k.add(x, minus_zero) == x);
  REQUIRE(k.sub(x, zero) == x);
  REQUIRE(k.add(x, zero) != x);  // x may be -0
  REQUIRE(k.mul(x, zero) != zero);
  REQUIRE(k.sub(x, x) != zero);
  REQUIRE(k.add(k.float_const(0.1), k.float_const(0.2)) ==
          k.float_const(static_cast<double>(0.1f + 0.2f)));
  REQUIRE(k.fma(x, one, zero) == k.add(x, zero));
}

TEST_CASE("a ramp widens what depends on it") {
  Kernel k;
  const ArrayId a = k.add_param("a", DType::kFloat32, 1024, false);
  const VarId v = k.add_loop_var("v", 0, 7);
  const ExprId i = k.var(k.add_loop_var("i", 0, 9));
  const ExprId ramp = k.ramp(k.int_const(0), k.int_const(1), 8);
  const ExprId index = k.add(k.add(k.mul(i, 8), k.var(v)), 5);
  const Expr dense = k.expr(k.substitute(k.load(a, index), v, ramp));
  REQUIRE(dense.type == ValueType{DType::kFloat32, 8});
  REQUIRE(dense.args[0] == k.add(k.mul(i, 8), 5));
  const Expr gather = k.expr(k.substitute(k.load(a, k.mul(k.var(v), 2)), v, ramp));
  REQUIRE(k.expr(gather.args[0]).op == KOp::kRamp);
  const ExprId sum = k.add(k.load(a, index), k.load(a, i));
  const Expr mixed = k.expr(k.substitute(sum, v, ramp));
  REQUIRE(k.expr(mixed.args[1]).op == KOp::kBroadcast);
  REQUIRE(k.substitute(k.load(a, i), v, ramp) == k.load(a, i));
}
