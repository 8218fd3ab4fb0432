// SPDX-License-Identifier: MIT
#include "codegen/onnx/formulas.h"

#include <cmath>
#include <numbers>

namespace camshaft::onnx {

Value gelu(Value x) {
  return 0.5 * x * (1.0 + erf(x * std::numbers::sqrt2 * 0.5));
}

Value tanh_gelu(Value x) {
  const double scale = std::sqrt(2 * std::numbers::inv_pi);
  return 0.5 * x * (1.0 + tanh(scale * (x + 0.044715 * x * x * x)));
}

Value swish(Value x, double alpha) {
  return x * sigmoid(alpha == 1 ? x : alpha * x);
}

}  // namespace camshaft::onnx
