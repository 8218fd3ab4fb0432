// SPDX-License-Identifier: MIT
// Decision trees as gathers and comparisons.
#pragma once

#include "codegen/onnx/node_reader.h"

namespace camshaft::onnx {

// Operator TreeEnsemble of ai.onnx.ml. All nodes are compared at once; then a walk goes down all
// trees together, one gather a level.
Value read_tree_ensemble(NodeReader& node);

}  // namespace camshaft::onnx
