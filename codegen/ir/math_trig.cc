// SPDX-License-Identifier: MIT
#include <limits>

#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

// pi / 2 in parts of full precision; the products with the first must be exact.
constexpr double kHalfPi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};

// Beyond this the number of quarter turns has no exact last bits; the result is NaN rather than
// wrong. Nothing is reduced that far.
constexpr double kLargest = 0x1p50;

// (sin(r) - r) / r^3 in r^2 for |r| <= 0.786183, by fit_math.py.
// SinF32: degree 2, error 2^-27.9 of sin(r)
constexpr double kSinF32[] = {-0.166666552, 0.00833218731, -0.000195178945};
// SinF64: degree 5, error 2^-57.9 of sin(r)
constexpr double kSinF64[] = {-0x1.5555555555548p-3, 0x1.111111110f730p-7,   -0x1.a01a019be91ebp-13,
                              0x1.71de355526757p-19, -0x1.ae5e4b7e651dap-26, 0x1.5d8b53941fa0dp-33};

// (cos(r) - 1 + r^2 / 2) / r^4 in r^2 for |r| <= 0.786183, by fit_math.py.
// CosF32: degree 2, error 2^-33.0 of cos(r)
constexpr double kCosF32[] = {0.0416666456, -0.00138873095, 2.44323255e-05};
// CosF64: degree 5, error 2^-63.9 of cos(r)
constexpr double kCosF64[] = {0x1.555555555554bp-5,  -0x1.6c16c16c15005p-10,
                              0x1.a01a019c8c7c0p-16, -0x1.27e4f7ef0addcp-22,
                              0x1.1ee9d9c3adac5p-29, -0x1.8fa5516f31857p-37};

struct Quadrant {
  ExprId r = kNoExpr;      // |r| <= pi / 4 and a little
  ExprId turns = kNoExpr;  // quarter turns, modulo 4 in the low bits
};

// Always in f64: for f32 it is exact enough over all of its useful range, at little cost.
Quadrant reduce_quadrant(MathBuilder& m, MathBuilder& wide, ExprId magnitude) {
  const ExprId x = m.cast(magnitude, DType::kFloat64);
  const ExprId magic = wide.real(wide.format().rounding_magic);
  const ExprId shifted = wide.fma(x, wide.real(kTwoOverPi), magic);
  const ExprId n = wide.sub(shifted, magic);
  ExprId low = kNoExpr;
  const ExprId high = wide.exact_mul(n, wide.real(kHalfPi[0]), &low);
  ExprId r =
      wide.has_fma() ? wide.fma(n, wide.real(-kHalfPi[0]), x) : wide.sub(wide.sub(x, high), low);
  r = wide.fma(n, wide.real(-kHalfPi[1]), r);
  if (!m.is_f32()) r = wide.fma(n, wide.real(-kHalfPi[2]), r);
  return {m.cast(r, m.format().dtype), m.cast(wide.bits(shifted), m.format().bits_dtype)};
}

ExprId sin_of_reduced(MathBuilder& m, ExprId r, ExprId square) {
  const ExprId tail = m.is_f32() ? m.polynomial(square, kSinF32) : m.polynomial(square, kSinF64);
  return m.fma(m.mul(square, r), tail, r);
}

ExprId cos_of_reduced(MathBuilder& m, ExprId square) {
  const ExprId tail = m.is_f32() ? m.polynomial(square, kCosF32) : m.polynomial(square, kCosF64);
  const ExprId low = m.fma(square, tail, m.real(-0.5));
  return m.fma(square, low, m.real(1));
}

// sin of a number whose quarter turns are `shift` more, up to the sign of x.
ExprId sin_shifted(MathBuilder& m, ExprId magnitude, uint64_t shift) {
  MathBuilder wide = m.in(DType::kFloat64);
  const Quadrant reduced = reduce_quadrant(m, wide, magnitude);
  const ExprId turns = m.op(KOp::kAdd, reduced.turns, shift);
  const ExprId square = m.mul(reduced.r, reduced.r);
  const ExprId swaps = m.equal(m.op(KOp::kAnd, turns, 1), m.integer(1));
  const ExprId value =
      m.select(swaps, cos_of_reduced(m, square), sin_of_reduced(m, reduced.r, square));
  // Turns 2 and 3 are negative: bit 1 becomes the sign bit.
  const auto to_sign = static_cast<uint64_t>(m.is_f32() ? 30 : 62);
  const ExprId sign = m.op(KOp::kShl, m.op(KOp::kAnd, turns, 2), to_sign);
  const ExprId result = m.from_bits(m.op(KOp::kXor, m.bits(value), sign));
  const ExprId nan = m.real(std::numeric_limits<double>::quiet_NaN());
  return m.select(m.less(magnitude, m.real(kLargest)), result, nan);
}

}  // namespace

ExprId expand_sin(MathBuilder& m, ExprId x) {
  const ExprId value = sin_shifted(m, m.abs(x), 0);
  const ExprId sign = m.op(KOp::kAnd, m.bits(x), m.format().sign_bit);
  return m.from_bits(m.op(KOp::kXor, m.bits(value), sign));
}

ExprId expand_cos(MathBuilder& m, ExprId x) {
  return sin_shifted(m, m.abs(x), 1);
}

}  // namespace camshaft::ir
