// SPDX-License-Identifier: MIT
#include <vector>

#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

// (exp(r) - 1 - r) / r^2 on [-0.350039, 0.350039], by fit_math.py.
// ExpF32: degree 4, error 2^-28.1 of exp
constexpr double kExpF32[] = {0.49999994, 0.166665092, 0.0416680053, 0.00836999901, 0.00138477294};
// ExpF64: degree 9, error 2^-57.7 of exp
constexpr double kExpF64[] = {0x1.000000000000bp-1,  0x1.55555555554e7p-3,  0x1.555555554ff46p-5,
                              0x1.111111112bca6p-7,  0x1.6c16c186514e9p-10, 0x1.a01a011830e16p-13,
                              0x1.a01993ed627f7p-16, 0x1.71df453b66fdep-19, 0x1.28b34f63ca26fp-22,
                              0x1.ad5aa67199a35p-26};

// (2^r - 1) / r on [-0.5005, 0.5005], by fit_math.py.
// Exp2F32: degree 5, error 2^-27.5 of 2^r
constexpr double kExp2F32[] = {0.693147242,   0.240226552,   0.0555026196,
                               0.00961735286, 0.00134231988, 0.000156864218};

std::span<const double> tail_of(const MathBuilder& m) {
  if (m.is_f32()) return kExpF32;
  return kExpF64;
}

}  // namespace

ExpReduction reduce_exp(MathBuilder& m, ExprId x) {
  const ExprId magic = m.real(m.format().rounding_magic);
  const ExprId shifted = m.fma(x, m.real(kLog2E), magic);
  const ExprId n = m.sub(shifted, magic);
  const ExprId r = m.fma(n, m.real(-m.format().log2_high), x);
  return {m.fma(n, m.real(-m.format().log2_low), r), m.bits(shifted)};
}

ExprId expm1_of_reduced(MathBuilder& m, ExprId r) {
  return m.fma(m.mul(r, r), m.polynomial(r, tail_of(m)), r);
}

ExprId normal_exp(MathBuilder& m, ExprId x) {
  const auto [r, n] = reduce_exp(m, x);
  const ExprId tail = m.fma(m.polynomial(r, tail_of(m)), r, m.real(1));
  return m.mul(m.fma(tail, r, m.real(1)), m.power_of_two(n));
}

// 2^n is 0 for n = -127, the least that there is.
ExprId exp_below_one(MathBuilder& m, ExprId x) {
  const ExprId power = m.op(KOp::kMax, m.real(-127), m.mul(x, m.real(kLog2E)));
  const ExprId magic = m.real(m.format().rounding_magic);
  const ExprId shifted = m.add(power, magic);
  const ExprId r = m.sub(power, m.sub(shifted, magic));
  const ExprId value = m.fma(m.polynomial(r, kExp2F32), r, m.real(1));
  return m.mul(value, m.power_of_two(m.bits(shifted)));
}

ExprId expand_exp(MathBuilder& m, ExprId x) {
  // Beyond these the result is infinite or 0, without a special case: 2^n comes as two factors that
  // are normal numbers, and the last product overflows, or rounds to a denormal, once.
  const ExprId limited = m.is_f32() ? m.clamp(x, -104, 89) : m.clamp(x, -746, 710);
  const auto [r, n] = reduce_exp(m, limited);
  const ExprId tail = m.fma(m.polynomial(r, tail_of(m)), r, m.real(1));
  const ExprId value = m.fma(tail, r, m.real(1));
  const ExprId half = m.op(KOp::kShr, n, 1);
  const ExprId scaled = m.mul(value, m.power_of_two(half));
  return m.mul(scaled, m.power_of_two(m.op(KOp::kSub, n, half)));
}

// 1 / (1 + e) with e = exp(-x) = 2^n * exp(-r). Only e beside 1 counts, so the limits are those
// between which 2^n is a normal number, or infinite for the last n: half the work of exp with all
// its edges. f32 has so few terms that its chain of dependent sums, not its arithmetic, takes the
// time; the polynomial is split in two.
ExprId expand_sigmoid(MathBuilder& m, ExprId x) {
  const ExprId limited = m.is_f32() ? m.clamp(x, -89, 87) : m.clamp(x, -710, 708);
  const ExprId magic = m.real(m.format().rounding_magic);
  const ExprId shifted = m.fma(limited, m.real(-kLog2E), magic);
  const ExprId n = m.sub(shifted, magic);
  const ExprId high = m.fma(n, m.real(m.format().log2_high), limited);
  const ExprId r = m.fma(n, m.real(m.format().log2_low), high);
  std::vector<double> of_minus_r(tail_of(m).begin(), tail_of(m).end());
  for (size_t i = 1; i < of_minus_r.size(); i += 2) of_minus_r[i] = -of_minus_r[i];
  ExprId tail = kNoExpr;
  if (m.is_f32()) {
    const std::span<const double> c = of_minus_r;
    const ExprId square = m.mul(r, r);
    const ExprId upper = m.fma(m.real(c[4]), square, m.polynomial(r, c.subspan(2, 2)));
    tail = m.fma(upper, square, m.polynomial(r, c.first(2)));
  } else {
    tail = m.polynomial(r, of_minus_r);
  }
  const ExprId value = m.fma(m.fma(tail, r, m.real(-1)), r, m.real(1));
  const ExprId sum = m.fma(value, m.power_of_two(m.bits(shifted)), m.real(1));
  return m.div(m.real(1), sum);
}

}  // namespace camshaft::ir
