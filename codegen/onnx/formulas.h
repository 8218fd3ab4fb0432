// SPDX-License-Identifier: MIT
// Formulas that operators of several families share.
#pragma once

#include <vector>

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// x * Phi(x), Phi being the normal distribution's.
Value gelu(Value x);
// gelu(x) as approximated with tanh.
Value tanh_gelu(Value x);
// x * sigmoid(alpha * x).
Value swish(Value x, double alpha);

}  // namespace camshaft::onnx
