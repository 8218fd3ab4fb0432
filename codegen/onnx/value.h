// SPDX-License-Identifier: MIT
// What operator functions compute with: values of the graph being built, and arithmetic on them.
//
//   Value softsign(Value x) { return x / (1.0 + abs(x)); }
//
// Operands broadcast as in NumPy; a double takes the dtype of the other operand. Nothing here
// fails at once: an operation that can't be (wrong dtypes, shapes that don't broadcast, a result
// too large) tells the Builder why and gives an absent Value, and an operation on an absent Value
// gives an absent Value. So a formula is written in one piece and the node's reader asks once, at
// the end. Operations on small constants are computed at once: shapes that a model computes with
// are constants here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/element_type.h"

namespace camshaft::onnx {

using ir::Shape;
using ir::TensorType;

class Builder;

// One value of the graph, or none. A handle: cheap to copy; borrows its Builder.
class Value {
 public:
  Value() = default;  // absent
  Value(Builder* builder, int index, Narrow narrow = Narrow::kNone)
      : builder_(builder), index_(index), narrow_(narrow) {}

  explicit operator bool() const { return builder_ != nullptr; }
  Builder* builder() const { return builder_; }
  int index() const { return index_; }

  // f32[] if absent.
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  // Which narrow type its elements, of the dtype that carries it, are of. Such a value can only be
  // moved about and converted (narrow_cast.h): any other operation on it tells failure.
  Narrow narrow() const { return narrow_; }
  ElementType element_type() const { return {dtype(), narrow_}; }
  Value carrier() const { return Value(builder_, index_); }
  Value as_narrow(Narrow narrow) const { return Value(builder_, index_, narrow); }
  int rank() const { return type().rank(); }
  int64_t elements() const { return type().elements(); }
  // Extent of an axis that may count from the end; 1 if there is no such axis.
  int64_t dim(int axis) const;

  // The data if it is known now; owned by the Builder, valid as long as it.
  const ir::Literal* literal() const;
  // The data of a known value as integers (a float is cast) or doubles; nothing if not known.
  std::optional<Shape> known_ints() const;
  std::optional<std::vector<double>> known_doubles() const;
  // What no element is above, or below: the data if it is known, else bounds where there are any.
  std::optional<Shape> upper_bounds() const;
  std::optional<Shape> lower_bounds() const;

 private:
  Builder* builder_ = nullptr;
  int index_ = -1;
  Narrow narrow_ = Narrow::kNone;
};

// Elementwise. min and max give NaN if either operand is NaN; rem is C's fmod and %.
Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator*(Value a, double b);
Value operator/(Value a, double b);
Value operator+(double a, Value b);
Value operator-(double a, Value b);
Value operator*(double a, Value b);
Value operator/(double a, Value b);
Value operator-(Value x);
Value rem(Value a, Value b);
Value pow(Value a, Value b);
Value pow(Value a, double b);
Value min(Value a, Value b);
Value min(Value a, double b);
Value max(Value a, Value b);
Value max(Value a, double b);
Value equal(Value a, Value b);
Value equal(Value a, double b);
Value less(Value a, Value b);
Value less(Value a, double b);
Value less_equal(Value a, Value b);
Value logical_and(Value a, Value b);  // bitwise on integers, as are the next three
Value logical_or(Value a, Value b);
Value logical_xor(Value a, Value b);
Value logical_not(Value x);
Value logical_and(Value a, int64_t b);
Value select(Value condition, Value then, Value otherwise);
Value abs(Value x);
Value exp(Value x);
Value log(Value x);
Value sqrt(Value x);
Value sin(Value x);
Value cos(Value x);
Value atan(Value x);
Value tanh(Value x);
Value sigmoid(Value x);
Value erf(Value x);
Value floor(Value x);
Value ceil(Value x);
Value round(Value x);
Value is_nan(Value x);
Value cast(Value x, DType to);
Value bitcast(Value x, DType to);  // of the same size
// The unsigned integer of a dtype's size.
DType unsigned_of(DType dtype);
Value shift_left(Value x, Value amount);  // unsigned
Value shift_left(Value x, double amount);
Value shift_right(Value x, Value amount);
Value shift_right(Value x, double amount);

// A value of x's dtype with x's shape and every element `value`; a scalar of x's dtype.
Value splat_like(Value x, double value);
Value scalar_like(Value x, double value);
Value scalar_int_like(Value x, int64_t value);  // its low bits; x is of an integer dtype

// The shape that both operands of an elementwise operation stretch to, or nothing.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);
// "2x3", "scalar" for rank 0.
std::string shape_text(const Shape& shape);

// Movement. Attributes that change nothing give x itself.
Value reshape(Value x, Shape shape);
Value transpose(Value x, std::vector<int> perm);
Value broadcast_to(Value x, const Shape& shape);  // right-aligned; adds leading axes
Value slice_axis(Value x, int axis, int64_t begin, int64_t extent, int64_t step = 1);
Value flip(Value x, int axis);
Value pad(Value x, ir::PadAttrs attrs);
Value concat(const std::vector<Value>& parts, int axis);
// x with extents of 1 inserted so that its axes become `axes` (ascending) of `rank` axes.
Value place_axes(Value x, const std::vector<int>& axes, int rank);
Value insert_axis(Value x, int axis);
Value drop_axes(Value x, const std::vector<int>& axes);  // extents of 1

// Structured. Axes are ascending; reductions keep them with extent 1.
Value reduce(ir::ReduceKind kind, Value x, const std::vector<int>& axes);
Value mean(Value x, const std::vector<int>& axes);
Value arg_reduce(Value x, ir::ArgReduceAttrs attrs);
Value scan(Value x, ir::ScanAttrs attrs);
// Operands of rank 2 or more; batch axes broadcast.
Value matmul(Value a, Value b);
Value conv(Value x, Value w, ir::ConvAttrs attrs);
Value pool(Value x, ir::PoolAttrs attrs);
Value gather(Value data, Value indices, int axis);
Value scatter(Value data, Value rows, Value updates, ir::ScatterKind kind);
Value top_k(Value x, ir::TopKAttrs attrs);
Value suppress(Value boxes, Value candidates, Value threshold, int64_t max_kept);

}  // namespace camshaft::onnx
