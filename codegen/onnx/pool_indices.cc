// SPDX-License-Identifier: MIT
#include "codegen/onnx/pool_indices.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/extents.h"

namespace camshaft::onnx {
namespace {

// Windows of so many elements are compared one after the other; larger ones are gathered.
constexpr int64_t kMaxComparedTaps = 64;

class IndexBuilder {
 public:
  IndexBuilder(Value x, const ir::PoolAttrs& attrs, const Shape& outputs, bool column_major)
      : x_(x),
        builder_(*x.builder()),
        attrs_(attrs),
        outputs_(outputs),
        spatial_(outputs.size()),
        strides_(spatial_, 1) {
    for (size_t i = 1; i < spatial_; ++i) {
      const size_t axis = column_major ? i : spatial_ - 1 - i;
      const size_t inner = column_major ? i - 1 : spatial_ - i;
      strides_[axis] = strides_[inner] * extent(inner);
    }
    size_ = std::accumulate(x.shape().begin() + 2, x.shape().end(), int64_t{1},
                            std::multiplies<int64_t>());
    taps_ = std::accumulate(attrs.kernel.begin(), attrs.kernel.end(), int64_t{1},
                            std::multiplies<int64_t>());
  }

  Value build() {
    const Value offset = taps_ <= kMaxComparedTaps ? compared() : gathered();
    // Planes of N and C, then the corner of the window, then the place in the window.
    Value base = along(builder_.iota(x_.dim(0)), 0) * static_cast<double>(x_.dim(1)) +
                 along(builder_.iota(x_.dim(1)), 1);
    base = base * static_cast<double>(size_);
    for (size_t i = 0; i < spatial_; ++i) {
      base = base + along(corners(i), axis_of(i)) * static_cast<double>(strides_[i]);
    }
    return base + cast(offset, DType::kInt64);
  }

 private:
  static int axis_of(size_t i) { return static_cast<int>(i) + 2; }
  int64_t extent(size_t i) const { return x_.shape()[i + 2]; }
  Value along(Value values, int axis) { return place_axes(values, {axis}, x_.rank()); }

  Value corners(size_t i) {
    return builder_.iota(outputs_[i]) * static_cast<double>(attrs_.strides[i]) -
           static_cast<double>(attrs_.pads_begin[i]);
  }

  // The first and the last tap on axis i that are inside the input, for each output position.
  int64_t first_tap(size_t i, int64_t position) const {
    const int64_t before = attrs_.pads_begin[i] - position * attrs_.strides[i];
    return before <= 0 ? 0 : (before + attrs_.dilations[i] - 1) / attrs_.dilations[i];
  }
  int64_t last_tap(size_t i, int64_t position) const {
    const int64_t room = extent(i) - 1 + attrs_.pads_begin[i] - position * attrs_.strides[i];
    return std::min(room < 0 ? 0 : room / attrs_.dilations[i], attrs_.kernel[i] - 1);
  }

  // Places of tap numbers on axis i relative to the corner of the window.
  int64_t tap_offset(size_t i, int64_t tap) const {
    return tap * attrs_.dilations[i] * strides_[i];
  }

  // Compares tap after tap, row-major; padding is the lowest value, which never wins.
  Value compared() {
    const Value padded = pad_windows();
    const DType dtype = size_ <= INT32_MAX ? DType::kInt32 : DType::kInt64;
    Value best;
    Value offset = first_offsets(dtype);
    for (int64_t number = 0; number < taps_; ++number) {
      Value tap = padded;
      int64_t rest = number;
      int64_t place = 0;
      for (size_t i = spatial_; i-- > 0; rest /= attrs_.kernel[i]) {
        const int64_t at = rest % attrs_.kernel[i];
        tap = slice_axis(tap, axis_of(i), at * attrs_.dilations[i], outputs_[i], attrs_.strides[i]);
        place += tap_offset(i, at);
      }
      if (!tap) return {};
      if (number > 0) {
        const Value is_better = less(best, tap);
        offset = select(is_better, builder_.scalar(dtype, static_cast<double>(place)), offset);
        tap = select(is_better, tap, best);
      }
      best = tap;
    }
    return offset;
  }

  Value pad_windows() {
    ir::PadAttrs pads{Shape(x_.shape().size(), 0), Shape(x_.shape().size(), 0)};
    pads.value = lowest(x_.dtype());
    for (size_t i = 0; i < spatial_; ++i) {
      const int64_t reach =
          (outputs_[i] - 1) * attrs_.strides[i] + (attrs_.kernel[i] - 1) * attrs_.dilations[i] + 1;
      pads.before[i + 2] = attrs_.pads_begin[i];
      pads.after[i + 2] = std::max<int64_t>(reach - attrs_.pads_begin[i] - extent(i), 0);
    }
    return pad(x_, std::move(pads));
  }

  // Where the first taps inside the input lie: what stands if all of a window is the lowest value.
  Value first_offsets(DType dtype) {
    Value sum = builder_.scalar(dtype, 0, x_.rank());
    for (size_t i = 0; i < spatial_; ++i) {
      std::vector<double> places;
      for (int64_t p = 0; p < outputs_[i]; ++p) {
        places.push_back(static_cast<double>(tap_offset(i, first_tap(i, p))));
      }
      sum = sum + along(builder_.vector(dtype, places), axis_of(i));
    }
    return sum;
  }

  // Gathers the windows, taps outside replaced by the nearest inside, and asks for the largest.
  Value gathered() {
    Value windows = x_;
    Shape shape = {x_.dim(0), x_.dim(1)};
    for (size_t i = 0; i < spatial_; ++i) {
      windows = gather(windows, builder_.ints(tap_positions(i)), axis_of(i));
      shape.insert(shape.end(), {outputs_[i], attrs_.kernel[i]});
    }
    std::vector<int> perm = {0, 1};
    for (size_t i = 0; i < spatial_; ++i) perm.push_back(2 + 2 * static_cast<int>(i));
    for (size_t i = 0; i < spatial_; ++i) perm.push_back(3 + 2 * static_cast<int>(i));
    Shape flat = {x_.dim(0), x_.dim(1)};
    flat.insert(flat.end(), outputs_.begin(), outputs_.end());
    flat.push_back(taps_);
    const Value rows = reshape(transpose(reshape(windows, shape), std::move(perm)), flat);
    const int last = static_cast<int>(flat.size()) - 1;
    const Value number = drop_axes(arg_reduce(rows, {ir::ReduceKind::kMax, last}), {last});
    return offsets_of(number);
  }

  // The place in the window of row-major tap numbers, taps outside again replaced.
  Value offsets_of(Value number) {
    Value offset;
    for (size_t i = spatial_; i-- > 0;) {
      const Value kernel = scalar_like(number, static_cast<double>(attrs_.kernel[i]));
      const Value tap = rem(number, kernel);
      number = number / kernel;
      Shape first;
      Shape last;
      for (int64_t p = 0; p < outputs_[i]; ++p) {
        first.push_back(first_tap(i, p));
        last.push_back(last_tap(i, p));
      }
      const Value inside = min(max(tap, along(builder_.ints(first), axis_of(i))),
                               along(builder_.ints(last), axis_of(i)));
      const Value part = inside * static_cast<double>(tap_offset(i, 1));
      offset = offset ? offset + part : part;
    }
    return offset;
  }

  // For each output position on axis i and each tap the input position, one after the other.
  Shape tap_positions(size_t i) {
    Shape positions;
    for (int64_t p = 0; p < outputs_[i]; ++p) {
      for (int64_t k = 0; k < attrs_.kernel[i]; ++k) {
        const int64_t tap = std::min(std::max(k, first_tap(i, p)), last_tap(i, p));
        const int64_t at = p * attrs_.strides[i] - attrs_.pads_begin[i] + tap * attrs_.dilations[i];
        positions.push_back(std::clamp<int64_t>(at, 0, extent(i) - 1));
      }
    }
    return positions;
  }

  Value x_;
  Builder& builder_;
  const ir::PoolAttrs& attrs_;
  const Shape& outputs_;
  size_t spatial_;
  Shape strides_;  // of spatial axes in the numbers of elements
  int64_t size_ = 1;
  int64_t taps_ = 1;
};

}  // namespace

Value max_pool_indices(Value x, const ir::PoolAttrs& attrs, const Shape& outputs,
                       bool column_major) {
  if (!x) return {};
  CAMSHAFT_CHECK(x.rank() >= 3 && outputs.size() + 2 == x.shape().size());
  return IndexBuilder(x, attrs, outputs, column_major).build();
}

}  // namespace camshaft::onnx
