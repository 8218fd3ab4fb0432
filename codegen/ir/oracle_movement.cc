// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codegen/ir/literal.h"
#include "codegen/ir/oracle_eval.h"

namespace camshaft::ir {
namespace {

// An offset so negative that no sum of real offsets makes up for it: the element is the fill.
constexpr int64_t kOutside = -(int64_t{1} << 56);

// For each axis of the result and each index on it, the offset it adds in the operand.
std::vector<Shape> offsets_by(const Shape& shape, const Shape& begin, const Shape& stride) {
  std::vector<Shape> offsets(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    for (int64_t i = 0; i < shape[axis]; ++i) {
      offsets[axis].push_back(begin[axis] + i * stride[axis]);
    }
  }
  return offsets;
}

std::vector<Shape> transpose_offsets(const Shape& from, const TransposeAttrs& attrs,
                                     const Shape& to) {
  const Shape strides = strides_of(from);
  Shape stride;
  for (const int axis : attrs.perm) stride.push_back(strides[static_cast<size_t>(axis)]);
  return offsets_by(to, Shape(to.size(), 0), stride);
}

std::vector<Shape> broadcast_offsets(const Shape& from, const Shape& to) {
  Shape stride = strides_of(from);
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == 1) stride[axis] = 0;
  }
  return offsets_by(to, Shape(to.size(), 0), stride);
}

std::vector<Shape> slice_offsets(const Shape& from, const SliceAttrs& attrs) {
  Shape begin = strides_of(from);
  Shape stride = begin;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    begin[axis] *= attrs.begin[axis];
    stride[axis] *= attrs.step[axis];
  }
  return offsets_by(attrs.extent, begin, stride);
}

// The index in an operand's axis of `extent` that a padded axis shows at `i`; i may be negative.
int64_t padded_index(PadMode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  switch (mode) {
    case PadMode::kReflect:
      return i < 0 ? -i : 2 * (extent - 1) - i;
    case PadMode::kEdge:
      return i < 0 ? 0 : extent - 1;
    case PadMode::kWrap:
      return i < 0 ? i + extent : i - extent;
    default:
      return -1;
  }
}

std::vector<Shape> pad_offsets(const Shape& from, const PadAttrs& attrs, const Shape& to) {
  const Shape strides = strides_of(from);
  std::vector<Shape> offsets(to.size());
  for (size_t axis = 0; axis < to.size(); ++axis) {
    for (int64_t i = 0; i < to[axis]; ++i) {
      const int64_t source = padded_index(attrs.mode, i - attrs.before[axis], from[axis]);
      offsets[axis].push_back(source < 0 ? kOutside : source * strides[axis]);
    }
  }
  return offsets;
}

std::vector<Shape> movement_offsets(const Node& node, const Shape& from) {
  switch (node.op) {
    case Op::kTranspose:
      return transpose_offsets(from, node.as<TransposeAttrs>(), node.type.shape);
    case Op::kBroadcast:
      return broadcast_offsets(from, node.type.shape);
    case Op::kSlice:
      return slice_offsets(from, node.as<SliceAttrs>());
    default:
      CAMSHAFT_CHECK(node.op == Op::kPad);
      return pad_offsets(from, node.as<PadAttrs>(), node.type.shape);
  }
}

template <typename T>
void take(const Node& node, const OracleTensor& x, T fill, OracleTensor& result) {
  const std::vector<T>& from = values_of(x, fill);
  std::vector<T>& to = values_of(result, fill);
  for_each_offset(
      node.type.shape, movement_offsets(node, x.type.shape), [&](int64_t i, int64_t offset) {
        to[static_cast<size_t>(i)] = offset < 0 ? fill : from[static_cast<size_t>(offset)];
      });
}

template <typename T>
void concatenate(const Evaluation& eval, std::vector<T>& to) {
  const auto axis = static_cast<size_t>(eval.node.as<ConcatAttrs>().axis);
  const Shape& shape = eval.node.type.shape;
  const int64_t outer = count_of(shape, 0, axis);
  int64_t position = 0;
  for (int64_t row = 0; row < outer; ++row) {
    for (const OracleTensor* operand : eval.operands) {
      const int64_t chunk = count_of(operand->type.shape, axis, shape.size());
      const auto from = values_of(*operand, T{}).begin() + row * chunk;
      std::copy(from, from + chunk, to.begin() + position);
      position += chunk;
    }
  }
}

}  // namespace

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

int64_t count_of(const Shape& shape, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t axis = first; axis < last; ++axis) count *= shape[axis];
  return count;
}

void evaluate_movement(const Evaluation& eval, OracleTensor& result) {
  const Node& node = eval.node;
  const OracleTensor& x = eval.operand(0);
  const bool floats = base::is_float(node.type.dtype);
  if (node.op == Op::kReshape) {
    result.floats = x.floats;
    result.ints = x.ints;
  } else if (node.op == Op::kConcat) {
    floats ? concatenate(eval, result.floats) : concatenate(eval, result.ints);
  } else {
    const double fill = node.op == Op::kPad ? node.as<PadAttrs>().value : 0;
    if (floats) {
      take<double>(node, x, round_to_dtype(fill, node.type.dtype), result);
    } else {
      take<int64_t>(node, x, saturate_to_dtype(fill, node.type.dtype), result);
    }
  }
}

}  // namespace camshaft::ir
