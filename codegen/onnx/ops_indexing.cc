// SPDX-License-Identifier: MIT
// Operators that choose elements: by indices, by position.
#include <algorithm>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/flat_index.h"
#include "codegen/onnx/op_table.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

Value read_gather(NodeReader& node) {
  Value data = node.input(0);
  if (data.rank() == 0) return node.invalid("can't gather from a scalar");
  const int axis = node.axis(node.int_attr("axis", 0), data.rank());
  if (!has_count(data, axis)) return gather(data, node.input(1), axis);
  const Value indices = wrapped(node.input(1), extent_of(data, axis));
  watch_indices(indices, extent_of(data, axis));
  std::map<int, Value> others = node.builder().counts(data.index());
  others.erase(axis);
  return gather(node.builder().with_counts(data, std::move(others)), indices, axis);
}

// Gathers from the flattened data: each index becomes the number of its element.
Value read_gather_elements(NodeReader& node) {
  const Value data = without_counts(node.input(0));
  Value indices = node.input(1);
  const int axis = node.axis(node.int_attr("axis", 0), data.rank());
  if (has_count(node.input(0), axis)) {
    indices = wrapped(indices, extent_of(node.input(0), axis));
    watch_indices(indices, extent_of(node.input(0), axis));
  }
  if (data.rank() == 0 || indices.rank() != data.rank()) {
    return node.invalid("data and indices must be of one rank");
  }
  for (int i = 0; i < data.rank(); ++i) {
    if (i != axis && indices.dim(i) > data.dim(i)) {
      return node.invalid("indices exceed data on axis %d", i);
    }
  }
  return gather(reshape(data, {data.elements()}),
                element_numbers(indices, data.shape(), axis, Outside::kUnspecified), 0);
}

// Gathers from the sequences laid one after the other.
Value read_reverse_sequence(NodeReader& node) {
  const Value x = node.input(0);
  const Value lengths = node.input(1);
  const int64_t time = node.int_attr("time_axis", 0);
  const int64_t batch = node.int_attr("batch_axis", 1);
  if (x.rank() < 2 || time + batch != 1 || time * batch != 0) {
    return node.invalid("needs x of rank 2 or more, and time_axis and batch_axis 0 and 1");
  }
  const int batch_axis = static_cast<int>(batch);
  if (lengths.rank() != 1 || lengths.dim(0) != x.dim(batch_axis) ||
      !base::is_int(lengths.dtype())) {
    return node.invalid("sequence_lens must be one integer for each of the %lld sequences",
                        static_cast<long long>(x.dim(batch_axis)));
  }
  const Value step = positions(&node.builder(), x.dim(1 - batch_axis), 1 - batch_axis, 2);
  const Value sequence = positions(&node.builder(), x.dim(batch_axis), batch_axis, 2);
  const Value length = place_axes(cast(lengths, DType::kInt64), {batch_axis}, 2);
  const Value from = select(less(step, length), length - 1.0 - step, step);
  const Value row = batch_axis == 0 ? sequence * static_cast<double>(x.dim(1)) + from
                                    : from * static_cast<double>(x.dim(1)) + sequence;
  Shape rows = {x.dim(0) * x.dim(1)};
  rows.insert(rows.end(), x.shape().begin() + 2, x.shape().end());
  return gather(reshape(x, std::move(rows)), row, 0);
}

// The last axis of indices holds the first coordinates after the batch axes.
Value read_gather_nd(NodeReader& node) {
  const Value data = without_counts(node.input(0));
  Value indices = node.input(1);
  const int64_t batch = node.int_attr("batch_dims", 0);
  const int64_t depth = indices.dim(-1);
  if (batch < 0 || batch >= indices.rank() || depth < 1 || batch + depth > data.rank() ||
      !std::equal(data.shape().begin(), data.shape().begin() + batch, indices.shape().begin())) {
    return node.invalid("data, indices and batch_dims don't fit");
  }
  const auto open = data.shape().begin() + batch + depth;
  const Shape prefix(data.shape().begin(), open);
  Shape flat = {TensorType{DType::kBool, prefix}.elements()};
  flat.insert(flat.end(), open, data.shape().end());
  if (has_counts(node.input(0))) {
    std::vector<Value> extents;
    for (int64_t axis = batch; axis < batch + depth; ++axis) {
      extents.push_back(reshape(extent_of(node.input(0), static_cast<int>(axis)), {1}));
    }
    indices = wrapped(indices, concat(extents, 0));
  }
  Value result =
      gather(reshape(data, std::move(flat)),
             tuple_numbers(indices, prefix, static_cast<int>(batch), Outside::kUnspecified), 0);
  for (const auto& [axis, count] : node.builder().counts(node.input(0).index())) {
    if (axis < batch + depth) continue;
    result = with_count(result, axis - static_cast<int>(batch + depth) + indices.rank() - 1, count);
  }
  return result;
}

Value read_one_hot(NodeReader& node) {
  const Value indices = cast(node.input(0), DType::kInt64);
  const Value values = node.input(2);
  const std::optional<double> depth = node.known_scalar(1, "depth");
  if (!depth) return {};
  if (values.rank() != 1 || values.dim(0) != 2) return node.invalid("values must be [off, on]");
  if (*depth < 1 || *depth > 1e15) return node.invalid("depth must be positive");
  const int rank = indices.rank() + 1;
  const int axis = node.axis(node.int_attr("axis", -1), rank);
  const auto extent = static_cast<int64_t>(*depth);
  const Value is_on = equal(insert_axis(wrapped(indices, extent), axis),
                            positions(&node.builder(), extent, axis, rank));
  return select(is_on, reshape(slice_axis(values, 0, 1, 1), {}),
                reshape(slice_axis(values, 0, 0, 1), {}));
}

// Column minus row for each place of a matrix.
Value diagonals(NodeReader& node, int64_t rows, int64_t columns) {
  return positions(&node.builder(), columns, 1, 2) - positions(&node.builder(), rows, 0, 2);
}

Value read_trilu(NodeReader& node) {
  const Value x = node.input(0);
  if (x.rank() < 2) return node.invalid("needs matrices");
  const bool upper = node.flag_attr("upper", true);
  const Value k = node.input(1) ? reshape(cast(node.input(1), DType::kInt64), {})
                                : node.builder().scalar(DType::kInt64, 0);
  const Value diagonal = diagonals(node, x.dim(-2), x.dim(-1));
  return select(upper ? less_equal(k, diagonal) : less_equal(diagonal, k), x, scalar_like(x, 0));
}

Value read_eye_like(NodeReader& node) {
  const Value x = node.input(0);
  const DType dtype = node.dtype_attr("dtype", x.dtype());
  const double k = static_cast<double>(node.int_attr("k", 0));
  if (x.rank() != 2) return node.invalid("needs a matrix");
  return with_counts_of(cast(equal(diagonals(node, x.dim(0), x.dim(1)), k), dtype), x);
}

constexpr OpRow kOps[] = {
    {"Gather", 7, 2, 2, read_gather},
    {"GatherElements", 11, 2, 2, read_gather_elements},
    {"ReverseSequence", 10, 2, 2, read_reverse_sequence},
    {"GatherND", 11, 2, 2, read_gather_nd},
    {"OneHot", 9, 3, 3, read_one_hot},
    {"Trilu", 14, 1, 2, read_trilu},
    {"EyeLike", 9, 1, 1, read_eye_like},
};

}  // namespace

OpFamily indexing_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
