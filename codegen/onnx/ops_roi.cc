// SPDX-License-Identifier: MIT
// Operators that pool over regions of interest: RoiAlign, MaxRoiPool. Letters of shapes: x is
// [N, C, H, W], there are R regions; P rows and Q columns of bins.
#include <optional>
#include <string>
#include <utility>

#include "codegen/onnx/op_table.h"
#include "codegen/onnx/roi_pooling.h"
#include "codegen/onnx/sampling.h"

namespace camshaft::onnx {
namespace {

using ir::ReduceKind;

// Column `which` of the regions, [R].
Value roi_column(Value rois, int which) {
  return drop_axes(slice_axis(rois, 1, which, 1), {1});
}

bool check_regions(NodeReader& node, int64_t columns) {
  const Value x = node.input(0);
  const Value rois = node.input(1);
  if (x.rank() == 4 && rois.rank() == 2 && rois.dim(1) == columns && base::is_float(x.dtype()) &&
      base::is_float(rois.dtype()) && x.elements() > 0) {
    return true;
  }
  node.invalid("needs x as [N, C, H, W] and rois as [R, %lld]; they are %s and %s",
               static_cast<long long>(columns), shape_text(x.shape()).c_str(),
               shape_text(rois.shape()).c_str());
  return false;
}

bool is_extent(int64_t value) {
  return value >= 1 && value <= INT32_MAX;
}

// --- RoiAlign ------------------------------------------------------------------------------------

struct RoiAlign {
  ReduceKind kind = ReduceKind::kSum;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t samples = 0;  // along each axis of a bin; 0: as many as elements fit
  double scale = 1;
  bool half_pixel = true;
};

std::optional<RoiAlign> read_attributes(NodeReader& node) {
  RoiAlign how;
  const std::string mode = node.string_attr("mode", "avg");
  how.kind = mode == "max" ? ReduceKind::kMax : ReduceKind::kSum;
  how.rows = node.int_attr("output_height", 1);
  how.columns = node.int_attr("output_width", 1);
  how.samples = node.int_attr("sampling_ratio", 0);
  how.scale = node.float_attr("spatial_scale", 1);
  const std::string coordinates =
      node.opset() < 16 ? "output_half_pixel"
                        : node.string_attr("coordinate_transformation_mode", "half_pixel");
  how.half_pixel = coordinates == "half_pixel";
  if ((mode != "avg" && mode != "max") || (!how.half_pixel && coordinates != "output_half_pixel")) {
    node.unsupported(
        "mode must be avg or max, coordinate_transformation_mode half_pixel or output_half_pixel");
    return std::nullopt;
  }
  if (is_extent(how.rows) && is_extent(how.columns) && how.samples >= 0 &&
      how.samples <= INT16_MAX) {
    return how;
  }
  node.invalid("output_height and output_width must be positive, sampling_ratio not negative");
  return std::nullopt;
}

// The axis whose first and last coordinates are columns `first` and first + 2 of the regions.
SampledAxis sampled_axis(Value rois, const RoiAlign& how, int first, int64_t bins) {
  const double shift = how.half_pixel ? 0.5 : 0;
  const Value begin = roi_column(rois, first) * how.scale - shift;
  const Value end = roi_column(rois, first + 2) * how.scale - shift;
  const Value size = how.half_pixel ? end - begin : max(end - begin, 1.0);
  const Value bin = size / static_cast<double>(bins);
  return {begin, bin,
          how.samples > 0 ? splat_like(bin, static_cast<double>(how.samples)) : ceil(bin)};
}

// Taps of rows [R, K, P] and columns [R, L, Q] as taps of the flattened map, [R, K * L, P * Q].
Taps cross(const Taps& rows, const Taps& columns, int64_t width) {
  if (!rows.index || !columns.index) return {};
  const Shape shape = {rows.index.dim(0), rows.index.dim(1) * columns.index.dim(1),
                       rows.index.dim(2) * columns.index.dim(2)};
  const auto down = [](Value value) { return place_axes(value, {0, 1, 3}, 5); };
  const auto across = [](Value value) { return place_axes(value, {0, 2, 4}, 5); };
  const Value index = down(rows.index) * static_cast<double>(width) + across(columns.index);
  return {reshape(index, shape), reshape(down(rows.weight) * across(columns.weight), shape)};
}

// As many samples in each bin, whatever its size.
Value align_fixed(Value x, Value plane, const SampledAxis& rows, const SampledAxis& columns,
                  const RoiAlign& how) {
  const Taps taps =
      cross(sampled_taps(rows, how.samples, how.rows, x.dim(2), x.elements()),
            sampled_taps(columns, how.samples, how.columns, x.dim(3), x.elements()), x.dim(3));
  const Value y =
      sample_planes(reshape(x, {x.dim(0), x.dim(1), x.dim(2) * x.dim(3)}), plane, taps, how.kind);
  return reshape(y, {plane.dim(0), x.dim(1), how.rows, how.columns});
}

// Bins of an axis beside those of the other: [R, P] and [R, Q] as [R, 1, P, Q].
Value crossed(Value down, Value across, Value (*combine)(Value, Value)) {
  return insert_axis(combine(insert_axis(down, 2), insert_axis(across, 1)), 1);
}

// Pooled maxima, but 0 for bins in which no element counts ([R, P, H] and [R, Q, W]).
Value or_zero(Value y, Value down, Value across) {
  if (!y || !down || !across) return {};
  const auto any = [](Value counts) {
    const Value number = reduce(ReduceKind::kMax, cast(counts, DType::kInt32), {2});
    return cast(drop_axes(number, {2}), DType::kBool);
  };
  return select(crossed(any(down), any(across), logical_and), y, scalar_like(y, 0));
}

// As many samples as a bin has elements, rounded up.
Value align_adaptive(Value x, Value plane, const SampledAxis& rows, const SampledAxis& columns,
                     const RoiAlign& how) {
  const AxisWeights down = sampled_weights(rows, how.rows, x.dim(2), how.kind);
  const AxisWeights across = sampled_weights(columns, how.columns, x.dim(3), how.kind);
  const Value y = pool_regions(x, plane, down, across, how.kind);
  if (how.kind == ReduceKind::kSum) return y;
  // A sample that is left out is worth 0.
  const Value best = or_zero(y, down.counts, across.counts);
  const Value leaves_some_out = crossed(leaves_out(rows, how.rows, x.dim(2)),
                                        leaves_out(columns, how.columns, x.dim(3)), logical_or);
  return select(leaves_some_out, max(best, 0.0), best);
}

Value read_roi_align(NodeReader& node) {
  const std::optional<RoiAlign> how = read_attributes(node);
  if (!how || !check_regions(node, 4)) return {};
  const Value x = computable(node.input(0));
  const Value rois = computable(node.input(1));
  const Value plane = node.input(2);
  if (plane.rank() != 1 || plane.dim(0) != rois.dim(0) || !base::is_int(plane.dtype())) {
    return node.invalid("batch_indices must be one integer for each of the %lld regions",
                        static_cast<long long>(rois.dim(0)));
  }
  const SampledAxis rows = sampled_axis(rois, *how, 1, how->rows);
  const SampledAxis columns = sampled_axis(rois, *how, 0, how->columns);
  if (!rows.count || !columns.count) return {};
  Value y = how->samples > 0 ? align_fixed(x, plane, rows, columns, *how)
                             : align_adaptive(x, plane, rows, columns, *how);
  if (how->kind == ReduceKind::kSum) {
    y = y / place_axes(max(rows.count * columns.count, 1.0), {0}, 4);
  }
  return cast(y, node.input(0).dtype());
}

// --- MaxRoiPool ----------------------------------------------------------------------------------

// Which elements of an axis the bins hold, [R, B, D]: whole elements, bins overlap.
Value elements_in_bins(Value rois, double scale, int first, int64_t bins, int64_t extent) {
  const auto rounded = [&](int which) {  // half away from zero
    const Value place = roi_column(rois, which) * scale;
    const Value size = floor(abs(place) + 0.5);
    return place_axes(select(less(place, 0.0), -size, size), {0}, 3);
  };
  const Value begin = rounded(first);
  const Value bin = max(rounded(first + 2) - begin + 1.0, 1.0) / static_cast<double>(bins);
  if (!bin) return {};
  const auto along = [&](int64_t count, int axis) {
    return place_axes(cast(rois.builder()->iota(count), bin.dtype()), {axis}, 3);
  };
  const Value number = along(bins, 1);
  const Value element = along(extent, 2);
  return logical_and(less_equal(floor(number * bin) + begin, element),
                     less(element, ceil((number + 1.0) * bin) + begin));
}

Value read_max_roi_pool(NodeReader& node) {
  const std::optional<Shape> bins = node.ints_attr("pooled_shape");
  const double scale = node.float_attr("spatial_scale", 1);
  if (!bins) return node.corrupt("attribute 'pooled_shape' is missing");
  if (bins->size() != 2 || !is_extent((*bins)[0]) || !is_extent((*bins)[1])) {
    return node.invalid("pooled_shape must be two positive extents");
  }
  if (!check_regions(node, 5)) return {};
  const Value x = computable(node.input(0));
  const Value rois = computable(node.input(1));
  const Value down = elements_in_bins(rois, scale, 2, (*bins)[0], x.dim(2));
  const Value across = elements_in_bins(rois, scale, 1, (*bins)[1], x.dim(3));
  if (!down || !across) return {};
  const Value y =
      pool_regions(x, roi_column(rois, 0), {{}, {}, down}, {{}, {}, across}, ReduceKind::kMax);
  return cast(or_zero(y, down, across), node.input(0).dtype());
}

constexpr OpRow kOps[] = {
    {"RoiAlign", 10, 3, 3, read_roi_align},
    {"MaxRoiPool", 7, 2, 2, read_max_roi_pool},
};

}  // namespace

OpFamily roi_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
