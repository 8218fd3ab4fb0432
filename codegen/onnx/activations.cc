// SPDX-License-Identifier: MIT
// Formulas are those of the ONNX operator list; that of LSTM has the names and defaults that
// recurrent networks know.
#include "codegen/onnx/activations.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace camshaft::onnx {

Value leaky_relu(Value x, double alpha) {
  return select(less(x, 0.0), x * alpha, x);
}

Value thresholded_relu(Value x, double alpha) {
  return select(less(splat_like(x, alpha), x), x, scalar_like(x, 0));
}

Value elu(Value x, double alpha) {
  return select(less(x, 0.0), alpha * (exp(x) - 1.0), x);
}

Value selu(Value x, double alpha, double gamma) {
  return gamma * select(less_equal(x, splat_like(x, 0)), alpha * exp(x) - alpha, x);
}

Value celu(Value x, double alpha) {
  return max(x, 0.0) + min(alpha * (exp(x / alpha) - 1.0), 0.0);
}

Value hard_sigmoid(Value x, double alpha, double beta) {
  return max(min(alpha * x + beta, 1.0), 0.0);
}

// log(1 + e^x) without overflow.
Value softplus(Value x) {
  return max(x, 0.0) + log(1.0 + exp(-abs(x)));
}

Value softsign(Value x) {
  return x / (1.0 + abs(x));
}

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

Value activation(std::string_view name, Value x, const ActivationParameters& parameters) {
  const auto alpha = [&](double otherwise) { return parameters.alpha.value_or(otherwise); };
  const auto beta = [&](double otherwise) { return parameters.beta.value_or(otherwise); };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "Relu") return max(x, 0.0);
  if (name == "Tanh") return tanh(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "LeakyRelu") return leaky_relu(x, alpha(0.01));
  if (name == "ThresholdedRelu") return thresholded_relu(x, alpha(1));
  if (name == "HardSigmoid") return hard_sigmoid(x, alpha(0.2), beta(0.5));
  if (name == "Elu") return elu(x, alpha(1));
  if (name == "Selu") return selu(x, alpha(kSeluAlpha), beta(kSeluGamma));
  if (name == "Celu") return celu(x, alpha(1));
  if (name == "Softplus") return softplus(x);
  if (name == "Softsign") return softsign(x);
  if (name == "Clip") return min(max(x, alpha(-kInfinity)), beta(kInfinity));
  if (name == "Affine") return alpha(1) * x + beta(0);
  if (name == "ScaledTanh") return alpha(1) * tanh(beta(1) * x);
  return {};
}

}  // namespace camshaft::onnx
