// SPDX-License-Identifier: MIT
// MatMul, Conv and Pool. Floats go through Eigen; integers through loops that wrap.
#include <Eigen/Core>
#include <algorithm>

#include "codegen/ir/literal.h"
#include "codegen/ir/oracle_eval.h"

namespace camshaft::ir {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// c[m,n] = a[m,k] * b[k,n], row-major; c's rows are `c_stride` apart.
void multiply(const double* a, const double* b, double* c, int64_t m, int64_t k, int64_t n,
              int64_t c_stride) {
  Eigen::Map<Matrix<double>, 0, Eigen::OuterStride<>> result(c, m, n,
                                                             Eigen::OuterStride<>(c_stride));
  // An empty sum is zero; Eigen leaves the result alone then.
  result.setZero();
  result.noalias() +=
      Eigen::Map<const Matrix<double>>(a, m, k) * Eigen::Map<const Matrix<double>>(b, k, n);
}

void multiply(const int64_t* a, const int64_t* b, int64_t* c, int64_t m, int64_t k, int64_t n,
              int64_t c_stride) {
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      uint64_t sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        sum += static_cast<uint64_t>(a[row * k + i]) * static_cast<uint64_t>(b[i * n + column]);
      }
      c[row * c_stride + column] = static_cast<int64_t>(sum);
    }
  }
}

void wrap_all(OracleTensor& tensor) {
  for (int64_t& value : tensor.ints) value = wrap_to_dtype(value, tensor.type.dtype);
}

template <typename T>
void multiply_batches(const Evaluation& eval, std::vector<T>& to) {
  const Shape& a = eval.operand(0).type.shape;
  const Shape& b = eval.operand(1).type.shape;
  const size_t rank = a.size();
  const int64_t m = a[rank - 2];
  const int64_t k = a[rank - 1];
  const int64_t n = b[rank - 1];
  for (int64_t batch = 0; batch < count_of(a, 0, rank - 2); ++batch) {
    multiply(values_of(eval.operand(0), T{}).data() + batch * m * k,
             values_of(eval.operand(1), T{}).data() + batch * k * n, to.data() + batch * m * n, m,
             k, n, n);
  }
}

// A window over the spatial axes of [N, C, spatial...].
struct Window {
  Shape input;   // spatial extents
  Shape output;  // positions
  Shape kernel;
  const Shape& strides;
  const Shape& dilations;
  const Shape& pads_begin;
  const Shape& pads_end;

  template <typename Attrs>
  Window(const Shape& x, const Shape& y, Shape kernel_extents, const Attrs& attrs)
      : input(x.begin() + 2, x.end()),
        output(y.begin() + 2, y.end()),
        kernel(std::move(kernel_extents)),
        strides(attrs.strides),
        dilations(attrs.dilations),
        pads_begin(attrs.pads_begin),
        pads_end(attrs.pads_end) {}

  int64_t taps() const { return count_of(kernel, 0, kernel.size()); }
  int64_t positions() const { return count_of(output, 0, output.size()); }
  int64_t pixels() const { return count_of(input, 0, input.size()); }
};

enum class TapKind : uint8_t { kInside, kPadding, kBeyond };
struct Tap {
  TapKind kind;
  int64_t offset;  // within one channel, if inside
};

Tap locate(const Window& window, int64_t position, int64_t tap) {
  Tap result{TapKind::kInside, 0};
  int64_t stride = 1;
  for (size_t axis = window.input.size(); axis-- > 0;) {
    const int64_t at = position % window.output[axis] * window.strides[axis] +
                       tap % window.kernel[axis] * window.dilations[axis] - window.pads_begin[axis];
    position /= window.output[axis];
    tap /= window.kernel[axis];
    if (at >= window.input[axis] + window.pads_end[axis]) return {TapKind::kBeyond, 0};
    if (at < 0 || at >= window.input[axis]) result.kind = TapKind::kPadding;
    result.offset += at * stride;
    stride *= window.input[axis];
  }
  return result;
}

// Input elements that one tap meets at positions [first, first + count), zero in the padding.
template <typename T>
void copy_taps(const Window& window, const T* channel, int64_t tap, int64_t first, int64_t count,
               T* to) {
  for (int64_t i = 0; i < count; ++i) {
    const Tap found = locate(window, first + i, tap);
    to[i] = found.kind == TapKind::kInside ? channel[found.offset] : T{0};
  }
}

// One group of one image: weights [O, C * taps] times columns [C * taps, positions], the columns
// made for as many positions at a time as memory should hold.
template <typename T>
void convolve_group(const Window& window, const T* x, const T* w, int64_t channels, int64_t filters,
                    T* y) {
  constexpr int64_t kMaxColumnElements = int64_t{1} << 24;
  const int64_t depth = channels * window.taps();
  const int64_t positions = window.positions();
  const int64_t step = std::max<int64_t>(1, kMaxColumnElements / std::max<int64_t>(depth, 1));
  std::vector<T> columns;
  for (int64_t first = 0; first < positions; first += step) {
    const int64_t count = std::min(step, positions - first);
    columns.resize(static_cast<size_t>(depth * count));
    for (int64_t row = 0; row < depth; ++row) {
      copy_taps(window, x + row / window.taps() * window.pixels(), row % window.taps(), first,
                count, columns.data() + row * count);
    }
    multiply(w, columns.data(), y + first, filters, depth, count, positions);
  }
}

template <typename T>
void convolve(const Evaluation& eval, std::vector<T>& to) {
  const auto& attrs = eval.node.as<ConvAttrs>();
  const Shape& x = eval.operand(0).type.shape;
  const Shape& w = eval.operand(1).type.shape;
  const Window window(x, eval.node.type.shape, Shape(w.begin() + 2, w.end()), attrs);
  const int64_t channels = w[1];
  const int64_t filters = w[0] / attrs.groups;
  for (int64_t image = 0; image < x[0]; ++image) {
    for (int64_t group = 0; group < attrs.groups; ++group) {
      const int64_t at = image * attrs.groups + group;
      convolve_group(
          window, values_of(eval.operand(0), T{}).data() + at * channels * window.pixels(),
          values_of(eval.operand(1), T{}).data() + group * filters * channels * window.taps(),
          channels, filters, to.data() + at * filters * window.positions());
    }
  }
}

double pool_floats(const Window& window, const PoolAttrs& attrs, const double* channel,
                   int64_t position) {
  const bool average = attrs.kind == PoolKind::kAverage;
  double value = float_identity(average ? ReduceKind::kSum : ReduceKind::kMax);
  int64_t divisor = 0;
  for (int64_t tap = 0; tap < window.taps(); ++tap) {
    const Tap found = locate(window, position, tap);
    if (found.kind == TapKind::kInside ||
        (found.kind == TapKind::kPadding && attrs.count_include_pad)) {
      ++divisor;
    }
    if (found.kind != TapKind::kInside) continue;
    value = combine(average ? ReduceKind::kSum : ReduceKind::kMax, value, channel[found.offset]);
  }
  return average && divisor > 0 ? value / static_cast<double>(divisor) : value;
}

int64_t pool_ints(const Window& window, const int64_t* channel, int64_t position, DType dtype) {
  int64_t value = int_identity(ReduceKind::kMax, dtype);
  for (int64_t tap = 0; tap < window.taps(); ++tap) {
    const Tap found = locate(window, position, tap);
    if (found.kind != TapKind::kInside) continue;
    value = combine(ReduceKind::kMax, value, channel[found.offset], dtype);
  }
  return value;
}

}  // namespace

void evaluate_matmul(const Evaluation& eval, OracleTensor& result) {
  if (base::is_float(result.type.dtype)) {
    multiply_batches(eval, result.floats);
  } else {
    multiply_batches(eval, result.ints);
    wrap_all(result);
  }
}

void evaluate_conv(const Evaluation& eval, OracleTensor& result) {
  if (base::is_float(result.type.dtype)) {
    convolve(eval, result.floats);
  } else {
    convolve(eval, result.ints);
    wrap_all(result);
  }
}

void evaluate_pool(const Evaluation& eval, OracleTensor& result) {
  const auto& attrs = eval.node.as<PoolAttrs>();
  const OracleTensor& x = eval.operand(0);
  const Window window(x.type.shape, result.type.shape, attrs.kernel, attrs);
  const int64_t positions = window.positions();
  const int64_t count = result.type.elements();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t channel = i / positions * window.pixels();
    const auto slot = static_cast<size_t>(i);
    if (base::is_float(x.type.dtype)) {
      result.floats[slot] = pool_floats(window, attrs, x.floats.data() + channel, i % positions);
    } else {
      result.ints[slot] = pool_ints(window, x.ints.data() + channel, i % positions, x.type.dtype);
    }
  }
}

}  // namespace camshaft::ir
