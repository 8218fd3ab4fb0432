// SPDX-License-Identifier: MIT
// Elementwise operators of two and more operands.
#include <limits>

#include "codegen/onnx/format.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

Value read_add(NodeReader& node) {
  return node.input(0) + node.input(1);
}
Value read_sub(NodeReader& node) {
  return node.input(0) - node.input(1);
}
Value read_mul(NodeReader& node) {
  return node.input(0) * node.input(1);
}
Value read_div(NodeReader& node) {
  return node.input(0) / node.input(1);
}

// fmod 0: the result has the sign of the divisor, as in Python. Integers only before opset 28.
Value read_mod(NodeReader& node) {
  const Value a = node.input(0);
  const Value b = node.input(1);
  const Value r = rem(a, b);
  if (node.flag_attr("fmod", false) || base::is_unsigned_int(a.dtype())) return r;
  const Value signs_differ = logical_xor(less(r, 0.0), less(b, 0.0));
  const Value is_zero = equal(r, 0.0);
  const Value moved = select(logical_and(signs_differ, logical_not(is_zero)), r + b, r);
  if (base::is_int(a.dtype())) return moved;
  const Value zero = select(less(b, 0.0), scalar_like(b, -0.0), scalar_like(b, 0.0));
  return select(is_zero, zero, moved);
}

// The result is of the base's dtype, whatever the exponent is.
Value read_pow(NodeReader& node) {
  const Value a = node.input(0);
  const Value b = node.input(1);
  if (a.dtype() == b.dtype()) return pow(a, b);
  if (base::is_int(b.dtype())) return pow(a, cast(b, a.dtype()));
  const bool is_wide =
      a.dtype() == DType::kFloat64 || b.dtype() == DType::kFloat64 || base::is_int(a.dtype());
  const DType wide = is_wide ? DType::kFloat64 : DType::kFloat32;
  return cast(pow(cast(a, wide), cast(b, wide)), a.dtype());
}

// min and max have one overload for a double, so the fold takes a plain function.
Value fold_inputs(NodeReader& node, Value (*combine)(Value, Value)) {
  Value result = node.input(0);
  for (int i = 1; i < node.input_count(); ++i) result = combine(result, node.input(i));
  return result;
}

Value read_min(NodeReader& node) {
  return fold_inputs(node, min);
}
Value read_max(NodeReader& node) {
  return fold_inputs(node, max);
}
Value read_sum(NodeReader& node) {
  return fold_inputs(node, [](Value a, Value b) { return a + b; });
}
Value read_mean(NodeReader& node) {
  return read_sum(node) / node.input_count();
}

Value read_equal(NodeReader& node) {
  return equal(node.input(0), node.input(1));
}
Value read_less(NodeReader& node) {
  return less(node.input(0), node.input(1));
}
Value read_less_or_equal(NodeReader& node) {
  return less_equal(node.input(0), node.input(1));
}
Value read_greater(NodeReader& node) {
  return less(node.input(1), node.input(0));
}
Value read_greater_or_equal(NodeReader& node) {
  return less_equal(node.input(1), node.input(0));
}

// One graph op serves bool and integers; ONNX keeps them apart.
bool takes_bool(NodeReader& node, bool is_bool) {
  if ((node.input(0).dtype() == DType::kBool) == is_bool) return true;
  node.invalid("is not defined on %s", base::dtype_name(node.input(0).dtype()));
  return false;
}

Value read_and(NodeReader& node) {
  return takes_bool(node, true) ? logical_and(node.input(0), node.input(1)) : Value();
}
Value read_or(NodeReader& node) {
  return takes_bool(node, true) ? logical_or(node.input(0), node.input(1)) : Value();
}
Value read_xor(NodeReader& node) {
  return takes_bool(node, true) ? logical_xor(node.input(0), node.input(1)) : Value();
}
Value read_not(NodeReader& node) {
  return takes_bool(node, true) ? logical_not(node.input(0)) : Value();
}
Value read_bitwise_and(NodeReader& node) {
  return takes_bool(node, false) ? logical_and(node.input(0), node.input(1)) : Value();
}
Value read_bitwise_or(NodeReader& node) {
  return takes_bool(node, false) ? logical_or(node.input(0), node.input(1)) : Value();
}
Value read_bitwise_xor(NodeReader& node) {
  return takes_bool(node, false) ? logical_xor(node.input(0), node.input(1)) : Value();
}
Value read_bitwise_not(NodeReader& node) {
  return takes_bool(node, false) ? logical_not(node.input(0)) : Value();
}

// Amounts below 0 and beyond the type's bits shift everything out. As an unsigned number a negative
// amount is such.
Value read_bit_shift(NodeReader& node) {
  const Value x = node.input(0);
  const DType dtype = x.dtype();
  const std::string direction = node.string_attr("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return node.corrupt("direction must be LEFT or RIGHT, not '%s'", printable(direction).c_str());
  }
  if (!base::is_int(dtype)) return node.invalid("is not defined on %s", base::dtype_name(dtype));
  const DType plain = unsigned_of(dtype);
  const Value amount = bitcast(node.input(1), plain);
  if (direction == "LEFT") return bitcast(shift_left(bitcast(x, plain), amount), dtype);
  // Ones come in from the left of a negative number, which are zeros of its complement.
  const auto shifted = [&](Value bits) {
    return bitcast(shift_right(bitcast(bits, plain), amount), dtype);
  };
  if (plain == dtype) return shifted(x);
  return select(less(x, 0.0), logical_not(shifted(logical_not(x))), shifted(x));
}

Value read_where(NodeReader& node) {
  return select(node.input(0), node.input(1), node.input(2));
}

Value clip_bound(NodeReader& node, int i) {
  const Value bound = node.input(i);
  if (bound && bound.elements() != 1) return node.invalid("input %d must be a scalar", i);
  return reshape(bound, {});
}

// NaN stays NaN; where the bounds cross, the upper one wins. A bound that isn't given does not
// bind, so infinities stay too.
Value read_clip(NodeReader& node) {
  Value x = node.input(0);
  Value low = clip_bound(node, 1);
  Value high = clip_bound(node, 2);
  if (node.opset() < 11) {
    if (node.has_attr("min")) low = scalar_like(x, node.float_attr("min", 0));
    if (node.has_attr("max")) high = scalar_like(x, node.float_attr("max", 0));
  }
  if (low) x = max(x, low);
  if (high) x = min(x, high);
  return x;
}

constexpr OpRow kOps[] = {
    {"Add", 7, 2, 2, read_add},
    {"Sub", 7, 2, 2, read_sub},
    {"Mul", 7, 2, 2, read_mul},
    {"Div", 7, 2, 2, read_div},
    {"Mod", 10, 2, 2, read_mod},
    {"Pow", 7, 2, 2, read_pow},
    {"Min", 7, 1, kAnyCount, read_min},
    {"Max", 7, 1, kAnyCount, read_max},
    {"Sum", 7, 1, kAnyCount, read_sum},
    {"Mean", 7, 1, kAnyCount, read_mean},
    {"Equal", 7, 2, 2, read_equal},
    {"Less", 7, 2, 2, read_less},
    {"LessOrEqual", 12, 2, 2, read_less_or_equal},
    {"Greater", 7, 2, 2, read_greater},
    {"GreaterOrEqual", 12, 2, 2, read_greater_or_equal},
    {"And", 7, 2, 2, read_and},
    {"Or", 7, 2, 2, read_or},
    {"Xor", 7, 2, 2, read_xor},
    {"Not", 7, 1, 1, read_not},
    {"BitwiseAnd", 18, 2, 2, read_bitwise_and},
    {"BitwiseOr", 18, 2, 2, read_bitwise_or},
    {"BitwiseXor", 18, 2, 2, read_bitwise_xor},
    {"BitwiseNot", 18, 1, 1, read_bitwise_not},
    {"BitShift", 11, 2, 2, read_bit_shift},
    {"Where", 9, 3, 3, read_where},
    {"Clip", 7, 1, 3, read_clip},
};

}  // namespace

OpFamily arithmetic_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
