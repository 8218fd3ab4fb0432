// SPDX-License-Identifier: MIT
// What the expansions of decompose_math() are written with: kernel expressions of one float type.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_passes.h"

namespace camshaft::ir {

// The layout of a float type, and numbers that follow from it.
struct FloatFormat {
  DType dtype;
  DType bits_dtype;   // the unsigned integer of the same size
  int mantissa_bits;  // stored ones
  int exponent_bias;
  double rounding_magic;  // 1.5 * 2^mantissa_bits: x + magic has round(x) in its low bits
  double integer_from;    // from here on every number is an integer
  double smallest_normal;
  uint64_t sign_bit;
  // log(2) in two parts, the first with so few bits that an exponent times it is exact.
  double log2_high, log2_low;
};
const FloatFormat& format_of(DType dtype);  // f32, f64

// Makes expressions of `type`, f32 or f64 with any lanes. The kernel outlives it.
class MathBuilder {
 public:
  MathBuilder(Kernel* kernel, const MathSupport& support, ValueType type)
      : kernel_(*kernel), support_(support), format_(format_of(type.dtype)), type_(type) {}

  const FloatFormat& format() const { return format_; }
  bool has_fma() const { return support_.fma; }
  bool is_f32() const { return type_.dtype == DType::kFloat32; }
  // The same lanes in another float type.
  MathBuilder in(DType dtype) { return {&kernel_, support_, {dtype, type_.lanes}}; }

  ExprId real(double value) { return kernel_.splat(value, type_); }
  ExprId add(ExprId a, ExprId b) { return kernel_.add(a, b); }
  ExprId sub(ExprId a, ExprId b) { return kernel_.sub(a, b); }
  ExprId mul(ExprId a, ExprId b) { return kernel_.mul(a, b); }
  ExprId div(ExprId a, ExprId b) { return kernel_.binary(KOp::kDiv, a, b); }
  ExprId negated(ExprId a) { return kernel_.unary(KOp::kNeg, a); }
  ExprId abs(ExprId a) { return kernel_.unary(KOp::kAbs, a); }
  // a * b + c, rounded once where the target can.
  ExprId fma(ExprId a, ExprId b, ExprId c);
  // `value` limited to [lo, hi]; NaN stays NaN.
  ExprId clamp(ExprId value, double lo, double hi);
  // coefficients[0] + coefficients[1] * x + ...
  ExprId polynomial(ExprId x, std::span<const double> coefficients);
  // The product as a sum of two: `*low` is the rounding error of the result.
  ExprId exact_mul(ExprId a, ExprId b, ExprId* low);
  // The sum as a sum of two, where |a| >= |b|.
  ExprId exact_add(ExprId a, ExprId b, ExprId* low);

  ExprId less(ExprId a, ExprId b) { return kernel_.binary(KOp::kLt, a, b); }
  ExprId equal(ExprId a, ExprId b) { return kernel_.binary(KOp::kEq, a, b); }
  ExprId both(ExprId a, ExprId b) { return kernel_.binary(KOp::kAnd, a, b); }
  ExprId inverse(ExprId condition) {
    return kernel_.binary(KOp::kXor, condition, kernel_.splat(1, {DType::kBool, type_.lanes}));
  }
  ExprId select(ExprId condition, ExprId then_value, ExprId else_value) {
    return kernel_.select(condition, then_value, else_value);
  }

  // Bits: unsigned integers of the float's size.
  ExprId bits(ExprId value) { return kernel_.bitcast(value, format_.bits_dtype); }
  ExprId from_bits(ExprId value) { return kernel_.bitcast(value, type_.dtype); }
  ExprId integer(uint64_t value);
  ExprId op(KOp op, ExprId a, ExprId b) { return kernel_.binary(op, a, b); }
  ExprId op(KOp op, ExprId a, uint64_t b) { return kernel_.binary(op, a, integer(b)); }
  // 2^n for an integer n (in the low bits of `n`) such that the result is normal.
  ExprId power_of_two(ExprId n);
  // `magnitude`, not negative, with the sign of `sign`.
  ExprId with_sign(ExprId magnitude, ExprId sign);
  ExprId cast(ExprId value, DType to) { return kernel_.cast(value, to); }

  // To an integer, in the float type: native where the target can. round is to nearest, ties to
  // even.
  ExprId round(ExprId x);
  ExprId floor(ExprId x);
  ExprId ceil(ExprId x);

 private:
  Kernel& kernel_;
  const MathSupport& support_;
  const FloatFormat& format_;
  ValueType type_;
};

// x = n * log(2) + r with |r| at most log(2) / 2 and a little, for x of a size that exp can take.
struct ExpReduction {
  ExprId r = kNoExpr;
  ExprId n_bits = kNoExpr;  // n in the low bits
};
ExpReduction reduce_exp(MathBuilder& m, ExprId x);
// expm1(r), for the r of a reduction.
ExprId expm1_of_reduced(MathBuilder& m, ExprId r);
// exp(x) where that is a normal number: what expand_exp() gives, in two thirds of the operations.
ExprId normal_exp(MathBuilder& m, ExprId x);

// exp(x) in f32 for x of at most 0, within 2^-23 (1 + |x|), relatively; 0 where it is below 2^-126;
// NaN stays. In half of the operations of expand_exp(): what sums of such numbers need.
ExprId exp_below_one(MathBuilder& m, ExprId x);

// x = 2^exponent * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for x > 0 and finite.
struct LogReduction {
  ExprId f = kNoExpr;
  ExprId exponent = kNoExpr;  // in the float type
};
LogReduction reduce_log(MathBuilder& m, ExprId x);

// (2 atanh(s) - 2 s) / s^3 in s^2, for s = f / (2 + f) of such an f: what log in f64 is made of.
std::span<const double> atanh_tail_f64();

// The expansions, f32 and f64. What they are accurate to is said at
// decompose_math().
ExprId expand_exp(MathBuilder& m, ExprId x);
ExprId expand_log(MathBuilder& m, ExprId x);
ExprId expand_sin(MathBuilder& m, ExprId x);
ExprId expand_cos(MathBuilder& m, ExprId x);
ExprId expand_atan(MathBuilder& m, ExprId x);
ExprId expand_tanh(MathBuilder& m, ExprId x);
ExprId expand_erf(MathBuilder& m, ExprId x);
ExprId expand_sigmoid(MathBuilder& m, ExprId x);
ExprId expand_pow(MathBuilder& m, ExprId x, ExprId y);

// 1 + erf(x), in f32, to the accuracy of the sum: see decompose_math().
ExprId one_plus_erf(MathBuilder& m, ExprId x);

// Sigmoid, and x * sigmoid(x), in f32, to the accuracy of bf16: see decompose_math().
ExprId narrow_sigmoid(MathBuilder& m, ExprId x);
ExprId narrow_silu(MathBuilder& m, ExprId x);

}  // namespace camshaft::ir
