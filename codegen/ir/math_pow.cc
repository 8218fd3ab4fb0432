// SPDX-License-Identifier: MIT
#include <limits>

#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

constexpr double kLog2 = 0x1.62e42fefa39efp-1;

// (2 atanh(s) - 2 s) / s^3 in s^2 on [0, 0.0294373], by fit_math.py.
// LogOfPow: degree 4, error 2^-44.9 of 2 atanh(s)
constexpr double kLogOfPow[] = {0x1.555555561d7abp-1, 0x1.999996ab59738p-2, 0x1.24941116cedb2p-2,
                                0x1.c62b5a0145aa4p-3, 0x1.9111b5687a533p-3};

// (exp(r) - 1 - r) / r^2 on [-0.350039, 0.350039], by fit_math.py.
// ExpOfPow: degree 6, error 2^-39.5 of exp
constexpr double kExpOfPow[] = {0x1.00000000659d0p-1, 0x1.5555558045b65p-3,  0x1.5555540b4884cp-5,
                                0x1.11109df291e0cp-7, 0x1.6c18e8cab2a4bp-10, 0x1.a18c942492880p-13,
                                0x1.9e80d3ebffb77p-16};

// |x|^y of f32, in f64: 2^-38 is more than an f32 shows, even times the 104 that y * log(x) may be.
ExprId magnitude_f32(MathBuilder& m, ExprId x, ExprId y) {
  MathBuilder wide = m.in(DType::kFloat64);
  const auto [f, exponent] = reduce_log(wide, m.cast(x, DType::kFloat64));
  const ExprId s = wide.div(f, wide.add(wide.real(2), f));
  const ExprId square = wide.mul(s, s);
  const ExprId tail = wide.fma(wide.polynomial(square, kLogOfPow), square, wide.real(2));
  const ExprId log = wide.fma(tail, s, wide.mul(exponent, wide.real(kLog2)));
  const ExprId product = wide.mul(m.cast(y, DType::kFloat64), log);
  const auto [r, n] = reduce_exp(wide, wide.clamp(product, -200, 200));
  const ExprId high = wide.fma(wide.polynomial(r, kExpOfPow), r, wide.real(1));
  const ExprId value = wide.fma(high, r, wide.real(1));
  return m.cast(wide.mul(value, wide.power_of_two(n)), DType::kFloat32);
}

// |x|^y of f64, with log(x) and its product with y as sums of two.
ExprId magnitude_f64(MathBuilder& m, ExprId x, ExprId y) {
  const auto [f, exponent] = reduce_log(m, x);
  // s = f / (2 + f) and what its rounding left.
  ExprId divisor_low = kNoExpr, product_low = kNoExpr;
  const ExprId divisor = m.exact_add(m.real(2), f, &divisor_low);
  const ExprId s = m.div(f, divisor);
  const ExprId product = m.exact_mul(s, divisor, &product_low);
  const ExprId left = m.sub(m.sub(m.sub(f, product), product_low), m.mul(s, divisor_low));
  const ExprId s_low = m.div(left, divisor);
  // log(1 + f) = 2 s + s^3 * tail
  const ExprId square = m.mul(s, s);
  const ExprId cube = m.mul(m.mul(square, s), m.polynomial(square, atanh_tail_f64()));
  const ExprId log_low = m.fma(m.real(2), s_low, cube);
  ExprId sum_low = kNoExpr, log_rest = kNoExpr, y_log_low = kNoExpr;
  const ExprId high = m.mul(exponent, m.real(m.format().log2_high));  // exact
  const ExprId twice = m.mul(m.real(2), s);
  const ExprId sum = m.exact_add(high, twice, &sum_low);
  const ExprId is_one = m.equal(exponent, m.real(0));
  const ExprId head = m.select(is_one, twice, sum);
  const ExprId rest = m.add(m.select(is_one, m.real(0), sum_low),
                            m.fma(exponent, m.real(m.format().log2_low), log_low));
  const ExprId log = m.exact_add(head, rest, &log_rest);
  const ExprId y_log = m.exact_mul(y, log, &y_log_low);
  const ExprId low = m.fma(y, log_rest, y_log_low);
  // exp(y_log + low) = exp(y_log) * (1 + low), unless that is infinite or 0 already.
  const ExprId value = expand_exp(m, y_log);
  const ExprId corrected = m.fma(value, low, value);
  const ExprId is_finite = m.less(value, m.real(std::numeric_limits<double>::infinity()));
  const ExprId is_moderate = m.both(is_finite, m.less(m.abs(y_log), m.real(800)));
  return m.select(is_moderate, corrected, value);
}

}  // namespace

// The special cases are those of C's pow.
ExprId expand_pow(MathBuilder& m, ExprId x, ExprId y) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ExprId zero = m.real(0), one = m.real(1);
  const ExprId base = m.abs(x);
  const ExprId regular = m.is_f32() ? magnitude_f32(m, base, y) : magnitude_f64(m, base, y);
  // 0 and infinity: the result is 0 or infinity by the sign of y; NaN stays NaN.
  const ExprId base_is_zero = m.equal(base, zero);
  const ExprId base_is_infinite = m.equal(base, m.real(infinity));
  const ExprId y_is_negative = m.less(y, zero);
  const ExprId at_zero = m.select(y_is_negative, m.real(infinity), zero);
  const ExprId at_infinity = m.select(y_is_negative, zero, m.real(infinity));
  ExprId value = m.select(base_is_zero, at_zero, regular);
  value = m.select(base_is_infinite, at_infinity, value);
  // An odd y keeps the sign of x; a negative finite x has no other power than that of an integer.
  const ExprId is_integer = m.equal(m.floor(y), y);
  const ExprId half = m.mul(y, m.real(0.5));
  const ExprId is_even = m.equal(m.floor(half), half);
  const ExprId signed_value = m.with_sign(value, x);
  value = m.select(m.both(is_integer, m.inverse(is_even)), signed_value, value);
  const ExprId is_finite_negative = m.both(m.less(x, zero), m.less(base, m.real(infinity)));
  const ExprId nan = m.real(std::numeric_limits<double>::quiet_NaN());
  value = m.select(m.both(is_finite_negative, m.inverse(is_integer)), nan, value);
  // NaN of either gives NaN, but for x = 1 and y = 0. |x| = 1 with an infinite y is 1.
  const ExprId is_number = m.both(m.equal(x, x), m.equal(y, y));
  value = m.select(is_number, value, nan);
  const ExprId y_is_infinite = m.equal(m.abs(y), m.real(infinity));
  const ExprId unit = m.both(m.equal(base, one), y_is_infinite);
  const ExprId is_one = m.op(KOp::kOr, m.op(KOp::kOr, m.equal(x, one), m.equal(y, zero)), unit);
  return m.select(is_one, one, value);
}

}  // namespace camshaft::ir
