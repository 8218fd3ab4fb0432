// SPDX-License-Identifier: MIT
#include "codegen/onnx/formulas.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/extents.h"

namespace camshaft::onnx {

std::vector<int> axis_range(int begin, int end) {
  std::vector<int> axes(static_cast<size_t>(std::max(end - begin, 0)));
  std::iota(axes.begin(), axes.end(), begin);
  return axes;
}

Value matrix_product(Value a, Value b) {
  if (!a || !b) return {};
  if (a.rank() == 0 || b.rank() == 0) return a.builder()->fail("can't multiply scalars");
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  if (row) a = insert_axis(a, 0);
  if (column) b = insert_axis(b, 1);
  watch_equal(a, a.rank() - 1, b, b.rank() - 2);
  const Value y = matmul(a, b);
  std::vector<int> gone;
  if (row) gone.push_back(y.rank() - 2);
  if (column) gone.push_back(y.rank() - 1);
  return drop_axes(y, gone);
}

Value softmax(Value x, const std::vector<int>& axes) {
  const Value powers = exp(x - reduce(ir::ReduceKind::kMax, x, axes));
  return powers / reduce(ir::ReduceKind::kSum, powers, axes);
}

Value softmax_or_zero(Value x, const std::vector<int>& axes) {
  const Value largest = reduce(ir::ReduceKind::kMax, x, axes);
  const Value is_empty = equal(largest, -std::numeric_limits<double>::infinity());
  const Value powers = exp(x - select(is_empty, scalar_like(largest, 0), largest));
  const Value sum = reduce(ir::ReduceKind::kSum, powers, axes);
  return powers / select(is_empty, scalar_like(sum, 1), sum);
}

Normalized normalize(Value x, const std::vector<int>& axes, double epsilon) {
  const Value center = mean(x, axes);
  const Value centered = x - center;
  const Value inverse = 1.0 / sqrt(mean(centered * centered, axes) + epsilon);
  return {centered * inverse, center, inverse};
}

Normalized normalize_rms(Value x, const std::vector<int>& axes, double epsilon) {
  const Value inverse = 1.0 / sqrt(mean(x * x, axes) + epsilon);
  return {x * inverse, Value(), inverse};
}

}  // namespace camshaft::onnx
