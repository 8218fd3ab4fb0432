// SPDX-License-Identifier: MIT
// Activation functions, which operators are, or name to have them applied to their result.
#pragma once

#include <optional>
#include <string_view>

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

Value leaky_relu(Value x, double alpha);
Value thresholded_relu(Value x, double alpha);
Value elu(Value x, double alpha);
inline constexpr double kSeluAlpha = 1.67326319217681884765625;
inline constexpr double kSeluGamma = 1.05070102214813232421875;
Value selu(Value x, double alpha, double gamma);
Value celu(Value x, double alpha);
Value hard_sigmoid(Value x, double alpha, double beta);
Value softplus(Value x);
Value softsign(Value x);
// x * Phi(x), Phi being the normal distribution's.
Value gelu(Value x);
// gelu(x) as approximated with tanh.
Value tanh_gelu(Value x);
// x * sigmoid(alpha * x).
Value swish(Value x, double alpha);

// The parameters that an operator gives for an activation that it names; unset ones are the
// activation's defaults.
struct ActivationParameters {
  std::optional<double> alpha = {};
  std::optional<double> beta = {};
};

// The activation of that name on x ("Relu", "LeakyRelu", "Affine", ...; case counts). Absent, and
// no failure, if there is none of that name.
Value activation(std::string_view name, Value x, const ActivationParameters& parameters);

}  // namespace camshaft::onnx
