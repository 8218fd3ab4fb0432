// SPDX-License-Identifier: MIT
// Movement whose places depend on data, as gathers and scatters.
#include <algorithm>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/extents.h"

namespace camshaft::onnx {
namespace {

// Row-major strides of extents that may depend on data: one i64[] an axis, the last one 1.
std::vector<Value> strides_of(Builder& builder, const std::vector<Value>& extents) {
  std::vector<Value> strides(extents.size());
  Value stride = builder.scalar(DType::kInt64, 1);
  for (size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride = stride * extents[axis];
  }
  return strides;
}

// The position in x's memory of each element of the result: through its row-major number among
// those that count.
Value places_in(Value x, const std::vector<Value>& extents, const Shape& bounds) {
  Builder& builder = *x.builder();
  const int rank = static_cast<int>(bounds.size());
  const std::vector<Value> strides = strides_of(builder, extents);
  Value number = builder.scalar(DType::kInt64, 0, rank);
  for (int axis = 0; axis < rank; ++axis) {
    const auto i = static_cast<size_t>(axis);
    number = number + place_axes(builder.iota(bounds[i]), {axis}, rank) * strides[i];
  }
  std::vector<Value> own;
  std::vector<Value> padded;
  for (int axis = 0; axis < x.rank(); ++axis) {
    own.push_back(max(extent_of(x, axis), 1.0));
    padded.push_back(builder.scalar(DType::kInt64, static_cast<double>(x.dim(axis))));
  }
  const std::vector<Value> own_strides = strides_of(builder, own);
  const std::vector<Value> padded_strides = strides_of(builder, padded);
  Value place = builder.scalar(DType::kInt64, 0, rank);
  for (size_t i = 0; i < own.size(); ++i) {
    place = place + rem(number / own_strides[i], own[i]) * padded_strides[i];
  }
  // Beyond the counts the numbers go on; the places may not.
  return min(place, static_cast<double>(std::max<int64_t>(x.elements() - 1, 0)));
}

}  // namespace

Value with_target_counts(Value x, Value target) {
  for (int axis = 0; axis < x.rank() && x; ++axis) {
    const Value entry = reshape(slice_axis(target, 0, axis, 1), {});
    if (entry && entry.literal() == nullptr) x = with_count(x, axis, entry);
  }
  return x;
}

Value reshape_to(Value x, Value target, const Shape& bounds) {
  if (!x || !target) return {};
  int64_t elements = 1;
  for (const int64_t extent : bounds) elements *= extent;
  Builder& builder = *x.builder();
  if (!has_counts(x) && elements == x.elements()) return reshape(x, bounds);
  std::vector<Value> extents;
  for (int axis = 0; axis < static_cast<int>(bounds.size()); ++axis) {
    extents.push_back(reshape(slice_axis(target, 0, axis, 1), {}));
  }
  const Value flat = reshape(without_counts(x), {x.elements()});
  const Value places = places_in(x, extents, bounds);
  if (x.elements() == 0) return with_target_counts(builder.splat({x.dtype(), bounds}, 0), target);
  return with_target_counts(gather(flat, broadcast_to(places, bounds), 0), target);
}

Value slice_counted(Value x, int axis, Value begin, int64_t step, Value count, int64_t extent) {
  if (!x || !begin || !count) return {};
  Builder& builder = *x.builder();
  Value places = begin + builder.iota(extent) * static_cast<double>(step);
  places = max(min(places, static_cast<double>(x.dim(axis) - 1)), 0.0);
  std::map<int, Value> others = builder.counts(x.index());
  others.erase(axis);
  const Value plain = builder.with_counts(x, std::move(others));
  return with_count(gather(plain, places, axis), axis, count);
}

Value concat_counted(const std::vector<Value>& pieces, int axis) {
  int64_t extent = 0;
  for (const Value& piece : pieces) {
    if (!piece) return {};
    extent += piece.dim(axis);
  }
  Builder& builder = *pieces[0].builder();
  std::vector<int> to_front = {axis};
  for (int i = 0; i < pieces[0].rank(); ++i) {
    if (i != axis) to_front.push_back(i);
  }
  Value begin = builder.scalar(DType::kInt64, 0);
  Value result;
  for (const Value& piece : pieces) {
    const Value rows = transpose(piece, to_front);
    if (!rows) return {};
    if (!result) {
      Shape shape = rows.shape();
      shape[0] = extent;
      result = builder.splat({rows.dtype(), std::move(shape)}, 0);
    }
    result = scatter(result, begin + builder.iota(rows.dim(0)), rows, ir::ScatterKind::kReplace);
    begin = begin + extent_of(piece, axis);
  }
  std::vector<int> back(to_front.size());
  for (size_t i = 0; i < to_front.size(); ++i) {
    back[static_cast<size_t>(to_front[i])] = static_cast<int>(i);
  }
  result = transpose(result, back);
  for (int other = 0; other < result.rank(); ++other) {
    if (other != axis && has_count(pieces[0], other)) {
      result = with_count(result, other, extent_of(pieces[0], other));
    }
  }
  return with_count(result, axis, begin);
}

}  // namespace camshaft::onnx
