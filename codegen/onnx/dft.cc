// SPDX-License-Identifier: MIT
#include "codegen/onnx/dft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "codegen/ir/literal.h"
#include "codegen/onnx/builder.h"

namespace camshaft::onnx {
namespace {

using Complex = std::complex<double>;

constexpr double kPi = 3.14159265358979323846;

// e^(2 pi i numerator / denominator), exact at the quarters.
Complex turn(int64_t numerator, int64_t denominator) {
  int64_t rest = numerator % denominator;
  if (rest < 0) rest += denominator;
  if (rest * 4 % denominator == 0) {
    constexpr double kCosines[] = {1, 0, -1, 0};
    const int64_t quarter = rest * 4 / denominator;
    return {kCosines[quarter], kCosines[(quarter + 3) % 4]};
  }
  const double angle = 2 * kPi * static_cast<double>(rest) / static_cast<double>(denominator);
  return {std::cos(angle), std::sin(angle)};
}

Value table(Value like, Shape shape, const std::vector<double>& values) {
  return like.builder()->constant(ir::make_literal({like.dtype(), std::move(shape)}, values));
}

// x [..., n, 2] with each of the n numbers multiplied by its factor; the factors lie along the axes
// before the last one.
Value multiply(Value x, const std::vector<Complex>& factors, const Shape& shape) {
  if (!x || !x.builder()->may_make(static_cast<int64_t>(factors.size()) * 4)) return {};
  std::vector<double> straight, crossed;
  for (const Complex& factor : factors) {
    straight.insert(straight.end(), {factor.real(), factor.real()});
    crossed.insert(crossed.end(), {-factor.imag(), factor.imag()});
  }
  Shape pairs = shape;
  pairs.push_back(2);
  return x * table(x, pairs, straight) + flip(x, x.rank() - 1) * table(x, pairs, crossed);
}

// The first `count` of the numbers along axis 1, or zeros after them.
Value resized(Value x, int64_t count) {
  if (x.dim(1) >= count) return slice_axis(x, 1, 0, count);
  ir::PadAttrs zeros{{0, 0, 0}, {0, count - x.dim(1), 0}};
  return pad(x, std::move(zeros));
}

// The product with the table; the inverse is scaled.
Value direct(Value x, const Dft& transform) {
  const bool is_real = transform.inverse && transform.onesided;
  const int64_t columns = is_real ? transform.length : transform.bins() * 2;
  const int64_t used = std::min(x.dim(1), is_real ? transform.bins() : transform.length);
  const int64_t parts = x.dim(2);
  if (!x.builder()->may_make(used * parts * columns)) return {};
  const Value coefficients = table(x, {used * parts, columns}, dft_table(transform, used, parts));
  const Value flat = reshape(slice_axis(x, 1, 0, used), {x.dim(0), used * parts});
  const int64_t result_parts = is_real ? 1 : 2;
  return reshape(matmul(flat, coefficients), {x.dim(0), columns / result_parts, result_parts});
}

// The divisor nearest to the root, from below; 1 for a prime.
int64_t balanced_divisor(int64_t n) {
  auto divisor = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % divisor != 0) --divisor;
  return divisor;
}

// In place, of a power of two.
void transform_now(std::vector<Complex>& x) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t first = 0; first < n; first += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Complex odd =
            x[first + half + k] * turn(-static_cast<int64_t>(k), static_cast<int64_t>(2 * half));
        x[first + half + k] = x[first + k] - odd;
        x[first + k] += odd;
      }
    }
  }
}

Value complex_dft(Value x, int64_t n, bool inverse);

// With k n = (k^2 + n^2 - (k - n)^2) / 2 the sum is a convolution with e^(+- pi i n^2 / N).
Value chirp_dft(Value x, int64_t n, bool inverse) {
  int64_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  const int64_t sign = inverse ? 1 : -1;
  std::vector<Complex> chirp(static_cast<size_t>(n));
  std::vector<Complex> kernel(static_cast<size_t>(padded));
  for (int64_t i = 0; i < n; ++i) {
    chirp[static_cast<size_t>(i)] = turn(sign * (i * i % (2 * n)), 2 * n);
    kernel[static_cast<size_t>(i)] = std::conj(chirp[static_cast<size_t>(i)]);
    kernel[static_cast<size_t>(i == 0 ? 0 : padded - i)] = kernel[static_cast<size_t>(i)];
  }
  transform_now(kernel);
  for (Complex& factor : kernel) factor /= static_cast<double>(padded);  // of the inverse below
  const Value pairs = x.dim(2) == 1 ? pad(x, {{0, 0, 0}, {0, 0, 1}}) : x;
  const Value weighted = multiply(pairs, chirp, {n});
  if (!weighted) return {};
  const Value spectrum = complex_dft(resized(weighted, padded), padded, false);
  const Value convolved = complex_dft(multiply(spectrum, kernel, {padded}), padded, true);
  if (!convolved) return {};
  return multiply(slice_axis(convolved, 1, 0, n), chirp, {n});
}

// x [rows, n, 1 or 2] to [rows, n, 2], not scaled.
Value complex_dft(Value x, int64_t n, bool inverse) {
  if (!x) return {};
  const int64_t rows = x.dim(0);
  if (n <= kDirectLength) {
    const Value y = direct(x, {n, inverse, false});
    return inverse ? y * static_cast<double>(n) : y;
  }
  const int64_t a = balanced_divisor(n);
  if (a == 1) return chirp_dft(x, n, inverse);
  // Sample B j1 + j2 and bin k1 + A k2: over j1, rotate, over j2.
  const int64_t b = n / a;
  const int64_t parts = x.dim(2);
  const Value columns = transpose(reshape(x, {rows, a, b, parts}), {0, 2, 1, 3});
  Value y = complex_dft(reshape(columns, {rows * b, a, parts}), a, inverse);
  std::vector<Complex> factors;
  for (int64_t j = 0; j < b; ++j) {
    for (int64_t k = 0; k < a; ++k) factors.push_back(turn(inverse ? j * k : -j * k, n));
  }
  y = multiply(reshape(y, {rows, b, a, 2}), factors, {b, a});
  y = complex_dft(reshape(transpose(y, {0, 2, 1, 3}), {rows * a, b, 2}), b, inverse);
  return reshape(transpose(reshape(y, {rows, a, b, 2}), {0, 2, 1, 3}), {rows, n, 2});
}

// All bins of a real signal from those up to N/2: the others are their conjugates.
Value all_bins(Value x, int64_t n) {
  Value half = resized(x, n / 2 + 1);
  if (half && half.dim(2) == 1) half = pad(half, {{0, 0, 0}, {0, 0, 1}});
  if (!half) return {};
  const Value mirrored = flip(slice_axis(half, 1, 1, (n - 1) / 2), 1);
  return concat({half, mirrored * x.builder()->vector(x.dtype(), {1, -1})}, 1);
}

}  // namespace

std::vector<double> dft_table(const Dft& transform, int64_t samples, int64_t parts) {
  const int64_t n = transform.length;
  const bool is_real = transform.inverse && transform.onesided;
  const int64_t results = is_real ? n : transform.bins();
  std::vector<double> values;
  for (int64_t j = 0; j < samples; ++j) {
    // A bin stands for its conjugate too, but for the first one and, of an even length, the last.
    const bool is_own = !is_real || j == 0 || 2 * j == n;
    const double scale = transform.inverse ? (is_own ? 1.0 : 2.0) / static_cast<double>(n) : 1.0;
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t k = 0; k < results; ++k) {
        const Complex unit = scale * turn(transform.inverse ? j * k % n : -(j * k % n), n);
        const Complex factor = part == 0 ? unit : unit * Complex(0, 1);
        values.push_back(factor.real());
        if (!is_real) values.push_back(factor.imag());
      }
    }
  }
  return values;
}

Value dft(Value x, const Dft& transform) {
  if (!x) return {};
  if (transform.length <= kDirectLength) return direct(x, transform);
  const int64_t n = transform.length;
  const bool is_real = transform.inverse && transform.onesided;
  const Value y = complex_dft(is_real ? all_bins(x, n) : resized(x, n), n, transform.inverse);
  if (!y) return {};
  if (is_real) return slice_axis(y, 2, 0, 1) / static_cast<double>(n);
  return transform.inverse ? y / static_cast<double>(n) : slice_axis(y, 1, 0, transform.bins());
}

}  // namespace camshaft::onnx
