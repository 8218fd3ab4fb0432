// SPDX-License-Identifier: MIT
#include "codegen/onnx/sampling.h"

#include <algorithm>

namespace camshaft::onnx {
namespace {

// Up to so many taps are a chain of multiply-adds, more are a reduction.
constexpr int64_t kMaxChainedTaps = 4;

// 0, 1, ... along `axis` of `rank` axes.
Value count_along(Builder& builder, int64_t count, int axis, int rank, DType dtype) {
  return place_axes(cast(builder.iota(count), dtype), {axis}, rank);
}

// A triangle wave between the borders.
Value reflected(Value positions, Borders borders) {
  const double range = borders.high - borders.low;
  if (range <= 0) return splat_like(positions, borders.low);
  const Value from_low = positions - borders.low;
  const Value phase = from_low - floor(from_low / (2 * range)) * (2 * range);
  return borders.low + min(phase, 2 * range - phase);
}

}  // namespace

const Kernel1d& linear_kernel() {
  static const Kernel1d kLinear = {0, {{1, 0}, {-1, 1}}};
  return kLinear;
}

const Kernel1d& cubic_kernel() {
  static const Kernel1d kCubic = {
      -1,
      {{0, 1, 0, 0}, {-0.75, 0, 0.75, 0}, {1.5, -2.25, 1.5, -0.75}, {-0.75, 1.25, -1.25, 0.75}}};
  return kCubic;
}

Value is_outside(Value positions, Borders borders) {
  return logical_or(less(positions, borders.low),
                    less(scalar_like(positions, borders.high), positions));
}

Value pad_positions(Value positions, Padding padding, Borders borders, int64_t extent) {
  if (padding == Padding::kZeros) return positions;
  const Value inside = padding == Padding::kReflection
                           ? reflected(positions, borders)
                           : min(max(positions, 0.0), static_cast<double>(extent - 1));
  return select(is_outside(positions, borders), inside, positions);
}

Value to_indices(Value positions, int64_t extent, int64_t elements) {
  const DType dtype = elements <= INT32_MAX ? DType::kInt32 : DType::kInt64;
  const auto last = static_cast<double>(std::max<int64_t>(extent - 1, 0));
  return min(max(cast(positions, dtype), 0.0), last);
}

Taps make_taps(Value positions, const Kernel1d& kernel, Padding padding, Borders borders,
               int64_t extent, int64_t elements) {
  if (!positions) return {};
  CAMSHAFT_CHECK(positions.rank() == 2);
  Builder& builder = *positions.builder();
  const DType dtype = positions.dtype();
  const auto count = static_cast<int64_t>(kernel.coefficients[0].size());
  const Value place = insert_axis(positions, 1);
  const Value base = floor(place);
  const Value fraction = place - base;
  Value weight;
  for (size_t power = kernel.coefficients.size(); power-- > 0;) {
    const Value factor = place_axes(builder.vector(dtype, kernel.coefficients[power]), {1}, 3);
    weight = weight ? weight * fraction + factor : factor;
  }
  const Value taps =
      base + (count_along(builder, count, 1, 3, dtype) + static_cast<double>(kernel.first));
  if (padding == Padding::kZeros) {
    const Value outside = is_outside(taps, {0, static_cast<double>(extent - 1)});
    weight = select(outside, scalar_like(weight, 0), weight);
  }
  return {to_indices(pad_positions(taps, padding, borders, extent), extent, elements), weight};
}

Taps outer_product(const Taps& outer, const Taps& inner, int64_t inner_extent) {
  if (!outer.index || !inner.index) return {};
  const Shape shape = {outer.index.dim(0), outer.index.dim(1) * inner.index.dim(1),
                       outer.index.dim(2)};
  const Value index =
      insert_axis(outer.index, 2) * static_cast<double>(inner_extent) + insert_axis(inner.index, 1);
  return {reshape(index, shape),
          reshape(insert_axis(outer.weight, 2) * insert_axis(inner.weight, 1), shape)};
}

Value gather_planes(Value x, Value plane, Value index) {
  if (!x || !index) return {};
  CAMSHAFT_CHECK(x.rank() == 3 && index.rank() == 2);
  const int64_t planes = x.dim(0);
  const int64_t channels = x.dim(1);
  const int64_t size = x.dim(2);
  if (planes == 1) {  // the channels are the rows of one matrix
    const Value rows = gather(reshape(x, {channels, size}), reshape(index, {index.elements()}), 1);
    return transpose(reshape(rows, {channels, index.dim(0), index.dim(1)}), {1, 0, 2});
  }
  Builder& builder = *x.builder();
  const DType dtype = x.elements() <= INT32_MAX ? DType::kInt32 : DType::kInt64;
  const Value number = plane ? to_indices(place_axes(plane, {0}, 3), planes, x.elements())
                             : count_along(builder, planes, 0, 3, dtype);
  const Value row =
      number * static_cast<double>(channels) + count_along(builder, channels, 1, 3, dtype);
  return gather(reshape(x, {x.elements()}),
                row * static_cast<double>(size) + insert_axis(cast(index, dtype), 1), 0);
}

Value sample_planes(Value x, Value plane, const Taps& taps, ir::ReduceKind kind) {
  if (!x || !taps.index || !taps.weight) return {};
  CAMSHAFT_CHECK(taps.index.rank() == 3 && taps.weight.shape() == taps.index.shape());
  const int64_t rows = taps.index.dim(0);
  const int64_t count = taps.index.dim(1);
  const int64_t samples = taps.index.dim(2);
  const auto weighted = [&](int64_t first, int64_t each) {
    const Value index = reshape(slice_axis(taps.index, 1, first, each), {rows, each * samples});
    const Value weight =
        reshape(slice_axis(taps.weight, 1, first, each), {rows, 1, each * samples});
    return gather_planes(x, plane, index) * cast(weight, x.dtype());
  };
  if (count > kMaxChainedTaps) {
    const Value all = reshape(weighted(0, count), {rows, x.dim(1), count, samples});
    return drop_axes(reduce(kind, all, {2}), {2});
  }
  Value result = weighted(0, 1);
  for (int64_t k = 1; k < count; ++k) {
    result = kind == ir::ReduceKind::kMax ? max(result, weighted(k, 1)) : result + weighted(k, 1);
  }
  return result;
}

Value computable(Value x) {
  const bool is_half = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  return is_half || !base::is_float(x.dtype()) ? cast(x, DType::kFloat32) : x;
}

}  // namespace camshaft::onnx
