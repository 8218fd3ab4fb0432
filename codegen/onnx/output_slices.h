// SPDX-License-Identifier: MIT
// Named parts of outputs, from the model's metadata.
#pragma once

#include <string>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/problem.h"

namespace camshaft::onnx {

// Reads `json` (see kOutputSlicesKey in reader.h) into the slices of the graph's outputs. What is
// malformed, or doesn't fit its output, becomes a problem.
void read_output_slices(const std::string& json, ir::Graph* graph, std::vector<Problem>* problems);

}  // namespace camshaft::onnx
