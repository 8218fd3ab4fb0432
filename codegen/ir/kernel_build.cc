// SPDX-License-Identifier: MIT
// The builder methods of Kernel: type checks, folding, then interning.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_scalar.h"
#include "codegen/ir/kernel_simplify.h"
#include "codegen/ir/kernel_types.h"
#include "codegen/ir/literal.h"
#include "runtime/base/check.h"

namespace camshaft::ir {
namespace {

Expr node_of(KOp op, ValueType type, ExprId a = kNoExpr, ExprId b = kNoExpr, ExprId c = kNoExpr) {
  Expr node;
  node.op = op;
  node.type = type;
  node.args[0] = a;
  node.args[1] = b;
  node.args[2] = c;
  return node;
}

bool is_const(const Expr& e) {
  return e.op == KOp::kIntConst || e.op == KOp::kFloatConst;
}

LaneBits bits_of(const Expr& e) {
  return e.op == KOp::kIntConst ? static_cast<LaneBits>(e.int_value)
                                : float_bits(e.float_value, e.type.dtype);
}

ExprId const_from_bits(Kernel& kernel, LaneBits bits, DType dtype) {
  if (base::is_float(dtype)) return kernel.float_const(float_value(bits, dtype), dtype);
  return kernel.int_const(static_cast<int64_t>(bits), dtype);
}

// exp ... pow stay: their decomposition is the one definition of their bits.
bool folds(KOp op) {
  return op < KOp::kExp;
}

bool compares(KOp op) {
  return op == KOp::kEq || op == KOp::kLt || op == KOp::kLe;
}

// The operand below a broadcast, or kNoExpr.
ExprId under_broadcast(const Kernel& kernel, ExprId id) {
  const Expr& e = kernel.expr(id);
  return e.op == KOp::kBroadcast ? e.args[0] : kNoExpr;
}

}  // namespace

const Expr* constant_of(const Kernel& kernel, ExprId id) {
  const Expr* e = &kernel.expr(id);
  if (e->op == KOp::kBroadcast) e = &kernel.expr(e->args[0]);
  return is_const(*e) ? e : nullptr;
}

ExprId Kernel::checked(const Expr& node) {
  const char* error = expr_type_error(*this, node);
  if (error != nullptr) [[unlikely]] {
    base::check_failed(__FILE__, __LINE__, error);
  }
  return intern(node);
}

ExprId Kernel::int_const(int64_t value, DType dtype) {
  Expr node = node_of(KOp::kIntConst, {dtype, 1});
  node.int_value = value;
  return checked(node);
}

ExprId Kernel::float_const(double value, DType dtype) {
  Expr node = node_of(KOp::kFloatConst, {dtype, 1});
  CAMSHAFT_CHECK(is_computed_float(dtype));
  const double rounded = round_to_dtype(value, dtype);
  node.float_value = std::isnan(rounded) ? std::numeric_limits<double>::quiet_NaN() : rounded;
  return checked(node);
}

ExprId Kernel::splat(double value, ValueType type) {
  const ExprId scalar = base::is_float(type.dtype)
                            ? float_const(value, type.dtype)
                            : int_const(saturate_to_dtype(value, type.dtype), type.dtype);
  return broadcast(scalar, type.lanes);
}

ExprId Kernel::var(VarId id) {
  Expr node = node_of(KOp::kVar, var_info(id).type);
  node.int_value = id;
  return checked(node);
}

ExprId Kernel::load(ArrayId array_id, ExprId index, int32_t lanes) {
  const Expr at = expr(index);
  Expr node = node_of(KOp::kLoad, {array(array_id).dtype, lanes}, index);
  node.array = array_id;
  if (at.type.lanes == 1) return checked(node);
  CAMSHAFT_CHECK(lanes == 1 || lanes == at.type.lanes);
  node.type.lanes = at.type.lanes;
  if (at.op == KOp::kBroadcast) {
    return broadcast(load(array_id, at.args[0]), at.type.lanes);
  }
  int64_t stride = 0;
  if (at.op == KOp::kRamp && is_int_const(at.args[1], &stride) && stride == 1) {
    node.args[0] = at.args[0];
  }
  return checked(node);
}

ExprId Kernel::texel(ArrayId array_id, ExprId x, ExprId y, ExprId element) {
  ExprId args[3] = {x, y, element};
  int32_t lanes = 1;
  for (ExprId& arg : args) {
    if (const ExprId scalar = under_broadcast(*this, arg); scalar != kNoExpr) {
      lanes = std::max(lanes, expr(arg).type.lanes);
      arg = scalar;
    }
  }
  int32_t needed = 1;
  for (const ExprId arg : args) needed = std::max(needed, expr(arg).type.lanes);
  if (needed == 1 && lanes > 1) return broadcast(texel(array_id, args[0], args[1], args[2]), lanes);
  if (expr(args[2]).type.lanes < needed) args[2] = broadcast(args[2], needed);
  const DType dtype = array(array_id).dtype;
  Expr node = node_of(KOp::kTexel, {dtype == DType::kFloat16 ? DType::kFloat32 : dtype, needed},
                      args[0], args[1], args[2]);
  node.array = array_id;
  return checked(node);
}

ExprId Kernel::broadcast(ExprId scalar, int32_t lanes) {
  if (lanes == 1) {
    CAMSHAFT_CHECK(expr(scalar).type.lanes == 1);
    return scalar;
  }
  return checked(node_of(KOp::kBroadcast, {expr(scalar).type.dtype, lanes}, scalar));
}

ExprId Kernel::ramp(ExprId base, ExprId stride, int32_t lanes) {
  int64_t step = 0;
  if (lanes == 1) return base;
  if (is_int_const(stride, &step) && step == 0) return broadcast(base, lanes);
  return checked(node_of(KOp::kRamp, {expr(base).type.dtype, lanes}, base, stride));
}

ExprId Kernel::unary(KOp op, ExprId a) {
  const Expr operand = expr(a);
  CAMSHAFT_CHECK(kop_arity(op) == 1 &&
                 (op >= KOp::kAbs || (op >= KOp::kReduceAdd && op <= KOp::kReduceMin)));
  if (op <= KOp::kReduceMin) {
    return operand.type.lanes == 1 ? a : checked(node_of(op, {operand.type.dtype, 1}, a));
  }
  if (base::is_int(operand.type.dtype) && (op == KOp::kNeg || op == KOp::kAbs)) {
    const ExprId negated = sub(broadcast(int_const(0, operand.type.dtype), operand.type.lanes), a);
    if (op == KOp::kNeg || base::is_unsigned_int(operand.type.dtype)) {
      return op == KOp::kNeg ? negated : a;
    }
    return binary(KOp::kMax, a, negated);
  }
  if (operand.op == KOp::kBroadcast) {
    return broadcast(unary(op, operand.args[0]), operand.type.lanes);
  }
  if (is_const(operand) && folds(op)) {
    const DType dtype = operand.type.dtype;
    return const_from_bits(*this, evaluate_op(op, dtype, bits_of(operand), 0, 0), dtype);
  }
  if (op == KOp::kNeg && operand.op == KOp::kNeg) return operand.args[0];
  if (op == KOp::kAbs && operand.op == KOp::kNeg) return unary(KOp::kAbs, operand.args[0]);
  if (op == KOp::kAbs && operand.op == KOp::kAbs) return a;
  return checked(node_of(op, operand.type, a));
}

ExprId Kernel::binary(KOp op, ExprId a, ExprId b) {
  const ValueType type = expr(a).type;
  const Expr node = node_of(op, {compares(op) ? DType::kBool : type.dtype, type.lanes}, a, b);
  CAMSHAFT_CHECK(kop_arity(op) == 2 && op != KOp::kRamp);
  const char* error = expr_type_error(*this, node);
  if (error != nullptr) [[unlikely]] {
    base::check_failed(__FILE__, __LINE__, error);
  }
  const Expr left = expr(a);
  const Expr right = expr(b);
  if (is_const(right) && base::is_int(type.dtype) && (op == KOp::kDiv || op == KOp::kRem)) {
    CAMSHAFT_CHECK(right.int_value != 0);
  }
  if (is_const(left) && is_const(right) && folds(op)) {
    return const_from_bits(*this, evaluate_op(op, type.dtype, bits_of(left), bits_of(right), 0),
                           node.type.dtype);
  }
  const ExprId scalar_a = under_broadcast(*this, a);
  const ExprId scalar_b = under_broadcast(*this, b);
  if (scalar_a != kNoExpr && scalar_b != kNoExpr) {
    return broadcast(binary(op, scalar_a, scalar_b), type.lanes);
  }
  const ExprId simple = simplify_binary(*this, op, a, b);
  return simple != kNoExpr ? simple : intern(node);
}

ExprId Kernel::fma(ExprId a, ExprId b, ExprId c) {
  const ValueType type = expr(a).type;
  const Expr* one = constant_of(*this, b);
  if (one == nullptr || one->float_value != 1.0) one = constant_of(*this, a);
  if (one != nullptr && one->float_value == 1.0) {
    return add(constant_of(*this, a) == one ? b : a, c);  // x * 1 is exact
  }
  const Expr e[3] = {expr(a), expr(b), expr(c)};
  if (is_const(e[0]) && is_const(e[1]) && is_const(e[2])) {
    return const_from_bits(
        *this, evaluate_op(KOp::kFma, type.dtype, bits_of(e[0]), bits_of(e[1]), bits_of(e[2])),
        type.dtype);
  }
  if (e[0].op == KOp::kBroadcast && e[1].op == KOp::kBroadcast && e[2].op == KOp::kBroadcast) {
    return broadcast(fma(e[0].args[0], e[1].args[0], e[2].args[0]), type.lanes);
  }
  return checked(node_of(KOp::kFma, type, a, b, c));
}

ExprId Kernel::dot(ExprId sum, ExprId a, ExprId b) {
  return checked(node_of(KOp::kDot, expr(sum).type, sum, a, b));
}

ExprId Kernel::select(ExprId condition, ExprId then_value, ExprId else_value) {
  const Expr node = node_of(KOp::kSelect, expr(then_value).type, condition, then_value, else_value);
  const ExprId result = checked(node);
  if (then_value == else_value) return then_value;
  const Expr* known = constant_of(*this, condition);
  if (known != nullptr) return known->int_value != 0 ? then_value : else_value;
  const ExprId s[3] = {under_broadcast(*this, condition), under_broadcast(*this, then_value),
                       under_broadcast(*this, else_value)};
  if (s[0] != kNoExpr && s[1] != kNoExpr && s[2] != kNoExpr) {
    return broadcast(select(s[0], s[1], s[2]), node.type.lanes);
  }
  return result;
}

ExprId Kernel::cast(ExprId a, DType to) {
  const Expr operand = expr(a);
  if (operand.type.dtype == to) return a;
  if (operand.op == KOp::kBroadcast) {
    return broadcast(cast(operand.args[0], to), operand.type.lanes);
  }
  if (is_const(operand) && to != DType::kFloat16 && to != DType::kBFloat16) {
    return const_from_bits(*this, evaluate_cast(bits_of(operand), operand.type.dtype, to), to);
  }
  return checked(node_of(KOp::kCast, {to, operand.type.lanes}, a));
}

ExprId Kernel::bitcast(ExprId a, DType to) {
  const Expr operand = expr(a);
  if (operand.type.dtype == to) return a;
  if (operand.op == KOp::kBroadcast) {
    return broadcast(bitcast(operand.args[0], to), operand.type.lanes);
  }
  if (operand.op == KOp::kBitcast) return bitcast(operand.args[0], to);
  const Expr node = node_of(KOp::kBitcast, {to, operand.type.lanes}, a);
  const ExprId result = checked(node);
  const bool nan = operand.op == KOp::kFloatConst && std::isnan(operand.float_value);
  if (is_const(operand) && to != DType::kFloat16 && to != DType::kBFloat16 && !nan) {
    const LaneBits bits = evaluate_bitcast(bits_of(operand), operand.type.dtype, to);
    // A constant holds no NaN's payload.
    if (!base::is_float(to) || !std::isnan(float_value(bits, to))) {
      return const_from_bits(*this, bits, to);
    }
  }
  return result;
}

}  // namespace camshaft::ir
