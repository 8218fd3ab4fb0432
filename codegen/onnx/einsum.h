// SPDX-License-Identifier: MIT
// Sums of products over named axes, as transposes and matrix products.
#pragma once

#include <string>

#include "codegen/onnx/node_reader.h"

namespace camshaft::onnx {

// The node's inputs combined as `equation` says ("bij,bjk->bik"): letters name axes, "..." stands
// for any further ones, an axis named twice in an operand is its diagonal. Operands are combined
// two at a time, from the left.
Value einsum(NodeReader& node, const std::string& equation);

}  // namespace camshaft::onnx
