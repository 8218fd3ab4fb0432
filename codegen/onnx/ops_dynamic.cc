// SPDX-License-Identifier: MIT
// Operators whose results are as long as the data says: results are padded to a bound and carry a
// count (extents.h).
#include <algorithm>
#include <numeric>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

// Comparing all pairs of rows, for Unique with an axis, is done up to so many elements.
constexpr int64_t kMostPairElements = 1 << 24;

std::vector<int> all_axes(Value x) {
  std::vector<int> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Value flattened(Value x) {
  return reshape(without_counts(x), {x.elements()});
}

// The rows of `rows` whose flag (bool, one axis) is set, in order. At most `natural` can be; if the
// caller gives a smaller bound, a run that exceeds it is told by watch_bound().
Value compact(NodeReader& node, Value flags, Value rows, int64_t natural) {
  if (!flags || !rows) return {};
  const Value ones = cast(flags, DType::kInt64);
  const Value place = scan(ones, {ir::ReduceKind::kSum, 0, true, false});
  const Value count = reshape(reduce(ir::ReduceKind::kSum, ones, {0}), {});
  const int64_t bound =
      std::min(natural, std::max<int64_t>(node.given_bound(-1).value_or(natural), 0));
  if (bound < natural) {
    node.builder().watch_bound(
        less(node.builder().scalar(DType::kInt64, static_cast<double>(bound)), count));
  }
  Shape shape = rows.shape();
  shape[0] = bound;
  const Value nothing = node.builder().splat({rows.dtype(), std::move(shape)}, 0);
  const Value to = select(flags, place, scalar_like(place, -1));
  return with_count(scatter(nothing, to, rows, ir::ScatterKind::kReplace), 0, count);
}

// [elements, rank]: the coordinates of each element of a tensor.
Value coordinates(NodeReader& node, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  std::vector<Value> columns;
  for (int axis = 0; axis < rank; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const Value index = place_axes(node.builder().iota(shape[i]), {axis}, rank);
    columns.push_back(insert_axis(broadcast_to(index, shape), rank));
  }
  const Value all = concat(columns, rank);
  return all ? reshape(all, {all.elements() / rank, rank}) : all;
}

Value read_non_zero(NodeReader& node) {
  Value x = node.input(0);
  if (x.rank() == 0) x = reshape(x, {1});
  const Value flags = flattened(filled(logical_not(equal(x, 0.0)), all_axes(x), 0));
  return transpose(compact(node, flags, coordinates(node, x.shape()), x.elements()), {1, 0});
}

Value read_compress(NodeReader& node) {
  Value x = node.input(0);
  Value condition = node.input(1);
  if (condition.rank() != 1) return node.invalid("the condition must have one axis");
  int axis = 0;
  if (node.has_attr("axis")) {
    axis = node.axis(node.int_attr("axis", 0), x.rank());
  } else {
    if (has_counts(x)) return node.unsupported("data whose extents depend on data needs an axis");
    x = flattened(x);
  }
  if (condition.dim(0) > x.dim(axis)) {
    condition = slice_axis(condition, 0, 0, x.dim(axis));
  }
  Value flags = filled(condition, {0}, 0);
  if (has_count(x, axis)) {  // no element beyond those that there are
    flags = logical_and(flags, less(node.builder().iota(flags.dim(0)), extent_of(x, axis)));
  }
  const int64_t extent = condition.dim(0);
  const Value chosen = compact(node, without_counts(flags), node.builder().iota(extent), extent);
  return gather(without_counts(x), chosen, axis);
}

// Boxes as (y1, x1, y2, x2) with y1 <= y2 and x1 <= x2.
Value corners(NodeReader& node, Value boxes) {
  const bool is_centered = node.int_attr("center_point_box", 0) != 0;
  std::vector<Value> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(slice_axis(boxes, 2, i, 1));
  if (is_centered) {  // x center, y center, width, height
    const Value half_width = parts[2] * 0.5;
    const Value half_height = parts[3] * 0.5;
    return concat({parts[1] - half_height, parts[0] - half_width, parts[1] + half_height,
                   parts[0] + half_width},
                  2);
  }
  return concat({min(parts[0], parts[2]), min(parts[1], parts[3]), max(parts[0], parts[2]),
                 max(parts[1], parts[3])},
                2);
}

// What NonMaxSuppression is given, in the form that it works on.
struct Detections {
  int64_t batch;
  int64_t classes;
  int64_t boxes;
  Value order;       // i64 [batch * classes, boxes]: best first
  Value candidates;  // bool, in that order
  Value corners;     // f32 [batch * classes, boxes, 4], in that order
};

Detections sort_detections(NodeReader& node) {
  const Value scores = node.input(1);
  Detections found{scores.dim(0), scores.dim(1), scores.dim(2), {}, {}, {}};
  const int64_t groups = found.batch * found.classes;
  const Value rows = reshape(scores, {groups, found.boxes});
  found.order = top_k(rows, {1, found.boxes, true});
  const Value group = place_axes(node.builder().iota(groups), {0}, 2);
  const double extent = static_cast<double>(found.boxes);
  const Value sorted = gather(flattened(rows), without_counts(found.order) + group * extent, 0);
  const Value threshold = node.input(4);
  found.candidates = threshold ? less(reshape(threshold, {1, 1}), sorted)
                               : node.builder().splat({DType::kBool, {groups, found.boxes}}, 1);
  if (has_count(found.order, 1)) {
    found.candidates = filled(with_count(found.candidates, 1, extent_of(found.order, 1)), {1}, 0);
  }
  const Value boxes =
      reshape(without_counts(corners(node, node.input(0))), {found.batch * found.boxes, 4});
  const Value sample = cast(group / static_cast<double>(found.classes), DType::kInt64);
  found.corners = gather(boxes, without_counts(found.order) + sample * extent, 0);
  return found;
}

// The most boxes of a class: what is known of it, and i64[] if a run decides.
struct MostKept {
  int64_t bound;
  Value exact;
};

MostKept most_kept(NodeReader& node, int64_t boxes) {
  if (!node.input(2)) return {0, {}};
  const Value given = reshape(cast(node.input(2), DType::kInt64), {});
  const std::optional<Shape> bound = given.upper_bounds();
  const int64_t most = bound ? std::clamp<int64_t>(bound->front(), 0, boxes) : boxes;
  return {most, given.literal() != nullptr ? Value() : given};
}

Value read_non_max_suppression(NodeReader& node) {
  const Value boxes = node.input(0);
  const Value scores = node.input(1);
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.dim(2) != 4 ||
      boxes.dim(0) != scores.dim(0) || boxes.dim(1) != scores.dim(2)) {
    return node.invalid("boxes must be [batch, boxes, 4] and scores [batch, classes, boxes]");
  }
  const Detections found = sort_detections(node);
  const int64_t groups = found.batch * found.classes;
  const MostKept most = most_kept(node, found.boxes);
  const Value overlap =
      node.input(3) ? reshape(node.input(3), {}) : node.builder().scalar(DType::kFloat32, 0);
  Value kept = suppress(found.corners, without_counts(found.candidates), overlap, most.bound);
  if (most.exact) {
    const Value number = scan(cast(kept, DType::kInt64), {ir::ReduceKind::kSum, 1, false, false});
    kept = logical_and(kept, less_equal(number, most.exact));
  }
  const Value places = coordinates(node, {found.batch, found.classes, found.boxes});
  const Value box = reshape(without_counts(found.order), {groups * found.boxes, 1});
  const Value triples = concat({slice_axis(places, 1, 0, 2), box}, 1);
  return compact(node, reshape(kept, {groups * found.boxes}), triples, groups * most.bound);
}

// What Unique finds out about rows: which are the first of their kind.
struct Groups {
  Value order;     // i64[n]: rows in rising order, equal ones by number
  Value is_first;  // bool[n]: of the rows in that order, the first of its kind
};

// The first row is always a first one.
Value with_first(NodeReader& node, Value differs_from_previous) {
  return concat({node.builder().splat({DType::kBool, {1}}, 1), differs_from_previous}, 0);
}

Groups group_elements(NodeReader& node, Value x) {
  Value key = x.dtype() == DType::kBool ? cast(x, DType::kUInt8) : x;
  const int64_t count = x.dim(0);
  Groups groups;
  groups.order = top_k(key, {0, count, false});
  const Value sorted = gather(key, groups.order, 0);
  groups.is_first = with_first(node, logical_not(equal(slice_axis(sorted, 0, 1, count - 1),
                                                       slice_axis(sorted, 0, 0, count - 1))));
  return groups;
}

// Rows [n, m] in lexicographic order, by comparing all pairs.
Groups group_rows(NodeReader& node, Value rows) {
  const int64_t count = rows.dim(0);
  const Value a = insert_axis(rows, 1);
  const Value b = insert_axis(rows, 0);
  const Value same = cast(equal(a, b), DType::kInt32);
  const Value same_so_far = scan(same, {ir::ReduceKind::kProd, 2, true, false});
  const Value decides = logical_and(less(a, b), equal(same_so_far, 1.0));
  const Value is_less = reduce(ir::ReduceKind::kMax, cast(decides, DType::kInt32), {2});
  const Value is_same = reduce(ir::ReduceKind::kMin, same, {2});
  const Value earlier = less(place_axes(node.builder().iota(count), {0}, 2),
                             place_axes(node.builder().iota(count), {1}, 2));
  const Value before =
      drop_axes(is_less, {2}) + drop_axes(is_same, {2}) * cast(earlier, DType::kInt32);
  const Value rank =
      reshape(reduce(ir::ReduceKind::kSum, cast(before, DType::kInt64), {0}), {count});
  Groups groups;
  const Value nothing = node.builder().splat({DType::kInt64, {count}}, 0);
  groups.order = scatter(nothing, rank, node.builder().iota(count), ir::ScatterKind::kReplace);
  const Value sorted = gather(rows, groups.order, 0);
  const Value equal_to_previous =
      reduce(ir::ReduceKind::kMin,
             cast(equal(slice_axis(sorted, 0, 1, count - 1), slice_axis(sorted, 0, 0, count - 1)),
                  DType::kInt32),
             {1});
  groups.is_first = with_first(node, equal(reshape(equal_to_previous, {count - 1}), 0.0));
  return groups;
}

// Sets all outputs of Unique; `rows` are those of `x` along `axis`.
void set_unique_outputs(NodeReader& node, Value x, int axis, Groups groups) {
  const int64_t count = x.dim(axis);
  Builder& builder = node.builder();
  const Value zeros = builder.splat({DType::kInt64, {count}}, 0);
  Value kind = scan(cast(groups.is_first, DType::kInt64), {ir::ReduceKind::kSum, 0, false, false}) -
               1.0;  // of the rows in order
  Value first = compact(node, groups.is_first, groups.order, count);
  if (node.int_attr("sorted", 1) == 0) {
    // By first occurrence: the kinds get the numbers that sorting their first rows gives.
    const int64_t kinds = first.dim(0);
    const Value by_place =
        without_counts(top_k(filled(first, {0}, static_cast<double>(count)), {0, kinds, false}));
    const Value renumbered =
        scatter(zeros, by_place, builder.iota(kinds), ir::ScatterKind::kReplace);
    kind = gather(renumbered, kind, 0);
    const Value length = extent_of(first, 0);
    first = with_count(gather(without_counts(first), by_place, 0), 0, length);
  }
  const Value length = extent_of(first, 0);
  node.set_output(0, gather(x, first, axis));
  node.set_output(1, first);
  node.set_output(2, scatter(zeros, groups.order, kind, ir::ScatterKind::kReplace));
  const Value ones = builder.splat({DType::kInt64, {count}}, 1);
  node.set_output(3, with_count(scatter(zeros, kind, ones, ir::ScatterKind::kSum), 0, length));
}

Value read_unique(NodeReader& node) {
  Value x = node.input(0);
  if (has_counts(x)) return node.unsupported("its input's extents depend on data");
  if (x.elements() == 0) return node.unsupported("its input has no elements");
  if (!node.has_attr("axis")) {
    x = flattened(x);
    set_unique_outputs(node, x, 0, group_elements(node, x));
    return node.output(0);
  }
  const int axis = node.axis(node.int_attr("axis", 0), x.rank());
  std::vector<int> to_front = {axis};
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) to_front.push_back(i);
  }
  const int64_t count = x.dim(axis);
  if (count * x.elements() > kMostPairElements) {
    return node.unsupported(
        "rows along an axis are compared pair by pair: %lld of %lld elements "
        "are too many",
        static_cast<long long>(count), static_cast<long long>(x.elements() / count));
  }
  Value rows = reshape(transpose(x, to_front), {count, x.elements() / count});
  if (rows.dtype() == DType::kBool) rows = cast(rows, DType::kUInt8);
  set_unique_outputs(node, x, axis, group_rows(node, rows));
  return node.output(0);
}

constexpr OpRow kOps[] = {
    {"NonZero", 9, 1, 1, read_non_zero},
    {"Compress", 9, 2, 2, read_compress},
    {"NonMaxSuppression", 10, 2, 5, read_non_max_suppression},
    {"Unique", 11, 1, 1, read_unique},
};

}  // namespace

OpFamily dynamic_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
