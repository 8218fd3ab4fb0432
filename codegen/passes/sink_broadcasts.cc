// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/reshape_groups.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::Shape;

// --- Elementwise nodes ---

// The shape before stretching: all ones for a splat constant.
Shape source_shape(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::kBroadcast) return graph.node(node.inputs[0]).type.shape;
  const ir::Literal* literal = ir::literal_of(graph, id);
  if (literal != nullptr && ir::is_splat(*literal)) return Shape(node.type.shape.size(), 1);
  return node.type.shape;
}

// The operand with the axes that all operands stretch left at 1.
NodeId shrink(Graph& out, NodeId id, const Shape& shape) {
  const Node node = out.node(id);
  if (node.type.shape == shape) return id;
  NodeId source = kNoNode;
  if (node.op == Op::kBroadcast) {
    source = node.inputs[0];
  } else {
    const ir::Literal* literal = ir::literal_of(out, id);
    const auto size = static_cast<size_t>(base::dtype_size_bytes(node.type.dtype));
    ir::Literal one{{node.type.dtype, Shape(shape.size(), 1)}, {}};
    one.bytes.assign(literal->bytes.begin(), literal->bytes.begin() + static_cast<ptrdiff_t>(size));
    source = out.add_constant(std::move(one), node.name);
  }
  if (out.node(source).type.shape == shape) return source;
  return out.add(Op::kBroadcast, {source}, ir::BroadcastAttrs{shape});
}

NodeId sink_through_elementwise(Graph& out, const Node& node) {
  Shape joint(node.type.shape.size(), 1);
  for (const NodeId operand : node.inputs) {
    const Shape source = source_shape(out, operand);
    for (size_t axis = 0; axis < joint.size(); ++axis) {
      if (source[axis] != 1) joint[axis] = source[axis];
    }
  }
  if (joint == node.type.shape) return kNoNode;
  std::vector<NodeId> operands;
  for (const NodeId operand : node.inputs) operands.push_back(shrink(out, operand, joint));
  const NodeId small = out.add(node.op, std::move(operands), node.attrs, node.name);
  return out.add(Op::kBroadcast, {small}, ir::BroadcastAttrs{node.type.shape}, node.name);
}

// --- Movement nodes; `source` is what their operand stretches ---

NodeId sink_through_reshape(Graph& out, const Node& node, const Node& broadcast) {
  const NodeId source = broadcast.inputs[0];
  const std::optional<Shape> shape =
      reshaped_source(out.node(source).type.shape, broadcast.type.shape, node.type.shape);
  if (!shape) return kNoNode;
  const NodeId reshaped = out.add(Op::kReshape, {source}, ir::ReshapeAttrs{*shape}, node.name);
  return out.add(Op::kBroadcast, {reshaped}, ir::BroadcastAttrs{node.type.shape}, node.name);
}

NodeId sink_through_transpose(Graph& out, const Node& node, const Node& broadcast) {
  const NodeId moved = out.add(Op::kTranspose, broadcast.inputs, node.attrs, node.name);
  return out.add(Op::kBroadcast, {moved}, ir::BroadcastAttrs{node.type.shape}, node.name);
}

NodeId sink_through_slice(Graph& out, const Node& node, const Node& broadcast) {
  ir::SliceAttrs attrs = node.as<ir::SliceAttrs>();
  const Shape source = out.node(broadcast.inputs[0]).type.shape;
  for (size_t axis = 0; axis < source.size(); ++axis) {
    if (source[axis] == broadcast.type.shape[axis]) continue;
    // Of a stretched axis any part is as good: take its one element.
    attrs.begin[axis] = 0;
    attrs.extent[axis] = 1;
    attrs.step[axis] = 1;
  }
  const NodeId sliced = out.add(Op::kSlice, broadcast.inputs, attrs, node.name);
  return out.add(Op::kBroadcast, {sliced}, ir::BroadcastAttrs{node.type.shape}, node.name);
}

NodeId sink(Graph& out, const Node& node) {
  if (ir::is_elementwise(node.op)) return sink_through_elementwise(out, node);
  if (node.inputs.empty()) return kNoNode;
  const Node operand = out.node(node.inputs[0]);
  if (operand.op != Op::kBroadcast) return kNoNode;
  switch (node.op) {
    case Op::kReshape:
      return sink_through_reshape(out, node, operand);
    case Op::kTranspose:
      return sink_through_transpose(out, node, operand);
    case Op::kSlice:
      return sink_through_slice(out, node, operand);
    default:
      return kNoNode;
  }
}

}  // namespace

Graph sink_broadcasts(const Graph& graph) {
  return rewrite(graph, sink);
}

}  // namespace camshaft::passes
