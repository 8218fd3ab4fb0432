// SPDX-License-Identifier: MIT
#include "codegen/onnx/value.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/builder.h"

namespace camshaft::onnx {
namespace {

Value unary(ir::Op op, Value x) { return x ? x.builder()->add(op, {x}) : Value(); }

Value binary(ir::Op op, Value a, Value b) {
  if (!a || !b) return {};
  const std::optional<Shape> shape = broadcast_shapes(a.shape(), b.shape());
  if (!shape) {
    return a.builder()->fail("shapes " + shape_text(a.shape()) + " and " + shape_text(b.shape()) +
                             " can't be broadcast together");
  }
  return a.builder()->add(op, {broadcast_to(a, *shape), broadcast_to(b, *shape)});
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
  const ir::Literal* data = literal();
  if (data == nullptr) return std::nullopt;
  Shape values(static_cast<size_t>(elements()));
  for (int64_t i = 0; i < elements(); ++i) {
    values[static_cast<size_t>(i)] =
        base::is_float(dtype())
            ? ir::saturate_to_dtype(ir::literal_as_double(*data, i), DType::kInt64)
            : ir::literal_as_int(*data, i);
  }
  return values;
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
  return x ? x.builder()->splat(x.type(), value) : Value();
}
Value scalar_like(Value x, double value) {
  return x ? x.builder()->scalar(x.dtype(), value) : Value();
}

Value operator+(Value a, Value b) { return binary(ir::Op::kAdd, a, b); }
Value operator-(Value a, Value b) { return binary(ir::Op::kSub, a, b); }
Value operator*(Value a, Value b) { return binary(ir::Op::kMul, a, b); }
Value operator/(Value a, Value b) { return binary(ir::Op::kDiv, a, b); }
Value operator+(Value a, double b) { return a + splat_like(a, b); }
Value operator-(Value a, double b) { return a - splat_like(a, b); }
Value operator*(Value a, double b) { return a * splat_like(a, b); }
Value operator/(Value a, double b) { return a / splat_like(a, b); }
Value operator+(double a, Value b) { return splat_like(b, a) + b; }
Value operator-(double a, Value b) { return splat_like(b, a) - b; }
Value operator*(double a, Value b) { return splat_like(b, a) * b; }
Value operator/(double a, Value b) { return splat_like(b, a) / b; }
Value operator-(Value x) { return unary(ir::Op::kNeg, x); }
Value rem(Value a, Value b) { return binary(ir::Op::kRem, a, b); }
Value pow(Value a, Value b) { return binary(ir::Op::kPow, a, b); }
Value pow(Value a, double b) { return pow(a, splat_like(a, b)); }
Value min(Value a, Value b) { return binary(ir::Op::kMin, a, b); }
Value min(Value a, double b) { return min(a, splat_like(a, b)); }
Value max(Value a, Value b) { return binary(ir::Op::kMax, a, b); }
Value max(Value a, double b) { return max(a, splat_like(a, b)); }
Value equal(Value a, Value b) { return binary(ir::Op::kEqual, a, b); }
Value equal(Value a, double b) { return equal(a, splat_like(a, b)); }
Value less(Value a, Value b) { return binary(ir::Op::kLess, a, b); }
Value less(Value a, double b) { return less(a, splat_like(a, b)); }
Value less_equal(Value a, Value b) { return binary(ir::Op::kLessEqual, a, b); }
Value logical_and(Value a, Value b) { return binary(ir::Op::kAnd, a, b); }
Value logical_or(Value a, Value b) { return binary(ir::Op::kOr, a, b); }
Value logical_xor(Value a, Value b) { return binary(ir::Op::kXor, a, b); }
Value logical_not(Value x) { return unary(ir::Op::kNot, x); }
Value abs(Value x) { return unary(ir::Op::kAbs, x); }
Value exp(Value x) { return unary(ir::Op::kExp, x); }
Value log(Value x) { return unary(ir::Op::kLog, x); }
Value sqrt(Value x) { return unary(ir::Op::kSqrt, x); }
Value sin(Value x) { return unary(ir::Op::kSin, x); }
Value cos(Value x) { return unary(ir::Op::kCos, x); }
Value tanh(Value x) { return unary(ir::Op::kTanh, x); }
Value sigmoid(Value x) { return unary(ir::Op::kSigmoid, x); }
Value erf(Value x) { return unary(ir::Op::kErf, x); }
Value floor(Value x) { return unary(ir::Op::kFloor, x); }
Value ceil(Value x) { return unary(ir::Op::kCeil, x); }
Value round(Value x) { return unary(ir::Op::kRound, x); }
Value is_nan(Value x) { return unary(ir::Op::kIsNan, x); }

Value cast(Value x, DType to) {
  if (!x || x.dtype() == to) return x;
  return x.builder()->add(ir::Op::kCast, {x}, ir::CastAttrs{to});
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

Value reshape(Value x, Shape shape) {
  if (!x || x.shape() == shape) return x;
  return x.builder()->add(ir::Op::kReshape, {x}, ir::ReshapeAttrs{std::move(shape)});
}

Value transpose(Value x, std::vector<int> perm) {
  if (!x || (static_cast<int>(perm.size()) == x.rank() &&
             std::is_sorted(perm.begin(), perm.end()) && (perm.empty() || perm[0] == 0))) {
    return x;
  }
  return x.builder()->add(ir::Op::kTranspose, {x}, ir::TransposeAttrs{std::move(perm)});
}

Value broadcast_to(Value x, const Shape& shape) {
  if (!x || x.shape() == shape) return x;
  const Shape& own = x.shape();
  if (own.size() < shape.size()) {
    Shape aligned(shape.size() - own.size(), 1);
    aligned.insert(aligned.end(), own.begin(), own.end());
    return broadcast_to(reshape(x, std::move(aligned)), shape);
  }
  return x.builder()->add(ir::Op::kBroadcast, {x}, ir::BroadcastAttrs{shape});
}

Value slice_axis(Value x, int axis, int64_t begin, int64_t extent, int64_t step) {
  if (!x || (begin == 0 && step == 1 && extent == x.dim(axis))) return x;
  ir::SliceAttrs attrs{Shape(x.shape().size(), 0), x.shape(), Shape(x.shape().size(), 1)};
  const auto i = static_cast<size_t>(axis);
  CAMSHAFT_CHECK(i < attrs.begin.size());
  attrs.begin[i] = begin;
  attrs.extent[i] = extent;
  attrs.step[i] = step;
  return x.builder()->add(ir::Op::kSlice, {x}, std::move(attrs));
}

Value flip(Value x, int axis) {
  const int64_t extent = x.dim(axis);
  return extent < 2 ? x : slice_axis(x, axis, extent - 1, extent, -1);
}

Value pad(Value x, ir::PadAttrs attrs) {
  const auto is_zero = [](int64_t amount) { return amount == 0; };
  if (!x || (std::all_of(attrs.before.begin(), attrs.before.end(), is_zero) &&
             std::all_of(attrs.after.begin(), attrs.after.end(), is_zero))) {
    return x;
  }
  return x.builder()->add(ir::Op::kPad, {x}, std::move(attrs));
}

Value concat(const std::vector<Value>& parts, int axis) {
  if (parts.empty() || !parts[0]) return {};
  if (parts.size() == 1) return parts[0];
  return parts[0].builder()->add(ir::Op::kConcat, parts, ir::ConcatAttrs{axis});
}

Value place_axes(Value x, const std::vector<int>& axes, int rank) {
  if (!x) return x;
  CAMSHAFT_CHECK(static_cast<int>(axes.size()) == x.rank());
  Shape shape(static_cast<size_t>(rank), 1);
  for (size_t i = 0; i < axes.size(); ++i) shape[static_cast<size_t>(axes[i])] = x.shape()[i];
  return reshape(x, std::move(shape));
}

Value insert_axis(Value x, int axis) {
  if (!x) return x;
  Shape shape = x.shape();
  CAMSHAFT_CHECK(axis >= 0 && axis <= x.rank());
  shape.insert(shape.begin() + axis, 1);
  return reshape(x, std::move(shape));
}

Value drop_axes(Value x, const std::vector<int>& axes) {
  if (!x) return x;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) shape.push_back(x.dim(i));
  }
  return reshape(x, std::move(shape));
}

Value reduce(ir::ReduceKind kind, Value x, const std::vector<int>& axes) {
  if (!x || axes.empty()) return x;
  return x.builder()->add(ir::Op::kReduce, {x}, ir::ReduceAttrs{kind, axes});
}

Value mean(Value x, const std::vector<int>& axes) {
  if (!x || axes.empty()) return x;
  const bool is_half = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  if (is_half) return cast(mean(cast(x, DType::kFloat32), axes), x.dtype());
  double count = 1;
  for (const int axis : axes) count *= static_cast<double>(x.dim(axis));
  return reduce(ir::ReduceKind::kSum, x, axes) / count;
}

Value arg_reduce(Value x, ir::ArgReduceAttrs attrs) {
  return x ? x.builder()->add(ir::Op::kArgReduce, {x}, attrs) : Value();
}

Value scan(Value x, ir::ScanAttrs attrs) {
  return x ? x.builder()->add(ir::Op::kScan, {x}, attrs) : Value();
}

Value matmul(Value a, Value b) {
  if (!a || !b) return {};
  CAMSHAFT_CHECK(a.rank() >= 2 && b.rank() >= 2);
  Shape batch_a(a.shape().begin(), a.shape().end() - 2);
  Shape batch_b(b.shape().begin(), b.shape().end() - 2);
  const int64_t k = a.dim(-1);
  const int64_t n = b.dim(-1);
  const bool one_matrix = std::all_of(batch_b.begin(), batch_b.end(), [](auto e) { return e == 1; });
  if (one_matrix && b.elements() > 0 && batch_b.size() <= batch_a.size() && !batch_a.empty()) {
    // One matrix for all batches: the batch axes are more rows, and the weights stay as they are.
    const int64_t rows = std::accumulate(batch_a.begin(), batch_a.end(), a.dim(-2),
                                         std::multiplies<int64_t>());
    Shape shape = a.shape();
    shape.back() = n;
    return reshape(a.builder()->add(ir::Op::kMatMul, {reshape(a, {rows, k}),
                                                      reshape(b, {b.dim(-2), n})}),
                   std::move(shape));
  }
  std::optional<Shape> batch = broadcast_shapes(batch_a, batch_b);
  if (!batch) {
    return a.builder()->fail("batches " + shape_text(batch_a) + " and " + shape_text(batch_b) +
                             " can't be broadcast together");
  }
  Shape shape_a = *batch;
  Shape shape_b = std::move(*batch);
  shape_a.insert(shape_a.end(), {a.dim(-2), k});
  shape_b.insert(shape_b.end(), {b.dim(-2), n});
  return a.builder()->add(ir::Op::kMatMul, {broadcast_to(a, shape_a), broadcast_to(b, shape_b)});
}

Value conv(Value x, Value w, ir::ConvAttrs attrs) {
  return x && w ? x.builder()->add(ir::Op::kConv, {x, w}, std::move(attrs)) : Value();
}

Value pool(Value x, ir::PoolAttrs attrs) {
  return x ? x.builder()->add(ir::Op::kPool, {x}, std::move(attrs)) : Value();
}

Value gather(Value data, Value indices, int axis) {
  if (!data || !indices) return {};
  return data.builder()->add(ir::Op::kGather, {data, indices}, ir::GatherAttrs{axis});
}

}  // namespace camshaft::onnx
