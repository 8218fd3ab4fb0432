// SPDX-License-Identifier: MIT
#include "codegen/onnx/flat_index.h"

#include "codegen/onnx/builder.h"

namespace camshaft::onnx {
namespace {

// As wrapped(). `below` is so far below 0 that no other axis makes up for it.
Value place(Value indices, int64_t extent, Outside outside, int64_t below) {
  const Value index = wrapped(indices, extent);
  if (outside == Outside::kUnspecified) return index;
  const Value inside = logical_and(less_equal(scalar_like(index, 0), index),
                                   less(index, static_cast<double>(extent)));
  return select(inside, index, scalar_like(index, static_cast<double>(below)));
}

Value add_to(Value number, Value index, int64_t stride) {
  const Value part = index * static_cast<double>(stride);
  return number ? number + part : part;
}

}  // namespace

Value positions(Builder* builder, int64_t extent, int axis, int rank) {
  return place_axes(builder->iota(extent), {axis}, rank);
}

Value wrapped(Value indices, int64_t extent) {
  const Value wide = cast(indices, DType::kInt64);
  return select(less(wide, 0.0), wide + static_cast<double>(extent), wide);
}

Value wrapped(Value indices, Value extent) {
  const Value wide = cast(indices, DType::kInt64);
  return select(less(wide, 0.0), wide + extent, wide);
}

Value element_numbers(Value indices, const Shape& shape, int axis, Outside outside) {
  if (!indices) return {};
  const int64_t below = -TensorType{DType::kBool, shape}.elements();
  const auto rank = static_cast<int>(shape.size());
  int64_t stride = 1;
  Value number;
  for (int i = rank - 1; i >= 0; --i) {
    const int64_t extent = shape[static_cast<size_t>(i)];
    number = add_to(number,
                    i == axis ? place(indices, extent, outside, below)
                              : positions(indices.builder(), indices.dim(i), i, rank),
                    stride);
    stride *= extent;
  }
  return broadcast_to(number, indices.shape());
}

Value tuple_numbers(Value indices, const Shape& shape, int batch, Outside outside) {
  if (!indices) return {};
  const auto coordinates = batch + static_cast<int>(indices.dim(-1));
  const int rank = indices.rank() - 1;
  const int64_t below = -TensorType{DType::kBool, shape}.elements();
  int64_t stride = 1;
  Value number;
  for (int i = coordinates - 1; i >= 0; --i) {
    const int64_t extent = shape[static_cast<size_t>(i)];
    const Value column =
        i < batch ? Value() : drop_axes(slice_axis(indices, rank, i - batch, 1), {rank});
    number = add_to(number,
                    i < batch ? positions(indices.builder(), extent, i, rank)
                              : place(column, extent, outside, below),
                    stride);
    stride *= extent;
  }
  return broadcast_to(number, {indices.shape().begin(), indices.shape().end() - 1});
}

}  // namespace camshaft::onnx
