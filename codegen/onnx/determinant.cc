// SPDX-License-Identifier: MIT
#include "codegen/onnx/determinant.h"

#include <utility>

#include "codegen/onnx/builder.h"

namespace camshaft::onnx {
namespace {

// Element (row, column) of each matrix of [batch, n, n], as [batch].
Value element(Value x, int64_t row, int64_t column) {
  const Value one = slice_axis(slice_axis(x, 1, row, 1), 2, column, 1);
  return reshape(one, {x.dim(0)});
}

Value of_two(Value x, int64_t row, int64_t left, int64_t right) {
  return element(x, row, left) * element(x, row + 1, right) -
         element(x, row, right) * element(x, row + 1, left);
}

// The first row and column eliminated: [batch, n - 1, n - 1]; `*product` is multiplied by the
// pivot, with the sign that the exchange of rows gives. A column of zeros makes the product 0 and
// leaves the rest as it is.
Value eliminate(Value x, Value* product) {
  const int64_t batch = x.dim(0), n = x.dim(1);
  const Value column = slice_axis(x, 2, 0, 1);  // [batch, n, 1]
  const Value place = arg_reduce(abs(column), {ir::ReduceKind::kMax, 1});
  const Value is_pivot = equal(place_axes(x.builder()->iota(n), {1}, 3), place);
  const Value row =
      reduce(ir::ReduceKind::kSum, select(is_pivot, x, splat_like(x, 0)), {1});  // [batch, 1, n]
  const Value first = slice_axis(x, 1, 0, 1);
  const Value exchanged = slice_axis(select(is_pivot, first, x), 1, 1, n - 1);
  const Value pivot = slice_axis(row, 2, 0, 1);  // [batch, 1, 1]
  const Value signed_pivot = select(equal(place, 0.0), pivot, -pivot);
  *product = *product * reshape(signed_pivot, {batch});
  const Value divisor = select(equal(pivot, 0.0), splat_like(pivot, 1), pivot);
  const Value factors = slice_axis(exchanged, 2, 0, 1) / divisor;
  return slice_axis(exchanged, 2, 1, n - 1) - factors * slice_axis(row, 2, 1, n - 1);
}

}  // namespace

Value determinant(Value x) {
  if (!x) return {};
  const int64_t n = x.dim(-1);
  if (x.rank() < 2 || x.dim(-2) != n) {
    return x.builder()->fail("needs square matrices, not " + shape_text(x.shape()));
  }
  // Each step of the elimination is some kernels.
  constexpr int64_t kLargest = 64;
  if (n > kLargest)
    return x.builder()->fail("matrices larger than 64x64 are not supported",
                             base::Code::kUnsupported);
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  int64_t batch = 1;
  for (const int64_t extent : shape) batch *= extent;
  Value rest = reshape(x, {batch, n, n});
  Value product = x.builder()->splat({x.dtype(), {batch}}, 1);
  while (rest && rest.dim(1) > 3) rest = eliminate(rest, &product);
  if (!rest) return {};
  if (n == 1) product = element(rest, 0, 0);
  if (n == 2) product = of_two(rest, 0, 0, 1);
  if (n >= 3) {
    product = product * (element(rest, 0, 0) * of_two(rest, 1, 1, 2) -
                         element(rest, 0, 1) * of_two(rest, 1, 0, 2) +
                         element(rest, 0, 2) * of_two(rest, 1, 0, 1));
  }
  return reshape(product, std::move(shape));
}

}  // namespace camshaft::onnx
