// SPDX-License-Identifier: MIT
// Sampling a tensor at positions between its elements: what GridSample, DeformConv and RoiAlign
// share. A sample is a weighted sum of taps, the elements around its position. Indices and weights
// of the taps are tables of their own, computed once for all channels; the samples are then one
// kernel of gathers.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// What lies outside the elements: zeros, the nearest element, or the elements mirrored.
enum class Padding : uint8_t { kZeros, kBorder, kReflection };

// The positions that count as inside: between the centres of the corner elements, or their edges.
struct Borders {
  double low = 0;
  double high = 0;
};

// Taps at floor(position) + first + k, whose weights are polynomials of the fraction.
struct Kernel1d {
  int64_t first = 0;
  std::vector<std::vector<double>> coefficients;  // [power, ascending][tap]
};
const Kernel1d& linear_kernel();
const Kernel1d& cubic_kernel();  // Keys, a = -3/4

// Samples' taps: indices in [0, extent) of the axis that they are of, and their weights (floats).
// Both are [B, K, Q]: K taps for each of Q samples of B rows.
struct Taps {
  Value index;
  Value weight;
};

Value is_outside(Value positions, Borders borders);

// Positions outside brought inside as `padding` says; kZeros leaves them.
Value pad_positions(Value positions, Padding padding, Borders borders, int64_t extent);

// Float positions as indices of an axis: truncated, and the nearest of [0, extent) if outside. i32
// where indices below `elements` fit, else i64.
Value to_indices(Value positions, int64_t extent, int64_t elements);

// The taps of positions [B, Q] in elements of an axis. With kZeros, those outside weigh 0.
Taps make_taps(Value positions, const Kernel1d& kernel, Padding padding, Borders borders,
               int64_t extent, int64_t elements);

// Taps of two axes as taps of both, flattened: each outer one with each inner one.
Taps outer_product(const Taps& outer, const Taps& inner, int64_t inner_extent);

// Elements `index` [B, Q] of planes of x [N, C, S], S being flattened spatial axes: [B, C, Q]. Row
// b of `index` is of plane plane[b] ([B], integers, clamped to [0, N)), or b if `plane` is absent.
Value gather_planes(Value x, Value plane, Value index);

// The same for samples: their taps, weighted, then combined by `kind` (kSum or kMax). x is a float
// in its compute dtype, as is the result.
Value sample_planes(Value x, Value plane, const Taps& taps, ir::ReduceKind kind);

// `x` in the dtype that it is computed in: f32 for integers and halves.
Value computable(Value x);

}  // namespace camshaft::onnx
