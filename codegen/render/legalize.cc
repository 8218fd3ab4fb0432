// SPDX-License-Identifier: MIT
#include "codegen/render/legalize.h"

#include <algorithm>
#include <vector>

#include "codegen/ir/kernel_rewrite.h"
#include "codegen/render/float_bits.h"
#include "codegen/render/lane_offsets.h"
#include "codegen/render/target_info.h"

namespace camshaft::render {

namespace {

using ir::DType;
using ir::Expr;
using ir::ExprId;
using ir::Kernel;
using ir::KOp;
using ir::Stmt;
using ir::ValueType;

bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// The instruction that narrows f32 to bf16 takes lanes of whole registers.
constexpr int32_t kLeastLanesNarrowed = 4;

class Legalizer : public ir::ExprRewriter {
 public:
  Legalizer(Kernel* kernel, const CpuTarget& target)
      : ir::ExprRewriter(kernel),
        kernel_(*kernel),
        target_(target),
        half_conversion_(has_half_conversion(target)),
        narrows_bf16_(target.narrows_bf16) {}

  void run(std::vector<Stmt>& body) {
    for (Stmt& stmt : body) {
      rewrite_exprs(stmt);
      run(stmt.body);
    }
  }

 protected:
  bool keeps(ExprId) const override { return false; }
  ExprId replace(ExprId id, const ExprId args[3]) override;

 private:
  ExprId legal_cast(ExprId value, DType to);
  ExprId widen_half(ExprId value);
  ExprId narrow_to_half(ExprId value, DType to);
  ExprId saturating_cast(ExprId value, DType to);
  ExprId legal_bool(const Expr& expr);
  ExprId legal_division(const Expr& expr);

  ExprId splat_int(int64_t value, ValueType type) {
    return kernel_.broadcast(kernel_.int_const(value, type.dtype), type.lanes);
  }
  ExprId not_bool(ExprId a) {
    return kernel_.binary(KOp::kXor, a, splat_int(1, kernel_.expr(a).type));
  }

  Kernel& kernel_;
  const CpuTarget& target_;
  bool half_conversion_;
  bool narrows_bf16_;
};

ExprId Legalizer::replace(ExprId id, const ExprId args[3]) {
  Expr expr = kernel_.expr(id);
  std::copy(args, args + 3, expr.args);
  if (ir::kop_arity(expr.op) == 0) return id;
  const DType operand = kernel_.expr(args[0]).type.dtype;
  if (expr.op == KOp::kLoad && kernel_.expr(args[0]).type.lanes > 1) {
    expr.args[0] = with_one_scalar(kernel_, expr.args[0]);
    return kernel_.intern(expr);
  }
  if (expr.op == KOp::kCast) return legal_cast(args[0], expr.type.dtype);
  if (operand == DType::kBool) return legal_bool(expr);
  if (expr.op == KOp::kDot && dot_form(target_, expr.type.lanes) == DotForm::kNone) {
    return expand_dot(kernel_, args[0], args[1], args[2]);
  }
  if (expr.op == KOp::kDiv || expr.op == KOp::kRem) return legal_division(expr);
  return kernel_.intern(expr);
}

// Bool operands: orderings and minima are logic on false < true.
ExprId Legalizer::legal_bool(const Expr& expr) {
  const ExprId a = expr.args[0];
  const ExprId b = expr.args[1];
  switch (expr.op) {
    case KOp::kEq:
      return not_bool(kernel_.binary(KOp::kXor, a, b));
    case KOp::kLt:
      return kernel_.binary(KOp::kAnd, not_bool(a), b);
    case KOp::kLe:
      return kernel_.binary(KOp::kOr, not_bool(a), b);
    default:
      return kernel_.intern(expr);
  }
}

ExprId Legalizer::legal_cast(ExprId value, DType to) {
  if (is_half(kernel_.expr(value).type.dtype)) value = widen_half(value);
  const DType from = kernel_.expr(value).type.dtype;
  if (is_half(to)) return narrow_to_half(value, to);
  if (base::is_float(from) && base::is_int(to)) return saturating_cast(value, to);
  return from == to ? value : kernel_.cast(value, to);
}

ExprId Legalizer::widen_half(ExprId value) {
  if (kernel_.expr(value).type.dtype == DType::kBFloat16) return expand_bf16_to_f32(kernel_, value);
  return half_conversion_ ? kernel_.cast(value, DType::kFloat32)
                          : expand_f16_to_f32(kernel_, value);
}

// By way of f32; what f32 may not hold exactly is first rounded to odd, so that rounding twice is
// rounding once.
ExprId Legalizer::narrow_to_half(ExprId value, DType to) {
  const DType from = kernel_.expr(value).type.dtype;
  if (from != DType::kFloat32) {
    const bool is_exact = base::dtype_size_bytes(from) <= 2;
    value = is_exact ? kernel_.cast(value, DType::kFloat32)
                     : round_to_odd(kernel_, kernel_.cast(value, DType::kFloat64));
  }
  if (to == DType::kBFloat16) {
    const bool narrows = narrows_bf16_ && kernel_.expr(value).type.lanes >= kLeastLanesNarrowed;
    return narrows ? kernel_.cast(value, to) : expand_f32_to_bf16(kernel_, value);
  }
  return half_conversion_ ? kernel_.cast(value, to) : expand_f32_to_f16(kernel_, value);
}

ExprId Legalizer::saturating_cast(ExprId value, DType to) {
  const ValueType from = kernel_.expr(value).type;
  const int bits = static_cast<int>(base::dtype_size_bytes(to)) * 8;
  const bool is_signed = base::is_signed_int(to);
  const int value_bits = is_signed ? bits - 1 : bits;
  const int precision = from.dtype == DType::kFloat32 ? 24 : 53;
  const double limit = static_cast<double>(uint64_t{1} << (value_bits - 1)) * 2;  // 2^value_bits
  // The largest value of `from` below the limit.
  const double unit =
      value_bits > precision ? limit / static_cast<double>(int64_t{1} << precision) : 1.0;
  // NaN compares false, hence becomes the lower bound.
  ExprId in_range = kernel_.binary(KOp::kMax, value, kernel_.splat(is_signed ? -limit : 0.0, from));
  in_range = kernel_.binary(KOp::kMin, in_range, kernel_.splat(limit - unit, from));
  const ValueType type = {to, from.lanes};
  ExprId result = kernel_.cast(in_range, to);
  if (value_bits > precision) {
    const uint64_t max = ~uint64_t{0} >> (64 - value_bits);
    const ExprId is_above = kernel_.binary(KOp::kLe, kernel_.splat(limit, from), value);
    result = kernel_.select(is_above, splat_int(static_cast<int64_t>(max), type), result);
  }
  if (is_signed) {
    result = kernel_.select(kernel_.binary(KOp::kEq, value, value), result, splat_int(0, type));
  }
  return result;
}

// A divisor of 0 gives 0 rather than a trap, and -1 wraps; where bounds exclude them nothing is
// added.
ExprId Legalizer::legal_division(const Expr& expr) {
  const ExprId dividend = expr.args[0];
  const ExprId divisor = expr.args[1];
  const ValueType type = expr.type;
  if (base::is_float(type.dtype)) {
    return expr.op == KOp::kRem ? expand_fmod(kernel_, dividend, divisor) : kernel_.intern(expr);
  }
  int64_t lo = 0;
  int64_t hi = 0;
  kernel_.bounds(divisor, &lo, &hi);
  if (lo > 0 || hi < -1) return kernel_.intern(expr);
  const ExprId zero = splat_int(0, type);
  const ExprId is_zero = kernel_.binary(KOp::kEq, divisor, zero);
  ExprId is_special = is_zero;
  ExprId special = zero;
  if (base::is_signed_int(type.dtype)) {
    const ExprId is_minus_one = kernel_.binary(KOp::kEq, divisor, splat_int(-1, type));
    is_special = kernel_.binary(KOp::kOr, is_zero, is_minus_one);
    if (expr.op == KOp::kDiv) {
      special = kernel_.select(is_minus_one, kernel_.sub(zero, dividend), zero);
    }
  }
  Expr safe = expr;
  safe.args[1] = kernel_.select(is_special, splat_int(1, type), divisor);
  return kernel_.select(is_special, special, kernel_.intern(safe));
}

}  // namespace

bool has_half_conversion(const CpuTarget& target) {
  return !is_x86(target) || has_feature(target, "f16c");
}

ir::Kernel legalize_kernel(ir::Kernel kernel, const CpuTarget& target) {
  Legalizer(&kernel, target).run(kernel.body);
  return kernel;
}

}  // namespace camshaft::render
