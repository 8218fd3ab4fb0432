// SPDX-License-Identifier: MIT
#include <bit>
#include <limits>

#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

// (log(1 + f) - f + f^2 / 2) / f^3 on [-0.292893, 0.414214], by fit_math.py.
// LogF32: degree 8, error 2^-29.3 of log(1 + f)
constexpr double kLogF32[] = {0.333333135,  -0.250001669, 0.200022236,  -0.166593671, 0.142095909,
                              -0.125497714, 0.121087231,  -0.109155603, 0.053377565};

// (2 atanh(s) - 2 s) / s^3 in s^2 on [0, 0.0294373], by fit_math.py.
// LogF64: degree 7, error 2^-66.6 of 2 atanh(s)
constexpr double kLogF64[] = {0x1.5555555555555p-1, 0x1.9999999999d10p-2, 0x1.24924924399b5p-2,
                              0x1.c71c724b42392p-3, 0x1.745ce1d4cb86cp-3, 0x1.3b20226a2ce46p-3,
                              0x1.0f67736328b41p-3, 0x1.0f0c287e44e83p-3};

// log(1 + f) + exponent * log(2)
ExprId log_f32(MathBuilder& m, const LogReduction& reduced) {
  const auto [f, exponent] = reduced;
  const ExprId tail = m.fma(m.polynomial(f, kLogF32), f, m.real(-0.5));
  const ExprId low = m.fma(exponent, m.real(m.format().log2_low), m.mul(m.mul(f, f), tail));
  return m.fma(exponent, m.real(m.format().log2_high), m.add(f, low));
}

// With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - (f^2 / 2 - s * (f^2 / 2 + s^2 * tail)).
ExprId log_f64(MathBuilder& m, const LogReduction& reduced) {
  const auto [f, exponent] = reduced;
  const ExprId s = m.div(f, m.add(m.real(2), f));
  const ExprId square = m.mul(s, s);
  const ExprId tail = m.mul(square, m.polynomial(square, kLogF64));
  const ExprId half = m.mul(m.real(0.5), m.mul(f, f));
  const ExprId inner = m.fma(s, m.add(half, tail), m.mul(exponent, m.real(m.format().log2_low)));
  return m.fma(exponent, m.real(m.format().log2_high), m.sub(f, m.sub(half, inner)));
}

}  // namespace

std::span<const double> atanh_tail_f64() {
  return kLogF64;
}

LogReduction reduce_log(MathBuilder& m, ExprId x) {
  const FloatFormat& format = m.format();
  const auto mantissa_bits = static_cast<uint64_t>(format.mantissa_bits);
  const ExprId is_denormal = m.less(x, m.real(format.smallest_normal));
  const ExprId normal = m.select(is_denormal, m.mul(x, m.real(m.is_f32() ? 0x1p23 : 0x1p52)), x);
  // Counted from the bits of sqrt(1/2), the exponent field changes where the mantissa's range ends.
  const double root = 0x1.6a09e667f3bcdp-1;
  const uint64_t root_bits = m.is_f32() ? std::bit_cast<uint32_t>(static_cast<float>(root))
                                        : std::bit_cast<uint64_t>(root);
  const uint64_t bias = static_cast<uint64_t>(format.exponent_bias) << mantissa_bits;
  const ExprId offset = m.op(KOp::kAdd, m.bits(normal), bias - root_bits);
  const ExprId field = m.op(KOp::kShr, offset, mantissa_bits);
  const ExprId fraction = m.op(KOp::kAnd, offset, (uint64_t{1} << mantissa_bits) - 1);
  const ExprId mantissa = m.from_bits(m.op(KOp::kAdd, fraction, root_bits));
  // The field as a float: its bits below a power of two whose last bit counts one.
  const double counting = format.integer_from;
  const uint64_t counting_bits = m.is_f32() ? std::bit_cast<uint32_t>(static_cast<float>(counting))
                                            : std::bit_cast<uint64_t>(counting);
  const ExprId counted = m.from_bits(m.op(KOp::kOr, field, counting_bits));
  const double shift = counting + format.exponent_bias;
  const ExprId zero_at = m.select(is_denormal, m.real(shift + format.mantissa_bits), m.real(shift));
  return {m.sub(mantissa, m.real(1)), m.sub(counted, zero_at)};
}

ExprId expand_log(MathBuilder& m, ExprId x) {
  const double infinity = std::numeric_limits<double>::infinity();
  const LogReduction reduced = reduce_log(m, x);
  const ExprId value = m.is_f32() ? log_f32(m, reduced) : log_f64(m, reduced);
  const ExprId finite = m.select(m.less(x, m.real(infinity)), value, x);
  const ExprId special = m.select(m.equal(x, m.real(0)), m.real(-infinity),
                                  m.real(std::numeric_limits<double>::quiet_NaN()));
  return m.select(m.less(m.real(0), x), finite, special);
}

}  // namespace camshaft::ir
