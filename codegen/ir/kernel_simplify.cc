// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_simplify.h"

#include <bit>
#include <utility>

#include "codegen/ir/kernel_types.h"

namespace camshaft::ir {
namespace {

bool is_int_value(const Expr* constant, int64_t value) {
  return constant != nullptr && constant->op == KOp::kIntConst && constant->int_value == value;
}

bool is_float_value(const Expr* constant, double value) {
  return constant != nullptr && constant->op == KOp::kFloatConst &&
         std::bit_cast<uint64_t>(constant->float_value) == std::bit_cast<uint64_t>(value);
}

ExprId int_splat(Kernel& kernel, int64_t value, ValueType type) {
  return kernel.broadcast(kernel.int_const(value, type.dtype), type.lanes);
}

// x op x.
ExprId simplify_twins(Kernel& kernel, KOp op, ExprId a) {
  const ValueType type = kernel.expr(a).type;
  const bool is_float = base::is_float(type.dtype);
  switch (op) {
    case KOp::kMin:
    case KOp::kMax:
    case KOp::kAnd:
    case KOp::kOr:
      return a;
    case KOp::kXor:
      return int_splat(kernel, 0, type);
    case KOp::kSub:
      return is_float ? kNoExpr : int_splat(kernel, 0, type);
    case KOp::kLt:
      return int_splat(kernel, 0, {DType::kBool, type.lanes});
    case KOp::kLe:
    case KOp::kEq:
      return is_float ? kNoExpr : int_splat(kernel, 1, {DType::kBool, type.lanes});
    default:
      return kNoExpr;
  }
}

// Only what keeps every bit of every float: x + 0 is not x if x is -0.
ExprId simplify_float(const Kernel& kernel, KOp op, ExprId a, ExprId b) {
  const Expr* left = constant_of(kernel, a);
  const Expr* right = constant_of(kernel, b);
  if ((op == KOp::kMul || op == KOp::kDiv) && is_float_value(right, 1.0)) return a;
  if (op == KOp::kMul && is_float_value(left, 1.0)) return b;
  if (op == KOp::kSub && is_float_value(right, 0.0)) return a;
  if (op == KOp::kAdd && is_float_value(right, -0.0)) return a;
  if (op == KOp::kAdd && is_float_value(left, -0.0)) return b;
  return kNoExpr;
}

bool commutes(KOp op) {
  return op == KOp::kAdd || op == KOp::kMul || op == KOp::kAnd || op == KOp::kOr ||
         op == KOp::kXor || op == KOp::kEq;
}

// An integer or bool constant on the right.
ExprId simplify_int_constant(Kernel& kernel, KOp op, ExprId a, const Expr* right) {
  const ValueType type = kernel.expr(a).type;
  const bool zero = is_int_value(right, 0);
  const bool one = is_int_value(right, 1);
  const bool ones = is_int_value(right, type.dtype == DType::kBool ? 1 : -1);
  switch (op) {
    case KOp::kAdd:
    case KOp::kSub:
    case KOp::kShl:
    case KOp::kShr:
      return zero ? a : kNoExpr;
    case KOp::kXor:
      return zero ? a : kNoExpr;
    case KOp::kMul:
      return one ? a : zero ? int_splat(kernel, 0, type) : kNoExpr;
    case KOp::kDiv:
      return one ? a : kNoExpr;
    case KOp::kRem:
      return one ? int_splat(kernel, 0, type) : kNoExpr;
    case KOp::kAnd:
      return ones ? a : zero ? int_splat(kernel, 0, type) : kNoExpr;
    case KOp::kOr:
      if (zero) return a;
      return type.dtype == DType::kBool && one ? int_splat(kernel, 1, type) : kNoExpr;
    default:
      return kNoExpr;
  }
}

ExprId simplify_int(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  if (commutes(op)) {
    // One order for equal operands: by id, a constant last.
    const bool left_const = constant_of(kernel, a) != nullptr;
    const bool right_const = constant_of(kernel, b) != nullptr;
    if (left_const != right_const ? left_const : a > b) return kernel.binary(op, b, a);
  }
  return simplify_int_constant(kernel, op, a, constant_of(kernel, b));
}

// Whether `id` is base + lane * stride, and what these are.
bool as_ramp(Kernel& kernel, ExprId id, ExprId* base, ExprId* stride) {
  const Expr e = kernel.expr(id);
  if (e.op == KOp::kRamp) {
    *base = e.args[0];
    *stride = e.args[1];
    return true;
  }
  if (e.op != KOp::kBroadcast) return false;
  *base = e.args[0];
  *stride = kernel.int_const(0);
  return true;
}

ExprId simplify_ramps(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  if (op != KOp::kAdd && op != KOp::kSub && op != KOp::kMul) return kNoExpr;
  ExprId base_a, stride_a, base_b, stride_b;
  if (!as_ramp(kernel, a, &base_a, &stride_a) || !as_ramp(kernel, b, &base_b, &stride_b)) {
    return kNoExpr;
  }
  const int32_t lanes = kernel.expr(a).type.lanes;
  if (op != KOp::kMul) {
    return kernel.ramp(kernel.binary(op, base_a, base_b), kernel.binary(op, stride_a, stride_b),
                       lanes);
  }
  if (kernel.expr(a).op == KOp::kBroadcast) {
    std::swap(a, b);
    std::swap(base_a, base_b);
    std::swap(stride_a, stride_b);
  }
  if (kernel.expr(b).op != KOp::kBroadcast) return kNoExpr;  // a ramp times a ramp is none
  return kernel.ramp(kernel.mul(base_a, base_b), kernel.mul(stride_a, base_b), lanes);
}

}  // namespace

ExprId simplify_binary(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  const ValueType type = kernel.expr(a).type;
  if (a == b) {
    const ExprId result = simplify_twins(kernel, op, a);
    if (result != kNoExpr) return result;
  }
  if (base::is_float(type.dtype)) return simplify_float(kernel, op, a, b);
  if (type == ValueType{DType::kInt64, 1}) return simplify_index(kernel, op, a, b);
  if (type.dtype == DType::kInt64) {
    const ExprId result = simplify_ramps(kernel, op, a, b);
    if (result != kNoExpr) return result;
  }
  return simplify_int(kernel, op, a, b);
}

}  // namespace camshaft::ir
