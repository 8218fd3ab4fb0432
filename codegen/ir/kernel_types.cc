// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_types.h"

#include "codegen/ir/literal.h"

namespace camshaft::ir {
namespace {

constexpr ValueType kIndexType{DType::kInt64, 1};

const char* const_error(const Expr& node) {
  if (node.type.lanes != 1) return "a constant is a scalar";
  if (node.op == KOp::kFloatConst) {
    return is_computed_float(node.type.dtype) ? nullptr : "a float constant is f32 or f64";
  }
  if (base::is_float(node.type.dtype)) return "an integer constant has an integer type or bool";
  return wrap_to_dtype(node.int_value, node.type.dtype) == node.int_value
             ? nullptr
             : "the constant does not fit its type";
}

const char* var_error(const Kernel& kernel, const Expr& node) {
  const int64_t count = static_cast<int64_t>(kernel.vars().size());
  if (node.int_value < 0 || node.int_value >= count) return "no such variable";
  return kernel.var_info(static_cast<VarId>(node.int_value)).type == node.type
             ? nullptr
             : "not the variable's type";
}

const char* load_error(const Kernel& kernel, const Expr& node) {
  const ValueType index = kernel.expr(node.args[0]).type;
  if (node.array < 0 || node.array >= static_cast<ArrayId>(kernel.arrays().size())) {
    return "no such array";
  }
  if (kernel.array(node.array).dtype != node.type.dtype) return "a load has its array's dtype";
  if (index.dtype != DType::kInt64) return "an index is i64";
  return index.lanes == 1 || index.lanes == node.type.lanes
             ? nullptr
             : "a vector index gives as many lanes as it has";
}

const char* texel_error(const Kernel& kernel, const Expr& node) {
  if (node.array < 0 || node.array >= static_cast<ArrayId>(kernel.arrays().size())) {
    return "no such array";
  }
  const Array& array = kernel.array(node.array);
  if (!array.is_image()) return "a texel is of an image";
  const DType dtype = array.dtype == DType::kFloat16 ? DType::kFloat32 : array.dtype;
  if (node.type.dtype != dtype) return "a texel has its image's dtype, or f32 for f16";
  for (int i = 0; i < 3; ++i) {
    const ValueType arg = kernel.expr(node.args[i]).type;
    if (arg.dtype != DType::kInt64) return "a texel's place is i64";
    if (arg.lanes != node.type.lanes && (arg.lanes != 1 || i == 2)) {
      return "a texel's place has the lanes of its result, or one column and row";
    }
  }
  return nullptr;
}

const char* lanes_error(const Kernel& kernel, const Expr& node) {
  const ValueType a = kernel.expr(node.args[0]).type;
  switch (node.op) {
    case KOp::kBroadcast:
      if (a.lanes != 1 || node.type.lanes == 1) return "broadcast makes lanes of a scalar";
      return a.dtype == node.type.dtype ? nullptr : "broadcast keeps the dtype";
    case KOp::kRamp:
      if (node.type.lanes == 1) return "a ramp has lanes";
      return a == kIndexType && kernel.expr(node.args[1]).type == kIndexType &&
                     node.type.dtype == DType::kInt64
                 ? nullptr
                 : "a ramp is made of scalar i64";
    default:
      if (a.lanes == 1 || node.type.lanes != 1) return "a reduction makes a scalar of lanes";
      if (a.dtype != node.type.dtype) return "a reduction keeps the dtype";
      return has_arithmetic(a.dtype) ? nullptr : "no arithmetic in this dtype";
  }
}

// Whether a two-operand op exists in `dtype`.
bool op_takes(KOp op, DType dtype) {
  switch (op) {
    case KOp::kAnd:
    case KOp::kOr:
    case KOp::kXor:
      return !base::is_float(dtype);
    case KOp::kShl:
    case KOp::kShr:
      return base::is_int(dtype);
    case KOp::kEq:
      return has_arithmetic(dtype) || dtype == DType::kBool;
    case KOp::kFma:
      return is_computed_float(dtype);
    case KOp::kDot:
      return dtype == DType::kInt32;
    default:
      return has_arithmetic(dtype);
  }
}

const char* arithmetic_error(const Kernel& kernel, const Expr& node) {
  const ValueType a = kernel.expr(node.args[0]).type;
  for (int i = 1; i < kop_arity(node.op); ++i) {
    if (kernel.expr(node.args[i]).type != a) return "operands of different types";
  }
  if (!op_takes(node.op, a.dtype)) return "the op does not exist in this dtype";
  const bool compares = node.op == KOp::kEq || node.op == KOp::kLt || node.op == KOp::kLe;
  const ValueType result{compares ? DType::kBool : a.dtype, a.lanes};
  return node.type == result ? nullptr : "not the op's result type";
}

const char* select_error(const Kernel& kernel, const Expr& node) {
  const ValueType condition = kernel.expr(node.args[0]).type;
  const ValueType value = kernel.expr(node.args[1]).type;
  if (condition.dtype != DType::kBool) return "a condition is bool";
  if (condition.lanes != value.lanes) return "a condition has as many lanes as the values";
  if (kernel.expr(node.args[2]).type != value) return "operands of different types";
  if (value.dtype == DType::kFloat16 || value.dtype == DType::kBFloat16) {
    return "the op does not exist in this dtype";
  }
  return node.type == value ? nullptr : "not the op's result type";
}

const char* conversion_error(const Kernel& kernel, const Expr& node) {
  const ValueType a = kernel.expr(node.args[0]).type;
  if (a.lanes != node.type.lanes) return "a conversion keeps the lanes";
  if (node.op == KOp::kCast) return nullptr;
  if (a.dtype == DType::kBool || node.type.dtype == DType::kBool) return "bool has no fixed bits";
  return base::dtype_size_bytes(a.dtype) == base::dtype_size_bytes(node.type.dtype)
             ? nullptr
             : "bitcast keeps the size";
}

}  // namespace

const char* expr_type_error(const Kernel& kernel, const Expr& node) {
  if (!is_valid_lanes(node.type.lanes)) return "lanes are a power of two up to 64";
  switch (node.op) {
    case KOp::kIntConst:
    case KOp::kFloatConst:
      return const_error(node);
    case KOp::kVar:
      return var_error(kernel, node);
    case KOp::kLoad:
      return load_error(kernel, node);
    case KOp::kTexel:
      return texel_error(kernel, node);
    case KOp::kBroadcast:
    case KOp::kRamp:
    case KOp::kReduceAdd:
    case KOp::kReduceMax:
    case KOp::kReduceMin:
      return lanes_error(kernel, node);
    case KOp::kSelect:
      return select_error(kernel, node);
    case KOp::kCast:
    case KOp::kBitcast:
      return conversion_error(kernel, node);
    default:
      break;
  }
  if (node.op < KOp::kAbs) return arithmetic_error(kernel, node);
  const ValueType a = kernel.expr(node.args[0]).type;
  if (!is_computed_float(a.dtype)) return "the op does not exist in this dtype";
  return node.type == a ? nullptr : "not the op's result type";
}

}  // namespace camshaft::ir
