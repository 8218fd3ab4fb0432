// SPDX-License-Identifier: MIT
#include <set>
#include <string>

#include "codegen/ir/graph.h"
#include "codegen/ir/graph_attrs.h"

namespace camshaft::ir {
namespace {

using base::Status;

Status broken(const Graph& graph, NodeId id, const char* sentence) {
  const Node& node = graph.node(id);
  return base::fail(base::Code::kInternal, "graph.verify", "graph '%s', node %%%d = %s \"%s\": %s",
                    graph.name.c_str(), id, op_info(node.op).name, node.name.c_str(), sentence);
}

Status verify_constant(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Literal* literal = node.as<ConstantAttrs>().literal.get();
  if (literal == nullptr) return broken(graph, id, "has no literal");
  if (literal->type != node.type) return broken(graph, id, "its literal is of another type");
  if (static_cast<int64_t>(literal->bytes.size()) != node.type.size_bytes()) {
    return broken(graph, id, "its literal has too few or too many bytes");
  }
  if (node.type.dtype != DType::kBool) return base::ok();
  for (const std::byte b : literal->bytes) {
    if (b > std::byte{1}) return broken(graph, id, "a bool is neither 0 nor 1");
  }
  return base::ok();
}

Status verify_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.attrs.index() != default_attrs(node.op).index()) {
    return broken(graph, id, "has the attributes of another op");
  }
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (const NodeId operand : node.inputs) {
    if (operand < 0 || operand >= id)
      return broken(graph, id, "an operand does not come before it");
    types.push_back(graph.node(operand).type);
  }
  if (op_info(node.op).op_class != OpClass::kSource) {
    const base::Result<TensorType> type = infer_type(node.op, types, node.attrs);
    if (!type) return broken(graph, id, "its operands or attributes do not fit");
    if (*type != node.type) return broken(graph, id, "its type is not the inferred one");
    return base::ok();
  }
  if (!types.empty()) return broken(graph, id, "a source has no operands");
  // A Reshape to the same shape is the identity: it checks extents and size.
  if (!infer_type(Op::kReshape, {node.type}, ReshapeAttrs{node.type.shape})) {
    return broken(graph, id, "its type is not one a tensor can have");
  }
  return node.op == Op::kConstant ? verify_constant(graph, id) : base::ok();
}

Status verify_inputs(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op == Op::kInput) nodes.push_back(id);
  }
  std::set<std::string> names;
  std::vector<NodeId> listed;
  for (const GraphInput& input : graph.inputs) {
    listed.push_back(input.node);
    if (!names.insert(input.name).second || input.name.empty()) {
      return base::fail(base::Code::kInternal, "graph.verify",
                        "graph '%s': the input name '%s' is empty or used twice",
                        graph.name.c_str(), input.name.c_str());
    }
  }
  if (listed == nodes) return base::ok();
  return base::fail(base::Code::kInternal, "graph.verify",
                    "graph '%s': its inputs are not its input nodes in their order",
                    graph.name.c_str());
}

bool slice_fits(const OutputSlice& slice, int64_t elements) {
  int64_t count = 1;
  for (const int64_t extent : slice.shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return false;
  }
  return slice.offset >= 0 && slice.offset <= elements && count <= elements - slice.offset;
}

Status verify_outputs(const Graph& graph) {
  std::set<std::string> names;
  for (const GraphOutput& output : graph.outputs) {
    const bool new_name = names.insert(output.name).second && !output.name.empty();
    if (!new_name || output.node < 0 || output.node >= graph.size()) {
      return base::fail(base::Code::kInternal, "graph.verify",
                        "graph '%s': output '%s' has no node, or its name is empty or used twice",
                        graph.name.c_str(), output.name.c_str());
    }
    std::set<std::string> slice_names;
    for (const OutputSlice& slice : output.slices) {
      if (slice_names.insert(slice.name).second && !slice.name.empty() &&
          slice_fits(slice, graph.node(output.node).type.elements())) {
        continue;
      }
      return base::fail(
          base::Code::kInternal, "graph.verify",
          "graph '%s': slice '%s' of output '%s' leaves it, or its name is used twice",
          graph.name.c_str(), slice.name.c_str(), output.name.c_str());
    }
  }
  return base::ok();
}

}  // namespace

Status verify_graph(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) CAMSHAFT_TRY(verify_node(graph, id));
  CAMSHAFT_TRY(verify_inputs(graph));
  return verify_outputs(graph);
}

}  // namespace camshaft::ir
