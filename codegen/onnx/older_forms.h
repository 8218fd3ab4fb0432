// SPDX-License-Identifier: MIT
// What operators were before opset 7: brought to the form of opset 7, which their functions read.
#pragma once

#include <string_view>

#include "codegen/onnx/node_reader.h"

namespace camshaft::onnx {

// The first opset whose form of an operator can be read: 1, but for those whose inputs were others.
int first_readable_opset(std::string_view op);

// For a node of an opset before 7: shapes operands as NumPy's broadcasting wants them, and takes
// note of attributes that later opsets lack.
void adapt_older_form(NodeReader& node);

}  // namespace camshaft::onnx
