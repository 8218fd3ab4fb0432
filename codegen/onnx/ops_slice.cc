// SPDX-License-Identifier: MIT
// Operators that cut and add on both sides of axes: Slice, Pad, CenterCropPad.
#include <algorithm>
#include <cmath>
#include <utility>

#include "codegen/onnx/extents.h"
#include "codegen/onnx/flat_index.h"
#include "codegen/onnx/op_table.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

// What Slice is told about an axis.
struct Range {
  int64_t start;
  int64_t end;
  int64_t step;
};

// As Python slices: negative positions count from the end, and all are clamped.
Value slice_range(NodeReader& node, Value x, int axis, Range range) {
  const int64_t extent = x.dim(axis);
  const bool back = range.step < 0;
  if (range.step == 0) return node.invalid("step 0 on axis %d", axis);
  const auto place = [&](int64_t position) {
    return std::clamp(position < 0 ? position + extent : position, back ? int64_t{-1} : int64_t{0},
                      back ? extent - 1 : extent);
  };
  const int64_t start = place(range.start);
  const int64_t distance = back ? start - place(range.end) : place(range.end) - start;
  if (distance <= 0) return slice_axis(x, axis, 0, 0);
  // One step beyond the axis takes one element, whatever its size; this bounds the arithmetic.
  const int64_t step = std::clamp(range.step, -extent, extent);
  const int64_t size = back ? -step : step;
  return slice_axis(x, axis, start, (distance - 1) / size + 1, step);
}

// One of Slice's lists: an attribute up to opset 9, then an input.
std::optional<Shape> slice_list(NodeReader& node, int i, const char* name) {
  if (node.opset() < 10) return node.ints_attr(name);
  return node.input(i) ? node.known_ints(i, name) : std::nullopt;
}

// Slice where starts, ends or the extents of x depend on data.
bool slices_by_data(NodeReader& node) {
  if (has_counts(node.input(0))) return true;
  return node.opset() >= 10 &&
         (node.input(1).literal() == nullptr || node.input(2).literal() == nullptr);
}

// One of Slice's positions: known, or an i64[] that depends on data.
struct Position {
  Value value;
  std::optional<int64_t> known;
};

Position position(Value list, size_t i) {
  const Value one =
      reshape(cast(slice_axis(list, 0, static_cast<int64_t>(i), 1), DType::kInt64), {});
  const std::optional<Shape> known = one.known_ints();
  return {one, known ? std::optional(known->front()) : std::nullopt};
}

// The place that a position means on an axis whose extent is `extent` in a run.
Value placed(Position position, Value extent, double lowest, double beyond) {
  // A known one is cut to what an i64 sum can take.
  Value at = position.known
                 ? scalar_like(extent, static_cast<double>(std::clamp<int64_t>(
                                           *position.known, -(int64_t{1} << 46), int64_t{1} << 46)))
                 : position.value;
  at = select(less(at, 0.0), at + extent, at);
  return min(max(at, lowest), extent + beyond);
}

Value slice_counted_axis(Value x, int axis, Position start, Position end, int64_t step) {
  const Value extent = extent_of(x, axis);
  const bool back = step < 0;
  const Value begin = placed(start, extent, 0, back ? -1 : 0);
  const Value stop = placed(end, extent, back ? -1 : 0, back ? -1 : 0);
  const double size = std::abs(static_cast<double>(step));
  const Value distance = back ? begin - stop : stop - begin;
  const Value count = max((distance + (size - 1)) / size, 0.0);
  int64_t most = x.dim(axis);  // of the distance
  const auto at_most = [&](int64_t value) { most = std::max<int64_t>(std::min(most, value), 0); };
  const std::optional<Shape> bound = end.value.upper_bounds();
  const std::optional<Shape> least = end.value.lower_bounds();
  const bool from_start = start.known && *start.known >= 0;
  if (!back && from_start && bound && least && least->front() >= 0) {
    at_most(bound->front() - *start.known);
  }
  if (!back && from_start) at_most(x.dim(axis) - *start.known);
  if (!back && start.known && *start.known < 0 && *start.known > INT64_MIN) at_most(-*start.known);
  const auto whole = static_cast<int64_t>(size);
  return slice_counted(x, axis, begin, step, count, (most + whole - 1) / whole);
}

Value read_counted_slice(NodeReader& node) {
  Value x = node.input(0);
  const Builder& builder = node.builder();
  const Value starts = node.opset() < 10
                           ? node.builder().ints(node.ints_attr("starts").value_or(Shape()))
                           : node.input(1);
  const Value ends = node.opset() < 10
                         ? node.builder().ints(node.ints_attr("ends").value_or(Shape()))
                         : node.input(2);
  std::optional<Shape> axes = slice_list(node, 3, "axes");
  std::optional<Shape> steps = node.opset() < 10 ? std::nullopt : slice_list(node, 4, "steps");
  if ((node.input(3) && !axes) || (node.input(4) && !steps) || builder.failed()) return {};
  const auto count = static_cast<size_t>(starts.elements());
  if (!axes) {
    axes = Shape();
    for (size_t i = 0; i < count; ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps) steps = Shape(count, 1);
  if (ends.elements() != starts.elements() || axes->size() != count || steps->size() != count) {
    return node.invalid("starts, ends, axes and steps differ in length");
  }
  if (!node.axes(*axes, x.rank())) return {};
  for (size_t i = 0; i < count && x; ++i) {
    const int axis = node.axis((*axes)[i], x.rank());
    const Position start = position(starts, i);
    const Position end = position(ends, i);
    const int64_t step = (*steps)[i];
    if (step == 0) return node.invalid("step 0 on axis %d", axis);
    if (start.known && end.known && !has_count(x, axis)) {
      x = slice_range(node, x, axis, {*start.known, *end.known, step});
    } else {
      x = slice_counted_axis(x, axis, start, end, std::max(step, -x.dim(axis)));
    }
  }
  return x;
}

Value read_slice(NodeReader& node) {
  Value x = node.input(0);
  if (slices_by_data(node)) return read_counted_slice(node);
  const std::optional<Shape> starts = slice_list(node, 1, "starts");
  const std::optional<Shape> ends = slice_list(node, 2, "ends");
  std::optional<Shape> axes = slice_list(node, 3, "axes");
  std::optional<Shape> steps = node.opset() < 10 ? std::nullopt : slice_list(node, 4, "steps");
  if (!starts || !ends) return node.corrupt("starts or ends are missing");
  if ((node.input(3) && !axes) || (node.input(4) && !steps)) return {};
  const size_t count = starts->size();
  if (!axes) {
    axes = Shape();
    for (size_t i = 0; i < count; ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps) steps = Shape(count, 1);
  if (ends->size() != count || axes->size() != count || steps->size() != count) {
    return node.invalid("starts, ends, axes and steps differ in length");
  }
  if (!node.axes(*axes, x.rank())) return {};
  for (size_t i = 0; i < count && x; ++i) {
    const int axis = node.axis((*axes)[i], x.rank());
    x = slice_range(node, x, axis, {(*starts)[i], (*ends)[i], (*steps)[i]});
  }
  return x;
}

// Borders of one axis by gathering, for amounts that exceed what one reflection or lap gives.
Value pad_by_index(NodeReader& node, Value x, int axis, int64_t before, int64_t after,
                   bool reflect) {
  const int64_t extent = x.dim(axis);
  if (extent == 0) return node.invalid("can't pad the empty axis %d from itself", axis);
  const int64_t total = before + extent + after;
  if (!node.builder().may_make(total)) return {};
  const int64_t period = reflect ? std::max<int64_t>(2 * (extent - 1), 1) : extent;
  Shape indices(static_cast<size_t>(total));
  for (int64_t i = 0; i < total; ++i) {
    const int64_t place = ((i - before) % period + period) % period;
    indices[static_cast<size_t>(i)] = place < extent ? place : period - place;
  }
  return gather(x, node.builder().ints(indices), axis);
}

Value pad_reflected(NodeReader& node, Value x, ir::PadAttrs attrs) {
  const bool reflect = attrs.mode == ir::PadMode::kReflect;
  for (int axis = 0; axis < x.rank() && x; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t once = reflect ? x.dim(axis) - 1 : x.dim(axis);
    if (std::max(attrs.before[i], attrs.after[i]) <= once) continue;
    x = pad_by_index(node, x, axis, attrs.before[i], attrs.after[i], reflect);
    attrs.before[i] = attrs.after[i] = 0;
  }
  return pad(x, std::move(attrs));
}

// A border whose value is computed at run time: where the padded mask is false.
Value pad_with(Value x, const ir::PadAttrs& attrs, Value value) {
  const Value inside = x.builder()->splat({DType::kBool, x.shape()}, 1);
  return select(pad(inside, attrs), pad(x, attrs), reshape(value, {}));
}

// Pad's amounts on each axis of x: all begins, then all ends. Negative ones crop.
std::optional<Shape> pad_amounts(NodeReader& node) {
  const int rank = node.input(0).rank();
  std::optional<Shape> given =
      node.opset() < 11 ? node.ints_attr("pads") : node.known_ints(1, "pads");
  if (!given) {
    if (node.opset() < 11) node.corrupt("attribute 'pads' is missing");
    return std::nullopt;
  }
  std::optional<Shape> axes = node.input(3) ? node.known_ints(3, "axes") : Shape();
  if (!axes || !node.axes(*axes, rank)) return std::nullopt;
  for (int i = 0; i < rank && !node.input(3); ++i) axes->push_back(i);
  Shape amounts(2 * static_cast<size_t>(rank), 0);
  bool fits = given->size() == 2 * axes->size();
  for (size_t i = 0; fits && i < given->size(); ++i) {
    const int axis = node.axis((*axes)[i % axes->size()], rank);
    const bool is_end = i >= axes->size();
    fits = std::abs((*given)[i] / 2) < (int64_t{1} << 46);
    amounts[static_cast<size_t>(axis + (is_end ? rank : 0))] = (*given)[i];
  }
  if (fits) return amounts;
  node.invalid("pads need a begin and an end for each axis, of a sane size");
  return std::nullopt;
}

// Takes away what negative amounts crop, and sets them to 0.
Value crop(NodeReader& node, Value x, Shape* before, Shape* after) {
  for (int axis = 0; axis < x.rank() && x; ++axis) {
    int64_t& begin = (*before)[static_cast<size_t>(axis)];
    int64_t& end = (*after)[static_cast<size_t>(axis)];
    if (has_count(x, axis) && std::min(begin, end) < 0) {
      return node.unsupported("cropping axis %d, whose extent depends on data; use Slice", axis);
    }
    const int64_t start = std::max<int64_t>(-begin, 0);
    const int64_t extent = x.dim(axis) - start - std::max<int64_t>(-end, 0);
    if (extent < 0) return node.invalid("pads crop more than axis %d has", axis);
    x = slice_axis(x, axis, start, extent);
    begin = std::max<int64_t>(begin, 0);
    end = std::max<int64_t>(end, 0);
  }
  return x;
}

std::optional<ir::PadMode> pad_mode(NodeReader& node) {
  const std::string mode = node.string_attr("mode", "constant");
  if (mode == "constant") return ir::PadMode::kConstant;
  if (mode == "reflect") return ir::PadMode::kReflect;
  if (mode == "edge") return ir::PadMode::kEdge;
  if (mode == "wrap") return ir::PadMode::kWrap;
  node.unsupported("mode must be constant, reflect, edge or wrap");
  return std::nullopt;
}

// A border around axes that have counts: what is beyond a count gets the border's value, and the
// count grows. The others' borders are left to do.
Value pad_counted(Value x, ir::PadAttrs* attrs, Value value) {
  for (int axis = 0; axis < x.rank() && x; ++axis) {
    int64_t& before = attrs->before[static_cast<size_t>(axis)];
    int64_t& after = attrs->after[static_cast<size_t>(axis)];
    if (!has_count(x, axis) || (before == 0 && after == 0)) continue;
    const Value count = extent_of(x, axis) + static_cast<double>(before + after);
    x = select(is_counted(x, axis), x, cast(reshape(value, {}), x.dtype()));
    std::map<int, Value> others = x.builder()->counts(x.index());
    others.erase(axis);
    const Shape none(x.shape().size(), 0);
    ir::PadAttrs border{none, none, ir::PadMode::kConstant, 0};
    std::swap(border.before[static_cast<size_t>(axis)], before);
    std::swap(border.after[static_cast<size_t>(axis)], after);
    x = with_count(pad_with(x.builder()->with_counts(x, std::move(others)), border, value), axis,
                   count);
  }
  return x;
}

Value read_pad(NodeReader& node) {
  const std::optional<ir::PadMode> mode = pad_mode(node);
  const double old_value = node.opset() < 11 ? node.float_attr("value", 0) : 0;
  const std::optional<Shape> amounts = pad_amounts(node);
  if (!mode || !amounts) return {};
  const auto rank = static_cast<int64_t>(amounts->size() / 2);
  ir::PadAttrs attrs{{amounts->begin(), amounts->begin() + rank},
                     {amounts->begin() + rank, amounts->end()},
                     *mode,
                     old_value};
  Value x = crop(node, node.input(0), &attrs.before, &attrs.after);
  if (!x) return {};
  if (*mode == ir::PadMode::kReflect || *mode == ir::PadMode::kWrap) {
    return pad_reflected(node, x, std::move(attrs));
  }
  const Value value = node.opset() < 11 ? Value() : node.input(2);
  if (value && value.elements() != 1) return node.invalid("constant_value must be a scalar");
  if (*mode == ir::PadMode::kConstant && has_counts(x)) {
    x = pad_counted(x, &attrs, value ? value : scalar_like(x, old_value));
  }
  if (!value || *mode == ir::PadMode::kEdge) return pad(x, std::move(attrs));
  // A double holds all values but large ones of 64 bits.
  const bool is_wide = x.dtype() == DType::kInt64 || x.dtype() == DType::kUInt64;
  const std::optional<std::vector<double>> known = value.known_doubles();
  if (!known || (is_wide && std::abs(known->front()) > 9007199254740992.0)) {
    return pad_with(x, attrs, value);
  }
  attrs.value = known->front();
  return pad(x, std::move(attrs));
}

Value read_center_crop_pad(NodeReader& node) {
  Value x = node.input(0);
  const std::optional<Shape> target = node.known_ints(1, "shape");
  std::optional<Shape> axes = node.ints_attr("axes");
  if (!target) return {};
  if (!axes) {
    axes = Shape();
    for (int i = 0; i < x.rank(); ++i) axes->push_back(i);
  }
  if (axes->size() != target->size() || !node.axes(*axes, x.rank())) {
    return node.invalid("needs one extent for each axis");
  }
  ir::PadAttrs attrs{Shape(x.shape().size(), 0), Shape(x.shape().size(), 0)};
  for (size_t i = 0; i < axes->size() && x; ++i) {
    const int axis = node.axis((*axes)[i], x.rank());
    const int64_t wanted = (*target)[i];
    const int64_t extent = x.dim(axis);
    if (wanted < 0) return node.invalid("the extents must not be negative");
    if (has_count(x, axis)) {
      return node.unsupported("the extent of axis %d depends on data; use Slice and Pad", axis);
    }
    if (wanted < extent) {
      x = slice_axis(x, axis, (extent - wanted) / 2, wanted);
    } else {
      attrs.before[static_cast<size_t>(axis)] = (wanted - extent) / 2;
      attrs.after[static_cast<size_t>(axis)] = wanted - extent - (wanted - extent) / 2;
    }
  }
  return pad(x, std::move(attrs));
}

constexpr OpRow kOps[] = {
    {"Slice", 7, 1, 5, read_slice},
    {"Pad", 7, 1, 4, read_pad},
    {"CenterCropPad", 18, 2, 2, read_center_crop_pad},
};

}  // namespace

OpFamily slicing_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
