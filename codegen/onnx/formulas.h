// SPDX-License-Identifier: MIT
// Formulas that operators of several families share.
#pragma once

#include <vector>

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// Axes [begin, end).
std::vector<int> axis_range(int begin, int end);

// MatMul's product: a vector on the left is a row, on the right a column; the axis that it got goes
// again.
Value matrix_product(Value a, Value b);

// e^x over its sum along the axes.
Value softmax(Value x, const std::vector<int>& axes);
// The same, but 0 where all of a row is -inf.
Value softmax_or_zero(Value x, const std::vector<int>& axes);

// What normalizing by mean and variance over some axes gives; the statistics keep them with
// extent 1.
struct Normalized {
  Value y;
  Value mean;
  Value inverse_deviation;
};
Normalized normalize(Value x, const std::vector<int>& axes, double epsilon);
// The same by the mean square, without a mean.
Normalized normalize_rms(Value x, const std::vector<int>& axes, double epsilon);

}  // namespace camshaft::onnx
