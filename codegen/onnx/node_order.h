// SPDX-License-Identifier: MIT
// The order in which nodes can be read.
#pragma once

#include <string>
#include <vector>

#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/problem.h"

namespace camshaft::onnx {

// The nodes of a graph or a function.
using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// How a node is called in problems: its name, or its first output if it has none.
std::string node_label(const ::onnx::NodeProto& node);

// `nodes`, each after those whose outputs it or a graph among its attributes reads; in the file's
// order where that is one. Nodes on a cycle are left out, with a problem; so is a second maker of
// one name.
std::vector<const ::onnx::NodeProto*> order_nodes(const Nodes& nodes,
                                                  std::vector<Problem>* problems);

}  // namespace camshaft::onnx
