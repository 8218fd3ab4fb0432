// SPDX-License-Identifier: MIT
#include "tools/reference/joined_graph.h"

#include <string>
#include <utility>

namespace camshaft::reference {
namespace {

// Appends a graph's nodes; returns the number that its node 0 has there.
ir::NodeId append_nodes(const ir::Graph& from, const std::string& prefix, ir::Graph& to) {
  const ir::NodeId first = to.size();
  // Inputs need not be in the order of their nodes.
  std::vector<const ir::GraphInput*> input_of(static_cast<size_t>(from.size()), nullptr);
  for (const ir::GraphInput& input : from.inputs) {
    input_of[static_cast<size_t>(input.node)] = &input;
  }
  for (size_t i = 0; i < from.nodes().size(); ++i) {
    const ir::Node& node = from.nodes()[i];
    if (node.op == ir::Op::kInput) {
      to.add_input(prefix + input_of[i]->name, node.type);
    } else if (node.op == ir::Op::kConstant) {
      to.add_constant(node.as<ir::ConstantAttrs>().literal, node.name);
    } else {
      std::vector<ir::NodeId> operands = node.inputs;
      for (ir::NodeId& operand : operands) operand += first;
      to.add(node.op, std::move(operands), node.attrs, node.name);
    }
  }
  return first;
}

}  // namespace

JoinedGraph join_graphs(std::span<const GraphPart> parts) {
  JoinedGraph joined;
  joined.graph.name = "joined";
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string prefix = std::to_string(i) + "/";
    const ir::NodeId first = append_nodes(*parts[i].graph, prefix, joined.graph);
    for (ir::GraphOutput output : parts[i].graph->outputs) {
      output.name = prefix + output.name;
      output.node += first;
      joined.graph.outputs.push_back(std::move(output));
    }
    for (const NamedTensor& tensor : *parts[i].tensors) {
      joined.tensors.push_back({prefix + tensor.name, tensor.literal});
    }
  }
  return joined;
}

}  // namespace camshaft::reference
