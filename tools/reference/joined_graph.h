// SPDX-License-Identifier: MIT
// Graphs side by side as one, so that compiling and loading one plan does for several models.
#pragma once

#include <span>
#include <vector>

#include "codegen/ir/graph.h"
#include "tools/reference/backend_case.h"

namespace camshaft::reference {

// A graph with its inputs. Both borrowed.
struct GraphPart {
  const ir::Graph* graph = nullptr;
  const std::vector<NamedTensor>* tensors = nullptr;
};

// The parts' nodes, inputs and outputs, in order; names of part i's begin with "i/", so what names
// mean within a part (an output NAME.count) they still mean, and what one name means to a whole
// plan (onnx::kBoundExceeded) it doesn't.
struct JoinedGraph {
  ir::Graph graph;
  std::vector<NamedTensor> tensors;
};
JoinedGraph join_graphs(std::span<const GraphPart> parts);

}  // namespace camshaft::reference
