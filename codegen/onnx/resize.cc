// SPDX-License-Identifier: MIT
#include "codegen/onnx/resize.h"

#include <algorithm>
#include <cmath>

namespace camshaft::onnx {
namespace {

// The position in the input of output element i. In float, nearest neighbours come out as in
// onnxruntime where the exact position lies between two; weights are better computed in double.
template <typename Real>
Real input_position(Coordinates coordinates, const ResizeAxis& axis, int64_t i) {
  const auto x = static_cast<Real>(i);
  const auto scale = static_cast<Real>(axis.scale);
  const auto last = static_cast<Real>(axis.input - 1);
  // May be fractional where a scale was given: the spec's length_resized, unrounded.
  const Real length = static_cast<Real>(axis.input) * scale;
  const auto half = static_cast<Real>(0.5);
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return (x + half) / scale - half;
    case Coordinates::kHalfPixelSymmetric: {
      const Real adjustment = static_cast<Real>(axis.output) / length;
      return static_cast<Real>(axis.input) * half * (1 - adjustment) + (x + half) / scale - half;
    }
    case Coordinates::kPytorchHalfPixel:
      return axis.output > 1 ? (x + half) / scale - half : 0;
    case Coordinates::kAlignCorners:
      return length == 1 ? 0 : x * last / (length - 1);
    case Coordinates::kAsymmetric:
      return x / scale;
    case Coordinates::kTfHalfPixelForNn:
      return (x + half) / scale;
    case Coordinates::kTfCropAndResize: {
      const auto begin = static_cast<Real>(axis.roi_begin);
      const auto end = static_cast<Real>(axis.roi_end);
      if (axis.output <= 1) return half * (begin + end) * last;
      return begin * last + x * (end - begin) * last / (length - 1);
    }
  }
  return 0;
}

// A table index from a position, which hostile scales may put anywhere.
int64_t to_index(double position) {
  return static_cast<int64_t>(std::clamp(position, -1e15, 1e15));
}

int64_t nearest_index(NearestMode mode, float position) {
  switch (mode) {
    case NearestMode::kRoundPreferFloor:
      return to_index(std::ceil(position - 0.5F));
    case NearestMode::kRoundPreferCeil:
      return to_index(std::floor(position + 0.5F));
    case NearestMode::kFloor:
      return to_index(std::floor(position));
    case NearestMode::kCeil:
      return to_index(std::ceil(position));
  }
  return 0;
}

// Keys' cubic kernel at distance |d| (in input elements).
double cubic_weight(double d, double a) {
  d = std::abs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

double kernel_weight(const ResizeMode& mode, double distance) {
  return mode.interpolation == Interpolation::kCubic ? cubic_weight(distance, mode.cubic_a)
                                                     : std::max(1 - std::abs(distance), 0.0);
}

// When shrinking, antialiasing stretches the kernel over as many input elements as an output
// element covers.
double stretch(const ResizeMode& mode, const ResizeAxis& axis) {
  return mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
}

// The first tap, relative to the element left of the position.
int64_t first_tap(const ResizeMode& mode, const ResizeAxis& axis) {
  const double reach = mode.interpolation == Interpolation::kCubic ? 2 : 1;
  return to_index(std::floor(-reach / stretch(mode, axis))) + 1;
}

// Weights of the taps at indices from `start`, which sum to 1 unless they do so by nature.
std::vector<double> tap_weights(const ResizeMode& mode, const ResizeAxis& axis, int64_t start,
                                double position) {
  std::vector<double> weights(static_cast<size_t>(tap_count(mode, axis)));
  double sum = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const int64_t index = start + static_cast<int64_t>(k);
    const bool excluded = mode.exclude_outside && (index < 0 || index >= axis.input);
    const double distance = (static_cast<double>(index) - position) * stretch(mode, axis);
    weights[k] = excluded ? 0 : kernel_weight(mode, distance);
    sum += weights[k];
  }
  if ((mode.antialias || mode.exclude_outside) && sum != 0) {
    for (double& weight : weights) weight /= sum;
  }
  return weights;
}

}  // namespace

int64_t tap_count(const ResizeMode& mode, const ResizeAxis& axis) {
  return mode.interpolation == Interpolation::kNearest ? 1 : 2 - 2 * first_tap(mode, axis);
}

Taps make_taps(const ResizeMode& mode, const ResizeAxis& axis) {
  const auto count = static_cast<size_t>(tap_count(mode, axis));
  const auto outputs = static_cast<size_t>(axis.output);
  Taps taps{std::vector(count, ir::Shape(outputs)),
            std::vector(count, std::vector<double>(outputs, 1.0)), std::vector<bool>(outputs)};
  for (size_t i = 0; i < outputs; ++i) {
    const auto position = input_position<double>(mode.coordinates, axis, static_cast<int64_t>(i));
    taps.is_outside[i] = mode.coordinates == Coordinates::kTfCropAndResize &&
                         (position < 0 || position > static_cast<double>(axis.input - 1));
    // A position on an element counts as just right of the element before it.
    int64_t start = to_index(std::ceil(position)) - 1 + first_tap(mode, axis);
    if (mode.interpolation == Interpolation::kNearest) {
      start = nearest_index(mode.nearest,
                            input_position<float>(mode.coordinates, axis, static_cast<int64_t>(i)));
    } else {
      const std::vector<double> weights = tap_weights(mode, axis, start, position);
      for (size_t k = 0; k < count; ++k) taps.weights[k][i] = weights[k];
    }
    for (size_t k = 0; k < count; ++k) {
      taps.indices[k][i] = std::clamp<int64_t>(start + static_cast<int64_t>(k), 0, axis.input - 1);
    }
  }
  return taps;
}

}  // namespace camshaft::onnx
