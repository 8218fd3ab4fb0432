// SPDX-License-Identifier: MIT
// The arithmetic of Resize: which input elements make an output element, and with what weights.
// Resampling is separable, so one axis at a time is enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"

namespace camshaft::onnx {

// How output positions map to input positions: coordinate_transformation_mode of the operator.
enum class Coordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};
enum class NearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
enum class Interpolation : uint8_t { kNearest, kLinear, kCubic };

struct ResizeMode {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

// One axis to resample.
struct ResizeAxis {
  int64_t input = 1;  // extents
  int64_t output = 1;
  double scale = 1;      // output per input; input * scale need not be whole
  double roi_begin = 0;  // kTfCropAndResize: the part of the input, as fractions of its last index
  double roi_end = 1;
};

// Output element i is the sum over k of weights[k][i] * input[indices[k][i]]; indices are clamped
// to the input. `is_outside` marks those that the extrapolation value replaces.
struct Taps {
  std::vector<ir::Shape> indices;
  std::vector<std::vector<double>> weights;
  std::vector<bool> is_outside;
};

// How many input elements an output element is made of.
int64_t tap_count(const ResizeMode& mode, const ResizeAxis& axis);
// The table; its size is tap_count() times the output's extent, which the caller bounds.
Taps make_taps(const ResizeMode& mode, const ResizeAxis& axis);

}  // namespace camshaft::onnx
