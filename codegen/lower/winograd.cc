// SPDX-License-Identifier: MIT
#include "codegen/lower/winograd.h"

#include <algorithm>
#include <cmath>

#include "codegen/ir/literal.h"

namespace camshaft::lower {
namespace {

constexpr int64_t kTaps = 3;
constexpr int64_t kErrorChannels = 32;  // output channels that winograd_error() looks at
constexpr int64_t kErrorPatches = 4;

// Plain arithmetic, rounded as the kernels round it.
template <class Number>
struct NumberOps {
  using Value = Number;
  Number mul(double a, Number b) { return static_cast<Number>(a) * b; }
  Number add(Number a, Number b) { return a + b; }
  Number sub(Number a, Number b) { return a - b; }
  Number fma(double a, Number b, Number c) { return std::fma(static_cast<Number>(a), b, c); }
};

// 0, +p, -p, ...: without infinity.
std::vector<double> finite_points(const std::vector<double>& pairs) {
  std::vector<double> points = {0.0};
  for (const double point : pairs) {
    points.push_back(point);
    points.push_back(-point);
  }
  return points;
}

// Rows of n x 3: the value at each point of the polynomial that the taps are, over the product of
// the distances to the other points.
std::vector<std::vector<double>> weight_matrix(const std::vector<double>& pairs) {
  const std::vector<double> points = finite_points(pairs);
  std::vector<std::vector<double>> matrix;
  for (const double point : points) {
    double distances = 1.0;
    for (const double other : points) {
      if (other != point) distances *= point - other;
    }
    matrix.push_back({1.0 / distances, point / distances, point * point / distances});
  }
  matrix.push_back({0.0, 0.0, 1.0});
  return matrix;
}

// The same one-dimensional transform over the rows of a square, then over the columns.
template <class Value, class Transform>
std::vector<Value> in_two_dimensions(int64_t size, const std::vector<Value>& square,
                                     const Transform& transform) {
  std::vector<std::vector<Value>> rows;
  for (int64_t r = 0; r < size; ++r) {
    const auto begin = square.begin() + r * size;
    rows.push_back(transform(std::vector<Value>(begin, begin + size)));
  }
  const size_t width = rows[0].size();
  std::vector<Value> result(width * width);
  for (size_t column = 0; column < width; ++column) {
    std::vector<Value> line;
    for (const std::vector<Value>& row : rows) line.push_back(row[column]);
    const std::vector<Value> transformed = transform(line);
    for (size_t r = 0; r < width; ++r) result[r * width + column] = transformed[r];
  }
  return result;
}

// m x m outputs of one channel of outputs from n x n inputs of all channels, in float32.
std::vector<float> convolve_patch(const Winograd& winograd,
                                  const std::vector<std::vector<float>>& inputs,
                                  const std::vector<std::vector<double>>& weights) {
  NumberOps<float> ops;
  const int64_t n = winograd.size();
  std::vector<float> sums(static_cast<size_t>(n * n), 0.0f);
  for (size_t c = 0; c < inputs.size(); ++c) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] = std::fma(inputs[c][i], static_cast<float>(weights[c][i]), sums[i]);
    }
  }
  return in_two_dimensions<float>(n, sums, [&](const std::vector<float>& line) {
    return transform_output(winograd, ops, line);
  });
}

// A patch of random inputs, as it is and transformed, by channel.
struct Patch {
  std::vector<std::vector<float>> plain, transformed;
};

Patch make_patch(const Winograd& winograd, int64_t channels, uint64_t seed) {
  NumberOps<float> ops;
  const int64_t n = winograd.size();
  const ir::Literal random = ir::seeded_literal({ir::DType::kFloat32, {channels, n * n}}, seed);
  Patch patch;
  for (int64_t c = 0; c < channels; ++c) {
    const float* begin = random.data<float>() + c * n * n;
    patch.plain.emplace_back(begin, begin + n * n);
    patch.transformed.push_back(in_two_dimensions<float>(
        n, patch.plain.back(),
        [&](const std::vector<float>& line) { return transform_input(winograd, ops, line); }));
  }
  return patch;
}

// Output (row, column) of a patch, in double precision.
double exact_output(const Winograd& winograd, const Patch& patch, const float* weights, int64_t row,
                    int64_t column) {
  double sum = 0;
  for (const std::vector<float>& channel : patch.plain) {
    for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
      const int64_t at = (row + tap / kTaps) * winograd.size() + column + tap % kTaps;
      sum += static_cast<double>(channel[static_cast<size_t>(at)]) * *weights++;
    }
  }
  return sum;
}

}  // namespace

Winograd make_winograd(int64_t outputs) {
  std::vector<double> pairs = {1.0};
  if (outputs == 4) pairs = {0.625, 1.5};
  if (outputs == 6) pairs = {0.5, 1.0, 1.875};
  return {outputs, pairs, weight_matrix(pairs)};
}

std::vector<double> product_of_squares(const Winograd& winograd, int64_t skipped) {
  std::vector<double> coefficients = {1.0};
  for (int64_t pair = 0; pair < winograd.pairs(); ++pair) {
    if (pair == skipped) continue;
    const double point = winograd.points[static_cast<size_t>(pair)];
    coefficients.insert(coefficients.begin(), 0.0);
    for (size_t i = 0; i + 1 < coefficients.size(); ++i) {
      coefficients[i] -= point * point * coefficients[i + 1];
    }
  }
  return coefficients;
}

std::vector<double> transform_weights(const Winograd& winograd, const float* window) {
  const std::vector<std::vector<double>>& matrix = winograd.weights;
  const auto n = static_cast<size_t>(winograd.size());
  std::vector<double> half(n * kTaps, 0.0);
  for (size_t r = 0; r < n; ++r) {
    for (size_t column = 0; column < kTaps; ++column) {
      for (size_t k = 0; k < kTaps; ++k) {
        half[r * kTaps + column] += matrix[r][k] * static_cast<double>(window[k * kTaps + column]);
      }
    }
  }
  std::vector<double> result(n * n, 0.0);
  for (size_t r = 0; r < n; ++r) {
    for (size_t column = 0; column < n; ++column) {
      for (size_t k = 0; k < kTaps; ++k) {
        result[r * n + column] += half[r * kTaps + k] * matrix[column][k];
      }
    }
  }
  return result;
}

double winograd_error(const Winograd& winograd, const float* weights, int64_t out_channels,
                      int64_t in_channels) {
  std::vector<Patch> patches;
  for (uint64_t seed = 0; seed < kErrorPatches; ++seed) {
    patches.push_back(make_patch(winograd, in_channels, seed));
  }
  const int64_t m = winograd.outputs;
  const int64_t step = std::max<int64_t>(1, out_channels / kErrorChannels);
  double errors = 0;
  double squares = 0;
  for (int64_t o = 0; o < out_channels; o += step) {
    const float* of_channel = weights + o * in_channels * kTaps * kTaps;
    std::vector<std::vector<double>> transformed;
    for (int64_t c = 0; c < in_channels; ++c) {
      transformed.push_back(transform_weights(winograd, of_channel + c * kTaps * kTaps));
    }
    for (const Patch& patch : patches) {
      const std::vector<float> outputs = convolve_patch(winograd, patch.transformed, transformed);
      for (int64_t i = 0; i < m * m; ++i) {
        const double exact = exact_output(winograd, patch, of_channel, i / m, i % m);
        const double error = outputs[static_cast<size_t>(i)] - exact;
        errors += error * error;
        squares += exact * exact;
      }
    }
  }
  return squares > 0 ? std::sqrt(errors / squares) : 0.0;
}

}  // namespace camshaft::lower
