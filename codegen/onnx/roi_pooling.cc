// SPDX-License-Identifier: MIT
#include "codegen/onnx/roi_pooling.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace camshaft::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements between the two steps of a pooling; regions beyond that go into further parts.
constexpr int64_t kMostElements = 1 << 24;

// At most 6 samples of a bin reach an element, which is from 2 before it (where it is the second)
// to 1 behind. One more before and one behind them allow for places that were rounded.
constexpr int64_t kNearSamples = 8;

// --- Pooling -------------------------------------------------------------------------------------

AxisWeights part_of(const AxisWeights& weights, int64_t first, int64_t count) {
  return {slice_axis(weights.weight, 0, first, count),
          slice_axis(weights.negative, 0, first, count),
          slice_axis(weights.counts, 0, first, count)};
}

// Pools axis `axis` of x; the weights' axes are `places` of its axes.
Value pool_axis(Value x, const AxisWeights& weights, const std::vector<int>& places, int axis,
                ir::ReduceKind kind) {
  if (!x) return {};
  const auto placed = [&](Value value) { return place_axes(value, places, x.rank()); };
  Value terms = x;
  if (weights.weight) {
    const Value weight = placed(weights.weight);
    terms =
        x * (weights.negative ? select(less(x, 0.0), placed(weights.negative), weight) : weight);
  }
  if (weights.counts) terms = select(placed(weights.counts), terms, scalar_like(x, -kInfinity));
  return drop_axes(reduce(kind, terms, {axis}), {axis});
}

// Sums of [R, C, H, W] (R may be 1 for all) along W as [R, Q, W] weigh them: [R, C, H, Q].
Value sum_columns(Value planes, Value weight) {
  if (!planes || !weight) return {};
  const int64_t channels = planes.dim(1);
  const int64_t rows = planes.dim(2);
  const Value flat = reshape(planes, {planes.dim(0), channels * rows, planes.dim(3)});
  return reshape(matmul(flat, transpose(weight, {0, 2, 1})),
                 {weight.dim(0), channels, rows, weight.dim(1)});
}

// [R, C, H, W] to [R, C, H, Q] to [R, C, P, Q].
Value pool_part(Value planes, const AxisWeights& rows, const AxisWeights& columns,
                ir::ReduceKind kind) {
  if (!planes) return {};
  const bool is_product =
      kind == ir::ReduceKind::kSum && columns.weight && !columns.negative && !columns.counts;
  const Value narrow = is_product ? sum_columns(planes, columns.weight)
                                  : pool_axis(insert_axis(planes, 3), columns, {0, 3, 4}, 4, kind);
  return narrow ? pool_axis(insert_axis(narrow, 2), rows, {0, 2, 3}, 3, kind) : Value();
}

// --- Samples near elements -----------------------------------------------------------------------

// [R] as the first of `rank` axes.
Value by_region(Value value, int rank) {
  return place_axes(value, {0}, rank);
}

Value count_along(Value like, int64_t count, int axis, int rank) {
  return place_axes(cast(like.builder()->iota(count), like.dtype()), {axis}, rank);
}

// Where samples `number` of the bins lie, which are on axis `bin_axis` of its rank.
Value sample_places(const SampledAxis& axis, int64_t bins, int bin_axis, Value number) {
  const int rank = number.rank();
  const Value bin = by_region(axis.bin, rank);
  const Value start = by_region(axis.begin, rank) + count_along(number, bins, bin_axis, rank) * bin;
  return start + (number + 0.5) * bin / by_region(axis.count, rank);
}

Value is_left_out(Value places, int64_t extent) {
  return is_outside(places, {-1, static_cast<double>(extent)});
}

}  // namespace

Taps sampled_taps(const SampledAxis& axis, int64_t samples, int64_t bins, int64_t extent,
                  int64_t elements) {
  if (!axis.begin || !axis.bin || !axis.count) return {};
  const int64_t regions = axis.begin.dim(0);
  const auto last = static_cast<double>(extent - 1);
  const Value number = count_along(axis.begin, samples, 1, 3);
  const Value places = reshape(sample_places(axis, bins, 2, number), {regions, samples * bins});
  const Taps taps = make_taps(min(max(places, 0.0), last), linear_kernel(), Padding::kBorder,
                              {0, last}, extent, elements);
  const Value left_out = insert_axis(is_left_out(places, extent), 1);
  const Value weight = select(left_out, scalar_like(taps.weight, 0), taps.weight);
  const Shape shape = {regions, 2 * samples, bins};
  return {reshape(taps.index, shape), reshape(weight, shape)};
}

Value pool_regions(Value x, Value plane, const AxisWeights& rows, const AxisWeights& columns,
                   ir::ReduceKind kind) {
  if (!x || !plane) return {};
  CAMSHAFT_CHECK(x.rank() == 4);
  const bool one_plane = x.dim(0) == 1;
  const int64_t bins = (columns.weight ? columns.weight : columns.counts).dim(1);
  const int64_t each = x.dim(1) * x.dim(2) * std::max<int64_t>(bins, 1);
  const int64_t most = std::max<int64_t>(kMostElements / std::max<int64_t>(each, 1), 1);
  std::vector<Value> parts;
  for (int64_t first = 0; first < plane.dim(0) || parts.empty(); first += most) {
    const int64_t count = std::min(most, plane.dim(0) - first);
    const Value number = to_indices(slice_axis(plane, 0, first, count), x.dim(0), x.elements());
    parts.push_back(pool_part(one_plane ? x : gather(x, number, 0), part_of(rows, first, count),
                              part_of(columns, first, count), kind));
  }
  return concat(parts, 0);
}

AxisWeights sampled_weights(const SampledAxis& axis, int64_t bins, int64_t extent,
                            ir::ReduceKind kind) {
  if (!axis.begin || !axis.bin || !axis.count) return {};
  const Value element = count_along(axis.begin, extent, 2, 4);
  const Value zero = scalar_like(element, 0);
  const Value step = by_region(axis.bin, 4) / by_region(axis.count, 4);
  const Value none = broadcast_to(zero, {1, 1, 1, 1});
  // Samples before the first element count as being there, where the second one has weight 0.
  const Value reach = select(less(element, 1.5), scalar_like(element, -1), element - 1.0);
  const Value before = (reach - sample_places(axis, bins, 1, none)) / step;
  const Value first = max(floor(before), 0.0);
  const Value number = first + count_along(first, kNearSamples, 3, 4);
  const Value place = sample_places(axis, bins, 1, number);
  const Value inside = min(max(place, 0.0), static_cast<double>(extent - 1));
  const Value is_valid =
      logical_and(less(number, by_region(axis.count, 4)), logical_not(is_left_out(place, extent)));
  const Value weight = max(1.0 - abs(inside - element), 0.0);
  const auto over_samples = [](ir::ReduceKind how, Value x) {
    return drop_axes(reduce(how, x, {3}), {3});
  };
  if (kind == ir::ReduceKind::kSum) {
    return {over_samples(kind, select(is_valid, weight, zero)), {}, {}};
  }
  // An element takes part in samples from one element before it up to, but without, one behind it;
  // a sample at the last element has that twice, once with weight 0.
  const Value takes_part = logical_and(
      is_valid, logical_and(less_equal(element - 1.0, inside), less(inside, element + 1.0)));
  const Value at_last = equal(inside + element, 2.0 * static_cast<double>(extent - 1));
  const Value smallest = select(at_last, zero, weight);
  const Value counts = over_samples(ir::ReduceKind::kMax, cast(takes_part, element.dtype()));
  return {over_samples(ir::ReduceKind::kMax, select(takes_part, weight, zero)),
          over_samples(ir::ReduceKind::kMin,
                       select(takes_part, smallest, scalar_like(element, kInfinity))),
          cast(counts, DType::kBool)};
}

Value leaves_out(const SampledAxis& axis, int64_t bins, int64_t extent) {
  if (!axis.begin || !axis.bin || !axis.count) return {};
  const Value first = broadcast_to(scalar_like(axis.count, 0), {1, 1});
  const Value any =
      logical_or(is_left_out(sample_places(axis, bins, 1, first), extent),
                 is_left_out(sample_places(axis, bins, 1, by_region(axis.count, 2) - 1.0), extent));
  return logical_and(any, less(first, by_region(axis.count, 2)));
}

}  // namespace camshaft::onnx
