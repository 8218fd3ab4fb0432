// SPDX-License-Identifier: MIT
// The order in which nodes can be read.
#pragma once

#include <string>
#include <vector>

#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"

namespace camshaft::onnx {

// How a node is called in problems: its name, or its first output if it has none.
std::string node_label(const ::onnx::NodeProto& node);

// The nodes of `graph`, each after those whose outputs it reads; in the file's order where that is
// one. Nodes on a cycle are left out, with a problem; so is a second maker of one name.
std::vector<const ::onnx::NodeProto*> order_nodes(const ::onnx::GraphProto& graph,
                                                  std::vector<Problem>* problems);

}  // namespace camshaft::onnx
