// SPDX-License-Identifier: MIT
// Pooling over regions: the samples of RoiAlign's bins, and pooling without samples.
//
// Where the number of samples depends on the region, and for MaxRoiPool, every element of the
// feature map takes part in every bin, with a weight that is mostly 0: so no size depends on data.
// It is separable: first columns are weighted, then rows.
//
// Letters of shapes: R regions have B bins along an axis of D elements.
#pragma once

#include <cstdint>

#include "codegen/onnx/sampling.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// One axis of regions whose bins hold `count` samples each, at begin + bin * (b + (i + 1/2) /
// count). All are [R].
struct SampledAxis {
  Value begin;
  Value bin;
  Value count;
};

// The taps of a fixed number of samples, interpolated linearly: [R, 2 * samples, B].
Taps sampled_taps(const SampledAxis& axis, int64_t samples, int64_t bins, int64_t extent,
                  int64_t elements);

// What the elements of an axis count in each bin, [R, B, D].
struct AxisWeights {
  Value weight;    // absent: 1
  Value negative;  // of a maximum: the weight of elements below 0; absent: the same
  Value counts;    // of a maximum: false where an element takes no part
};

// Sums or maxima (kSum, kMax) over the elements of x [N, C, H, W], floats of a compute dtype, each
// in plane plane[r] ([R], clamped to [0, N)), as rows and columns weigh them: [R, C, row bins,
// column bins]. Where none counts, a maximum is -inf or NaN.
Value pool_regions(Value x, Value plane, const AxisWeights& rows, const AxisWeights& columns,
                   ir::ReduceKind kind);

// The weights that give the sum or the maximum of all samples of a bin, each interpolated linearly.
// Samples more than 1 beyond the elements are left out. The count must be the bin's size rounded
// up: then samples are at most 1 and, but for a single one, more than 1/2 apart.
AxisWeights sampled_weights(const SampledAxis& axis, int64_t bins, int64_t extent,
                            ir::ReduceKind kind);

// Whether sampled_weights() left out samples of a bin: [R, B].
Value leaves_out(const SampledAxis& axis, int64_t bins, int64_t extent);

}  // namespace camshaft::onnx
