// SPDX-License-Identifier: MIT
#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

constexpr FloatFormat kF32{
    .dtype = DType::kFloat32,
    .bits_dtype = DType::kUInt32,
    .mantissa_bits = 23,
    .exponent_bias = 127,
    .rounding_magic = 0x1.8p23,
    .integer_from = 0x1p23,
    .smallest_normal = 0x1p-126,
    .sign_bit = 0x80000000u,
    .log2_high = 0x1.63p-1,
    .log2_low = -0x1.bd0106p-13,
};
constexpr FloatFormat kF64{
    .dtype = DType::kFloat64,
    .bits_dtype = DType::kUInt64,
    .mantissa_bits = 52,
    .exponent_bias = 1023,
    .rounding_magic = 0x1.8p52,
    .integer_from = 0x1p52,
    .smallest_normal = 0x1p-1022,
    .sign_bit = 0x8000000000000000u,
    .log2_high = 0x1.62e42feep-1,
    .log2_low = 0x1.a39ef35793c76p-33,
};

}  // namespace

const FloatFormat& format_of(DType dtype) {
  CAMSHAFT_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64);
  return dtype == DType::kFloat32 ? kF32 : kF64;
}

ExprId MathBuilder::fma(ExprId a, ExprId b, ExprId c) {
  return support_.fma ? kernel_.fma(a, b, c) : add(mul(a, b), c);
}

ExprId MathBuilder::clamp(ExprId value, double lo, double hi) {
  // kMin and kMax give their second operand if either is NaN.
  const ExprId limited = kernel_.binary(KOp::kMin, real(hi), value);
  return kernel_.binary(KOp::kMax, real(lo), limited);
}

ExprId MathBuilder::polynomial(ExprId x, std::span<const double> coefficients) {
  ExprId sum = real(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = fma(sum, x, real(coefficients[i]));
  return sum;
}

ExprId MathBuilder::exact_mul(ExprId a, ExprId b, ExprId* low) {
  const ExprId product = mul(a, b);
  if (support_.fma) {
    *low = fma(a, b, kernel_.unary(KOp::kNeg, product));
    return product;
  }
  // Veltkamp's splitting into halves, whose products are exact, and Dekker's sum of them.
  const ExprId splitter = real(is_f32() ? 0x1p12 + 1 : 0x1p27 + 1);
  const auto high_half = [&](ExprId value) {
    const ExprId scaled = mul(value, splitter);
    return sub(scaled, sub(scaled, value));
  };
  const ExprId a_high = high_half(a), b_high = high_half(b);
  const ExprId a_low = sub(a, a_high), b_low = sub(b, b_high);
  const ExprId cross = add(sub(mul(a_high, b_high), product), mul(a_high, b_low));
  *low = add(add(cross, mul(a_low, b_high)), mul(a_low, b_low));
  return product;
}

ExprId MathBuilder::exact_add(ExprId a, ExprId b, ExprId* low) {
  const ExprId sum = add(a, b);
  *low = sub(b, sub(sum, a));
  return sum;
}

ExprId MathBuilder::integer(uint64_t value) {
  const ExprId scalar = kernel_.int_const(static_cast<int64_t>(value), format_.bits_dtype);
  return kernel_.broadcast(scalar, type_.lanes);
}

ExprId MathBuilder::power_of_two(ExprId n) {
  const ExprId biased = op(KOp::kAdd, n, static_cast<uint64_t>(format_.exponent_bias));
  return from_bits(op(KOp::kShl, biased, static_cast<uint64_t>(format_.mantissa_bits)));
}

ExprId MathBuilder::with_sign(ExprId magnitude, ExprId sign) {
  const ExprId sign_bit = op(KOp::kAnd, bits(sign), format_.sign_bit);
  return from_bits(op(KOp::kOr, bits(magnitude), sign_bit));
}

ExprId MathBuilder::round(ExprId x) {
  if (support_.rounding) return kernel_.unary(KOp::kRound, x);
  const ExprId magnitude = abs(x);
  const ExprId magic = real(format_.integer_from);
  const ExprId rounded = with_sign(sub(add(magnitude, magic), magic), x);
  return select(less(magnitude, magic), rounded, x);
}

ExprId MathBuilder::floor(ExprId x) {
  if (support_.rounding) return kernel_.unary(KOp::kFloor, x);
  const ExprId rounded = round(x);
  const ExprId lowered = select(less(x, rounded), sub(rounded, real(1)), rounded);
  return with_sign(abs(lowered), x);
}

ExprId MathBuilder::ceil(ExprId x) {
  if (support_.rounding) return kernel_.unary(KOp::kCeil, x);
  const ExprId rounded = round(x);
  const ExprId raised = select(less(rounded, x), add(rounded, real(1)), rounded);
  return with_sign(abs(raised), x);
}

}  // namespace camshaft::ir
