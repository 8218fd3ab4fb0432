// SPDX-License-Identifier: MIT
// What stands beside attention in transformers: gates, rotary positions, caches.
#include <algorithm>
#include <numeric>
#include <utility>

#include "codegen/onnx/activations.h"
#include "codegen/onnx/attention.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

Value read_swiglu(NodeReader& node) {
  const Value a = node.input(0);
  if (a.shape() != node.input(1).shape()) return node.invalid("A and B must have one shape");
  return swish(a, node.float_attr("alpha", 1)) * node.input(1);
}

// --- RotaryEmbedding -----------------------------------------------------------------------------

// The two extents that count for rotation.
struct Rotation {
  int64_t size = 0;  // of x's last axis, from its begin, that rotates
  bool interleaved = false;
};

// Rotates pairs of x, [B, ., ., D] with the sequence as `length_axis`, by angles of which cos and
// sin, [B, L, size / 2], are given. A pair is (x, y) with the swapped pair beside it, so that
// x cos - y sin and y cos + x sin are one expression.
Value rotate(Value x, int length_axis, const Rotation& rotation, Value cos, Value sin) {
  const int64_t rest = x.dim(3) - rotation.size;
  const Value part = slice_axis(x, 3, 0, rotation.size);
  if (!part || !cos || !sin) return {};
  const int pair_axis = rotation.interleaved ? 4 : 3;
  Shape shape = part.shape();
  shape.back() /= 2;
  shape.insert(shape.begin() + pair_axis, 2);
  const std::vector<int> places = {0, length_axis, 7 - pair_axis};
  const Value sign = place_axes(x.builder()->vector(x.dtype(), {-1, 1}), {pair_axis}, 5);
  const Value pairs = reshape(part, shape);
  const Value turned = pairs * place_axes(cos, places, 5) +
                       flip(pairs, pair_axis) * (place_axes(sin, places, 5) * sign);
  const Value y = reshape(turned, part.shape());
  return rest == 0 ? y : concat({y, slice_axis(x, 3, rotation.size, rest)}, 3);
}

// The angles of each position, [B, L, size / 2], from a cache by positions.
Value rotary_angles(NodeReader& node, int cache, int positions, const Shape& expected) {
  const Value angles = node.input(cache);
  const Value ids = node.input(positions);
  const Value chosen = ids ? gather(angles, ids, 0) : angles;
  if (!chosen || chosen.shape() == expected) return chosen;
  return node.invalid("input %d gives angles of %s, where %s is needed", cache,
                      shape_text(chosen.shape()).c_str(), shape_text(expected).c_str());
}

// x, [B, heads, L, D] or [B, L, heads * D], as four axes.
Value rotary_input(NodeReader& node, int64_t heads) {
  const Value x = node.input(0);
  if (x.rank() == 4) return x;
  if (x.rank() == 3 && heads >= 1 && x.dim(2) % heads == 0) {
    return reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads});
  }
  return node.invalid("needs four axes, or three and a num_heads that divides the last");
}

Value read_rotary_embedding(NodeReader& node) {
  const int64_t heads = node.int_attr("num_heads", 0);
  Rotation rotation{node.int_attr("rotary_embedding_dim", 0), node.flag_attr("interleaved", false)};
  const Value x = rotary_input(node, heads);
  if (!x) return {};
  const int length_axis = node.input(0).rank() == 4 ? 2 : 1;
  if (rotation.size == 0) rotation.size = x.dim(3);
  if (rotation.size < 2 || rotation.size % 2 != 0 || rotation.size > x.dim(3)) {
    return node.invalid("rotates %lld elements of heads of size %lld; must be even and not more",
                        static_cast<long long>(rotation.size), static_cast<long long>(x.dim(3)));
  }
  const Shape angles = {x.dim(0), x.dim(length_axis), rotation.size / 2};
  const DType dtype = attention_dtype(x);
  const Value cos = rotary_angles(node, 1, 3, angles);
  const Value sin = rotary_angles(node, 2, 3, angles);
  const Value y = rotate(cast(x, dtype), length_axis, rotation, cast(cos, dtype), cast(sin, dtype));
  return y ? reshape(cast(y, x.dtype()), node.input(0).shape()) : Value();
}

// --- TensorScatter -------------------------------------------------------------------------------

// The update's elements that a cache of `extent` elements takes where written from `begin` on, a
// value for each sample: place j of the cache takes element j - begin.
struct Placement {
  Value element;   // i64[B, extent]: which one, 0 where none
  Value is_taken;  // bool[B, extent]
};

Placement place_update(Value begin, int64_t extent, int64_t update_extent, bool circular) {
  const auto size = static_cast<double>(extent);
  Value element = insert_axis(begin.builder()->iota(extent), 0) - insert_axis(begin, 1);
  if (circular && extent > 0) {  // the remainder of a negative number is negative
    const Value size_value = scalar_like(element, size);
    element = rem(rem(element, size_value) + size, size_value);
  }
  const Value is_taken = logical_and(less_equal(scalar_like(element, 0), element),
                                     less(element, static_cast<double>(update_extent)));
  return {select(is_taken, element, scalar_like(element, 0)), is_taken};
}

// x with `axis` as its second one and the axes behind the first two as one.
Value as_samples(Value x, int axis) {
  std::vector<int> perm(static_cast<size_t>(x.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + 1, perm.begin() + axis, perm.begin() + axis + 1);
  const int64_t places = x.dim(0) * x.dim(axis);
  const int64_t rest = places == 0 ? 0 : x.elements() / places;
  return reshape(transpose(x, std::move(perm)), {x.dim(0), x.dim(axis), rest});
}

bool check_update(NodeReader& node, int axis) {
  const Value cache = node.input(0);
  const Value begin = node.input(2);
  Shape expected = cache.shape();
  expected[static_cast<size_t>(axis)] = node.input(1).dim(axis);
  if (node.input(1).shape() != expected || node.input(1).dim(axis) > cache.dim(axis)) {
    node.invalid("an update of %s doesn't fit a cache of %s along axis %d",
                 shape_text(node.input(1).shape()).c_str(), shape_text(cache.shape()).c_str(),
                 axis);
    return false;
  }
  if (begin && begin.shape() != Shape{cache.dim(0)}) {
    node.invalid("write_indices must be one value for each sample");
    return false;
  }
  return true;
}

// Written at one known place for all samples: a piece of the cache is replaced.
Value replace_piece(Value cache, Value update, int axis, int64_t begin) {
  const int64_t end = begin + update.dim(axis);
  std::vector<Value> parts;
  if (begin > 0) parts.push_back(slice_axis(cache, axis, 0, begin));
  if (end > begin) parts.push_back(update);
  if (end < cache.dim(axis)) parts.push_back(slice_axis(cache, axis, end, cache.dim(axis) - end));
  return parts.empty() ? cache : concat(parts, axis);
}

Value read_tensor_scatter(NodeReader& node) {
  const Value cache = node.input(0);
  const Value update = node.input(1);
  const std::string mode = node.string_attr("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return node.unsupported("mode must be 'linear' or 'circular'");
  }
  if (cache.rank() < 2) return node.invalid("the cache needs a batch axis and a sequence axis");
  const int axis = node.axis(node.int_attr("axis", -2), cache.rank());
  if (axis == 0) return node.invalid("the axis can't be that of the batch");
  if (!check_update(node, axis)) return {};
  if (!node.input(2)) return replace_piece(cache, update, axis, 0);
  const Placement placement = place_update(cast(node.input(2), DType::kInt64), cache.dim(axis),
                                           update.dim(axis), mode == "circular");
  if (update.elements() == 0) return cache;
  // Samples lie behind each other: one gather takes from all of them.
  const Value samples = as_samples(update, axis);
  const int64_t batch = cache.dim(0);
  const Value first =
      insert_axis(node.builder().iota(batch) * static_cast<double>(update.dim(axis)), 1);
  const Value taken = gather(reshape(samples, {batch * update.dim(axis), samples.dim(2)}),
                             first + placement.element, 0);
  Shape moved = cache.shape();
  moved.erase(moved.begin() + axis);
  moved.insert(moved.begin() + 1, cache.dim(axis));
  std::vector<int> back(moved.size());
  std::iota(back.begin(), back.end(), 0);
  std::rotate(back.begin() + 1, back.begin() + 2, back.begin() + axis + 1);
  const Value is_taken = place_axes(placement.is_taken, {0, axis}, cache.rank());
  return select(is_taken, transpose(reshape(taken, std::move(moved)), std::move(back)), cache);
}

constexpr OpRow kOps[] = {
    {"SwiGLU", 28, 2, 2, read_swiglu},
    {"RotaryEmbedding", 23, 3, 4, read_rotary_embedding},
    {"TensorScatter", 24, 2, 3, read_tensor_scatter},
};

}  // namespace

OpFamily transformer_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
