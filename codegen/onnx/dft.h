// SPDX-License-Identifier: MIT
// Discrete Fourier transforms, made of matrix products with tables of cosines and sines.
//
//   X[k] = sum over n of x[n] e^(-2 pi i k n / N)      x[n] = 1/N sum over k of X[k] e^(2 pi i k n
//   / N)
//
// Up to kDirectLength a transform is one product. A longer one of length A * B is A-point
// transforms, a rotation of each number and B-point transforms (Cooley and Tukey), again and again;
// a length with a large prime factor becomes a convolution, by transforms of a power of two
// (Bluestein).
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// Where the product's cost overtakes that of two shorter transforms and the moves between them.
inline constexpr int64_t kDirectLength = 512;

struct Dft {
  int64_t length = 1;  // N
  bool inverse = false;
  // Only the bins [0, N/2], of which the others of a real signal follow. Inverse: they are what is
  // given, and the signal is real.
  bool onesided = false;

  int64_t bins() const { return onesided ? length / 2 + 1 : length; }
};

// Of x [rows, samples, 1 or 2], f32 or f64, along the samples; 2: real and imaginary part. A signal
// that is too short is continued with zeros, one that is too long is cut. The result is [rows,
// bins, 2], for the inverse of a real signal [rows, N, 1].
Value dft(Value x, const Dft& transform);

// The coefficients of the direct form, [used samples * parts][bins * 2], for the first `samples`
// numbers of a signal of `parts` parts.
std::vector<double> dft_table(const Dft& transform, int64_t samples, int64_t parts);

}  // namespace camshaft::onnx
