// SPDX-License-Identifier: MIT
// Winograd's convolutions F(m x m, 3 x 3): m x m outputs of a 3 x 3 window from n x n inputs, n = m
// + 2, by n x n products of transformed inputs and transformed weights (Lavin and Gray, arXiv
// 1509.09308; the matrices are those of Toom and Cook). The points are 0, pairs +p and -p, and
// infinity: pairs share their even and odd halves, so a transform takes about half the arithmetic
// that its matrix has. The pairs are chosen for the error, not for round numbers: 5/8 and 3/2 lose
// half as many bits as the usual 1 and 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace camshaft::lower {

struct Winograd {
  int64_t outputs = 0;                       // m
  std::vector<double> points;                // the positive ones of the pairs; m / 2 of them
  std::vector<std::vector<double>> weights;  // n x 3: transforms a row of weights

  int64_t size() const { return outputs + 2; }
  int64_t pairs() const { return static_cast<int64_t>(points.size()); }
};

inline constexpr int64_t kWinogradOutputs[] = {2, 4, 6};
Winograd make_winograd(int64_t outputs);  // 2, 4 or 6

// Transformed weights of one 3 x 3 window, n x n, row-major, in double precision.
std::vector<double> transform_weights(const Winograd& winograd, const float* window);

// How far a float32 convolution by `winograd` is from the exact one: the root mean square of the
// error over that of the result, on seeded random patches and up to 32 of the output channels.
// `weights` are [out_channels][in_channels][3][3].
double winograd_error(const Winograd& winograd, const float* weights, int64_t out_channels,
                      int64_t in_channels);

// Coefficients, lowest power first and the highest 1, of the product of (y - p * p) over all points
// but number `skipped` (-1: all).
std::vector<double> product_of_squares(const Winograd& winograd, int64_t skipped);

// The one-dimensional transforms, written once for kernel expressions and for numbers. `Ops` has a
// type Value and mul(double, Value), add, sub, fma(double, Value, Value) = a * b + c.

// n inputs -> n, in the order of the points: 0, +p, -p, +q, -q, ..., infinity.
template <class Ops, class Value = typename Ops::Value>
std::vector<Value> transform_input(const Winograd& winograd, Ops& ops,
                                   const std::vector<Value>& d) {
  // sum over l of coefficients[l] * d[first + 2 * l]
  const auto every_second = [&](const std::vector<double>& coefficients, int64_t first) {
    const auto at = [&](size_t l) { return d[static_cast<size_t>(first) + 2 * l]; };
    Value sum = at(coefficients.size() - 1);
    for (size_t l = coefficients.size() - 1; l-- > 0;) sum = ops.fma(coefficients[l], at(l), sum);
    return sum;
  };
  std::vector<Value> result;
  const std::vector<double> all = product_of_squares(winograd, -1);
  result.push_back(every_second(all, 0));
  for (int64_t pair = 0; pair < winograd.pairs(); ++pair) {
    const std::vector<double> others = product_of_squares(winograd, pair);
    const Value even = every_second(others, 2);
    const Value odd = every_second(others, 1);
    const double point = winograd.points[static_cast<size_t>(pair)];
    result.push_back(ops.fma(point, odd, even));
    result.push_back(ops.fma(-point, odd, even));
  }
  result.push_back(every_second(all, 1));
  return result;
}

// n products in the order of the points -> m outputs.
template <class Ops, class Value = typename Ops::Value>
std::vector<Value> transform_output(const Winograd& winograd, Ops& ops,
                                    const std::vector<Value>& products) {
  std::vector<Value> sums;
  std::vector<Value> differences;
  for (size_t pair = 0; pair < winograd.points.size(); ++pair) {
    sums.push_back(ops.add(products[1 + 2 * pair], products[2 + 2 * pair]));
    differences.push_back(ops.sub(products[1 + 2 * pair], products[2 + 2 * pair]));
  }
  std::vector<double> powers(winograd.points.size(), 1.0);  // of the points, by pair
  std::vector<Value> result;
  for (int64_t i = 0; i < winograd.outputs; ++i) {
    const std::vector<Value>& terms = i % 2 == 0 ? sums : differences;
    size_t pair = terms.size() - 1;
    Value sum = terms[pair];
    if (i == 0) {
      sum = ops.add(products.front(), sum);
    } else if (i == winograd.outputs - 1) {
      sum = ops.fma(powers[pair], sum, products.back());
    } else {
      sum = ops.mul(powers[pair], sum);
    }
    while (pair-- > 0) sum = ops.fma(powers[pair], terms[pair], sum);
    result.push_back(sum);
    for (size_t p = 0; p < powers.size(); ++p) powers[p] *= winograd.points[p];
  }
  return result;
}

}  // namespace camshaft::lower
