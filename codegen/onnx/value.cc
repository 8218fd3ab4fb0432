// SPDX-License-Identifier: MIT
#include "codegen/onnx/value.h"

#include <algorithm>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/builder.h"
#include "codegen/onnx/extents.h"

namespace camshaft::onnx {
namespace {

Value unary(ir::Op op, Value x) {
  return x ? x.builder()->add(op, {x}) : Value();
}

Value binary(ir::Op op, Value a, Value b) {
  if (!a || !b) return {};
  const std::optional<Shape> shape = broadcast_shapes(a.shape(), b.shape());
  if (!shape) {
    return a.builder()->fail("shapes " + shape_text(a.shape()) + " and " + shape_text(b.shape()) +
                             " can't be broadcast together");
  }
  return a.builder()->add(op, {broadcast_to(a, *shape), broadcast_to(b, *shape)});
}

std::optional<Shape> ints_of(const ir::Literal* data) {
  if (data == nullptr) return std::nullopt;
  Shape values(static_cast<size_t>(data->type.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    values[i] = base::is_float(data->type.dtype)
                    ? ir::saturate_to_dtype(ir::literal_as_double(*data, at), DType::kInt64)
                    : ir::literal_as_int(*data, at);
  }
  return values;
}

}  // namespace

const TensorType& Value::type() const {
  static const TensorType kNothing;
  return *this ? builder_->type(index_) : kNothing;
}

int64_t Value::dim(int axis) const {
  const int position = axis < 0 ? axis + rank() : axis;
  return position >= 0 && position < rank() ? shape()[static_cast<size_t>(position)] : 1;
}

const ir::Literal* Value::literal() const {
  return *this ? builder_->literal(index_).get() : nullptr;
}

std::optional<Shape> Value::known_ints() const {
  return ints_of(literal());
}

std::optional<Shape> Value::upper_bounds() const {
  if (!*this) return std::nullopt;
  return ints_of(builder_->interval(index_).most.get());
}

std::optional<Shape> Value::lower_bounds() const {
  if (!*this) return std::nullopt;
  return ints_of(builder_->interval(index_).least.get());
}

std::optional<std::vector<double>> Value::known_doubles() const {
  const ir::Literal* data = literal();
  if (data == nullptr) return std::nullopt;
  std::vector<double> values(static_cast<size_t>(elements()));
  for (int64_t i = 0; i < elements(); ++i) {
    values[static_cast<size_t>(i)] = ir::literal_as_double(*data, i);
  }
  return values;
}

Value splat_like(Value x, double value) {
  return x ? with_counts_of(x.builder()->splat(x.type(), value), x) : Value();
}
Value scalar_like(Value x, double value) {
  return x ? x.builder()->scalar(x.dtype(), value) : Value();
}

Value scalar_int_like(Value x, int64_t value) {
  if (!x) return {};
  ir::Literal literal = ir::zero_literal({x.dtype(), {}});
  ir::set_literal_element_int(literal, 0, value);
  return x.builder()->constant(std::move(literal));
}

Value operator+(Value a, Value b) {
  return binary(ir::Op::kAdd, a, b);
}
Value operator-(Value a, Value b) {
  return binary(ir::Op::kSub, a, b);
}
Value operator*(Value a, Value b) {
  return binary(ir::Op::kMul, a, b);
}
Value operator/(Value a, Value b) {
  return binary(ir::Op::kDiv, a, b);
}
Value operator+(Value a, double b) {
  return a + splat_like(a, b);
}
Value operator-(Value a, double b) {
  return a - splat_like(a, b);
}
Value operator*(Value a, double b) {
  return a * splat_like(a, b);
}
Value operator/(Value a, double b) {
  return a / splat_like(a, b);
}
Value operator+(double a, Value b) {
  return splat_like(b, a) + b;
}
Value operator-(double a, Value b) {
  return splat_like(b, a) - b;
}
Value operator*(double a, Value b) {
  return splat_like(b, a) * b;
}
Value operator/(double a, Value b) {
  return splat_like(b, a) / b;
}
Value operator-(Value x) {
  return unary(ir::Op::kNeg, x);
}
Value rem(Value a, Value b) {
  return binary(ir::Op::kRem, a, b);
}
Value pow(Value a, Value b) {
  return binary(ir::Op::kPow, a, b);
}
Value pow(Value a, double b) {
  return pow(a, splat_like(a, b));
}
Value min(Value a, Value b) {
  return binary(ir::Op::kMin, a, b);
}
Value min(Value a, double b) {
  return min(a, splat_like(a, b));
}
Value max(Value a, Value b) {
  return binary(ir::Op::kMax, a, b);
}
Value max(Value a, double b) {
  return max(a, splat_like(a, b));
}
Value equal(Value a, Value b) {
  return binary(ir::Op::kEqual, a, b);
}
Value equal(Value a, double b) {
  return equal(a, splat_like(a, b));
}
Value less(Value a, Value b) {
  return binary(ir::Op::kLess, a, b);
}
Value less(Value a, double b) {
  return less(a, splat_like(a, b));
}
Value less_equal(Value a, Value b) {
  return binary(ir::Op::kLessEqual, a, b);
}
Value logical_and(Value a, Value b) {
  return binary(ir::Op::kAnd, a, b);
}
Value logical_and(Value a, int64_t b) {
  return logical_and(a, scalar_int_like(a, b));
}
Value logical_or(Value a, Value b) {
  return binary(ir::Op::kOr, a, b);
}
Value logical_xor(Value a, Value b) {
  return binary(ir::Op::kXor, a, b);
}
Value logical_not(Value x) {
  return unary(ir::Op::kNot, x);
}
Value abs(Value x) {
  return unary(ir::Op::kAbs, x);
}
Value exp(Value x) {
  return unary(ir::Op::kExp, x);
}
Value log(Value x) {
  return unary(ir::Op::kLog, x);
}
Value sqrt(Value x) {
  return unary(ir::Op::kSqrt, x);
}
Value sin(Value x) {
  return unary(ir::Op::kSin, x);
}
Value cos(Value x) {
  return unary(ir::Op::kCos, x);
}
Value atan(Value x) {
  return unary(ir::Op::kAtan, x);
}
Value tanh(Value x) {
  return unary(ir::Op::kTanh, x);
}
Value sigmoid(Value x) {
  return unary(ir::Op::kSigmoid, x);
}
Value erf(Value x) {
  return unary(ir::Op::kErf, x);
}
Value floor(Value x) {
  return unary(ir::Op::kFloor, x);
}
Value ceil(Value x) {
  return unary(ir::Op::kCeil, x);
}
Value round(Value x) {
  return unary(ir::Op::kRound, x);
}
Value is_nan(Value x) {
  return unary(ir::Op::kIsNan, x);
}

Value cast(Value x, DType to) {
  if (!x || x.dtype() == to) return x;
  return x.builder()->add(ir::Op::kCast, {x}, ir::CastAttrs{to});
}

Value bitcast(Value x, DType to) {
  if (!x || x.dtype() == to) return x;
  return x.builder()->add(ir::Op::kBitcast, {x}, ir::CastAttrs{to});
}

DType unsigned_of(DType dtype) {
  switch (base::dtype_size_bytes(dtype)) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kUInt16;
    case 4:
      return DType::kUInt32;
    default:
      return DType::kUInt64;
  }
}

Value shift_left(Value x, Value amount) {
  return binary(ir::Op::kShiftLeft, x, amount);
}
Value shift_left(Value x, double amount) {
  return shift_left(x, splat_like(x, amount));
}
Value shift_right(Value x, Value amount) {
  return binary(ir::Op::kShiftRight, x, amount);
}
Value shift_right(Value x, double amount) {
  return shift_right(x, splat_like(x, amount));
}

Value select(Value condition, Value then, Value otherwise) {
  if (!condition || !then || !otherwise) return {};
  const std::optional<Shape> branches = broadcast_shapes(then.shape(), otherwise.shape());
  const std::optional<Shape> shape =
      branches ? broadcast_shapes(condition.shape(), *branches) : std::nullopt;
  if (!shape) return condition.builder()->fail("the shapes can't be broadcast together");
  return condition.builder()->add(ir::Op::kSelect,
                                  {broadcast_to(condition, *shape), broadcast_to(then, *shape),
                                   broadcast_to(otherwise, *shape)});
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {  // from the last axis
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[rank - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

}  // namespace camshaft::onnx
