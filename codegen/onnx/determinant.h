// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// The determinants [...] of matrices [..., n, n] of floats, by elimination with row pivots; of n up
// to 3 by their formula.
Value determinant(Value x);

}  // namespace camshaft::onnx
