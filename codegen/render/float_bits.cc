// SPDX-License-Identifier: MIT
#include "codegen/render/float_bits.h"

#include <cmath>
#include <limits>
#include <vector>

namespace camshaft::render {

namespace {

using ir::DType;
using ir::ExprId;
using ir::Kernel;
using ir::KOp;
using ir::ValueType;

// Makes expressions of one lane count; integer constants are i32 unless said otherwise.
class Bits {
 public:
  Bits(Kernel& kernel, int32_t lanes) : kernel_(kernel), lanes_(lanes) {}

  ExprId integer(int64_t value, DType dtype = DType::kInt32) {
    return kernel_.broadcast(kernel_.int_const(value, dtype), lanes_);
  }
  ExprId real(double value, DType dtype) { return kernel_.splat(value, {dtype, lanes_}); }
  ExprId op(KOp op, ExprId a, ExprId b) { return kernel_.binary(op, a, b); }
  // With a constant on the right, of the left side's integer type.
  ExprId op(KOp op, ExprId a, int64_t b) {
    return kernel_.binary(op, a, integer(b, kernel_.expr(a).type.dtype));
  }

 private:
  Kernel& kernel_;
  int32_t lanes_;
};

constexpr int64_t kInfinityBits = 0x7f800000;

}  // namespace

ExprId expand_bf16_to_f32(Kernel& kernel, ExprId half) {
  Bits bits(kernel, kernel.expr(half).type.lanes);
  const ExprId wide = kernel.cast(kernel.bitcast(half, DType::kInt16), DType::kInt32);
  return kernel.bitcast(bits.op(KOp::kShl, wide, 16), DType::kFloat32);
}

ExprId expand_f32_to_bf16(Kernel& kernel, ExprId value) {
  Bits bits(kernel, kernel.expr(value).type.lanes);
  const ExprId all = kernel.bitcast(value, DType::kInt32);
  const ExprId odd = bits.op(KOp::kAnd, bits.op(KOp::kShr, all, 16), 1);
  const ExprId rounded =
      bits.op(KOp::kShr, bits.op(KOp::kAdd, bits.op(KOp::kAdd, all, odd), 0x7fff), 16);
  const ExprId quiet_nan = bits.op(KOp::kOr, bits.op(KOp::kShr, all, 16), 0x40);
  const ExprId is_number = kernel.binary(KOp::kEq, value, value);
  const ExprId chosen = kernel.select(is_number, rounded, quiet_nan);
  return kernel.bitcast(kernel.cast(chosen, DType::kInt16), DType::kBFloat16);
}

ExprId expand_dot(Kernel& kernel, ExprId sum, ExprId a, ExprId b) {
  Bits bits(kernel, kernel.expr(sum).type.lanes);
  for (int64_t place = 0; place < 32; place += 8) {
    const ExprId unsigned_byte = bits.op(KOp::kAnd, bits.op(KOp::kShr, a, place), 0xff);
    const ExprId signed_byte = bits.op(KOp::kShr, bits.op(KOp::kShl, b, 24 - place), 24);
    sum = kernel.add(sum, kernel.mul(unsigned_byte, signed_byte));
  }
  return sum;
}

ExprId expand_f16_to_f32(Kernel& kernel, ExprId half) {
  Bits bits(kernel, kernel.expr(half).type.lanes);
  const ExprId all = kernel.cast(kernel.bitcast(half, DType::kInt16), DType::kInt32);
  const ExprId sign = bits.op(KOp::kShl, bits.op(KOp::kAnd, all, 0x8000), 16);
  const ExprId magnitude = bits.op(KOp::kAnd, all, 0x7fff);
  const ExprId shifted = bits.op(KOp::kShl, magnitude, 13);
  // Exponent bias 15 -> 127; infinity and NaN have exponent 31 -> 255; a denormal is a small
  // integer times 2^-24.
  const ExprId normal = bits.op(KOp::kAdd, shifted, int64_t{127 - 15} << 23);
  const ExprId special = bits.op(KOp::kAdd, shifted, int64_t{255 - 31} << 23);
  const ExprId scaled = kernel.binary(KOp::kMul, kernel.cast(magnitude, DType::kFloat32),
                                      bits.real(0x1p-24, DType::kFloat32));
  const ExprId denormal = kernel.bitcast(scaled, DType::kInt32);
  const ExprId is_special = kernel.binary(KOp::kLe, bits.integer(0x7c00), magnitude);
  const ExprId is_denormal = kernel.binary(KOp::kLt, magnitude, bits.integer(0x400));
  const ExprId finite = kernel.select(is_denormal, denormal, normal);
  const ExprId chosen = kernel.select(is_special, special, finite);
  return kernel.bitcast(bits.op(KOp::kOr, chosen, sign), DType::kFloat32);
}

ExprId expand_f32_to_f16(Kernel& kernel, ExprId value) {
  Bits bits(kernel, kernel.expr(value).type.lanes);
  const ExprId all = kernel.bitcast(value, DType::kInt32);
  const ExprId sign = bits.op(KOp::kAnd, bits.op(KOp::kShr, all, 16), 0x8000);
  const ExprId magnitude = bits.op(KOp::kAnd, all, 0x7fffffff);
  const ExprId odd = bits.op(KOp::kAnd, bits.op(KOp::kShr, magnitude, 13), 1);
  // Rounding may carry into the exponent, up to infinity.
  const ExprId biased =
      bits.op(KOp::kSub, bits.op(KOp::kAdd, magnitude, odd), (int64_t{127 - 15} << 23) - 0xfff);
  const ExprId normal = bits.op(KOp::kShr, biased, 13);
  // The unit of 0.5f is that of f16's denormals, 2^-24: the addition rounds.
  const ExprId half = bits.real(0.5, DType::kFloat32);
  const ExprId sum = kernel.binary(KOp::kAdd, kernel.bitcast(magnitude, DType::kFloat32), half);
  const ExprId denormal = bits.op(KOp::kSub, kernel.bitcast(sum, DType::kInt32), 0x3f000000);
  const ExprId is_denormal = kernel.binary(KOp::kLt, magnitude, bits.integer(0x38800000));  // 2^-14
  const ExprId is_large = kernel.binary(KOp::kLe, bits.integer(0x47800000), magnitude);     // 2^16
  const ExprId is_nan = kernel.binary(KOp::kLt, bits.integer(kInfinityBits), magnitude);
  ExprId chosen = kernel.select(is_denormal, denormal, normal);
  chosen = kernel.select(is_large, bits.integer(0x7c00), chosen);
  chosen = kernel.select(is_nan, bits.integer(0x7e00), chosen);
  const ExprId packed = kernel.cast(bits.op(KOp::kOr, chosen, sign), DType::kInt16);
  return kernel.bitcast(packed, DType::kFloat16);
}

ExprId round_to_odd(Kernel& kernel, ExprId value) {
  Bits bits(kernel, kernel.expr(value).type.lanes);
  const ExprId nearest = kernel.cast(value, DType::kFloat32);
  const ExprId back = kernel.cast(nearest, DType::kFloat64);
  const ExprId all = kernel.bitcast(nearest, DType::kInt32);
  const ExprId is_away =
      kernel.binary(KOp::kLt, kernel.unary(KOp::kAbs, value), kernel.unary(KOp::kAbs, back));
  const ExprId truncated = kernel.select(is_away, bits.op(KOp::kSub, all, 1), all);
  const ExprId odd = bits.op(KOp::kOr, truncated, 1);
  const ExprId is_exact = kernel.binary(KOp::kEq, value, back);
  const ExprId is_number = kernel.binary(KOp::kEq, value, value);
  const ExprId is_nan = bits.op(KOp::kXor, is_number, 1);
  const ExprId is_kept = kernel.binary(KOp::kOr, is_exact, is_nan);
  return kernel.bitcast(kernel.select(is_kept, all, odd), DType::kFloat32);
}

// Long division in base 2^c: while the divisor's multiples 2^(c k) |y| shrink, whole multiples are
// taken from |x|. Each quotient digit is rounded to the nearest integer, hence the difference is
// exact and at most half a divisor below zero, which is then added back. f32 is computed in f64,
// where the product of a digit of 28 bits with |y| is exact; f64 needs the exact difference of
// kFma.
ExprId expand_fmod(Kernel& kernel, ExprId x, ExprId y) {
  const ValueType type = kernel.expr(x).type;
  const bool is_single = type.dtype == DType::kFloat32;
  const int digit_bits = is_single ? 28 : 50;
  const int range_bits = is_single ? 128 + 149 : 1024 + 1074;
  Bits bits(kernel, type.lanes);
  const DType wide = DType::kFloat64;
  const ExprId zero = bits.real(0, wide);
  const ExprId one_and_half = bits.real(0x1.8p52, wide);  // adding it leaves no bits for fractions
  const auto magnitude = [&](ExprId value) {
    return kernel.unary(KOp::kAbs, is_single ? kernel.cast(value, wide) : value);
  };
  const ExprId ax = magnitude(x);
  const ExprId ay = magnitude(y);

  std::vector<ExprId> divisors = {ay};
  for (int reach = digit_bits; reach < range_bits; reach += digit_bits) {
    divisors.push_back(
        kernel.binary(KOp::kMul, divisors.back(), bits.real(std::ldexp(1.0, digit_bits), wide)));
  }
  ExprId rest = ax;
  for (size_t i = divisors.size(); i-- > 0;) {
    const ExprId quotient = kernel.binary(KOp::kDiv, rest, divisors[i]);
    const ExprId digit = kernel.sub(kernel.add(quotient, one_and_half), one_and_half);
    const ExprId taken = is_single ? kernel.sub(rest, kernel.binary(KOp::kMul, digit, divisors[i]))
                                   : kernel.fma(kernel.sub(zero, digit), divisors[i], rest);
    const ExprId is_negative = kernel.binary(KOp::kLt, taken, zero);
    const ExprId repaired = kernel.select(is_negative, kernel.add(taken, divisors[i]), taken);
    // An infinite divisor takes nothing.
    rest = kernel.select(kernel.binary(KOp::kEq, digit, zero), rest, repaired);
  }

  const ExprId infinity = bits.real(std::numeric_limits<double>::infinity(), wide);
  const ExprId x_is_finite = kernel.binary(KOp::kLt, ax, infinity);
  const ExprId y_is_usable = kernel.binary(KOp::kLt, zero, ay);
  const ExprId is_defined = kernel.binary(KOp::kAnd, x_is_finite, y_is_usable);
  const ExprId nan = bits.real(std::numeric_limits<double>::quiet_NaN(), wide);
  rest = kernel.select(is_defined, rest, nan);
  const ExprId positive = is_single ? kernel.cast(rest, DType::kFloat32) : rest;
  const DType integer = is_single ? DType::kInt32 : DType::kInt64;
  const int64_t sign_bit = is_single ? int64_t{INT32_MIN} : INT64_MIN;
  const ExprId sign = bits.op(KOp::kAnd, kernel.bitcast(x, integer), sign_bit);
  return kernel.bitcast(bits.op(KOp::kOr, kernel.bitcast(positive, integer), sign), type.dtype);
}

}  // namespace camshaft::render
