// SPDX-License-Identifier: MIT
// Sigmoid for results that are stored as bf16: half the operations, and no division. What each
// step leaves out is far below what the store rounds away.
#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

// Between these 1 + exp(-x) and its reciprocal are normal numbers.
constexpr double kLowest = -86, kHighest = 88;

// Added to log2 of a number, this leaves an f32 whose low 22 bits are that plus the bias of
// exponents, in units of 2^-13: shifted by 10 bits, the number's exponent and as mantissa what is
// between two powers of two, as if 2^f were 1 + f.
constexpr double kFixedPoint = 0x1.8p10 + 127;
constexpr uint64_t kFixedPointShift = 10;

// 2^f / (1 + f) in 1 + f, by fit_math.py.
// PowerRatio: degree 3 on [1, 2], error 2^-10.6 of 2^f
constexpr double kPowerRatio[] = {1.77560937, -1.37729418, 0.707464993, -0.106442906};

// bits(1 / d) and this minus bits(d) differ by at most 5 % of 1 / d.
constexpr uint64_t kReciprocalBits = 0x7ef311c3;

// exp(-x) + `one`, for x between the limits.
ExprId one_plus_exp(MathBuilder& m, ExprId x, ExprId one) {
  const ExprId fixed = m.fma(x, m.real(-kLog2E), m.real(kFixedPoint));
  const ExprId linear = m.from_bits(m.op(KOp::kShl, m.bits(fixed), kFixedPointShift));
  const ExprId mantissa = m.op(KOp::kAnd, m.bits(linear), 0x007fffff);
  const ExprId between = m.from_bits(m.op(KOp::kOr, mantissa, 0x3f800000));  // in [1, 2)
  return m.fma(m.polynomial(between, kPowerRatio), linear, one);
}

// One step of third order from the guess by the bits: with h = 1 - d * guess,
// 1 / d = guess * (1 + h + h^2 + ...).
ExprId reciprocal(MathBuilder& m, ExprId d) {
  const ExprId guess = m.from_bits(m.op(KOp::kSub, m.integer(kReciprocalBits), m.bits(d)));
  const ExprId h = m.fma(m.negated(d), guess, m.real(1));
  return m.fma(m.fma(h, h, h), guess, guess);
}

// NaN stays.
ExprId at_least_lowest(MathBuilder& m, ExprId x) {
  return m.op(KOp::kMax, m.real(kLowest), x);
}

// NaN stays.
ExprId at_most_highest(MathBuilder& m, ExprId x) {
  return m.op(KOp::kMin, m.real(kHighest), x);
}

}  // namespace

ExprId narrow_sigmoid(MathBuilder& m, ExprId x) {
  const ExprId limited = at_most_highest(m, at_least_lowest(m, x));
  // Moving bits would make a number of NaN.
  const ExprId one_or_nan = m.fma(limited, m.real(0), m.real(1));
  return reciprocal(m, one_plus_exp(m, limited, one_or_nan));
}

ExprId narrow_silu(MathBuilder& m, ExprId x) {
  const ExprId limited = at_least_lowest(m, x);
  const ExprId sum = one_plus_exp(m, at_most_highest(m, limited), m.real(1));
  return m.mul(limited, reciprocal(m, sum));
}

}  // namespace camshaft::ir
