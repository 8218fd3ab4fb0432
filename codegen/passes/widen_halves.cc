// SPDX-License-Identifier: MIT
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::is_half;
using ir::Op;

bool is_product(Op op) {
  return op == Op::kConv || op == Op::kMatMul;
}

NodeId cast_to(Graph& out, NodeId x, DType dtype, const std::string& name) {
  return out.add(Op::kCast, {x}, ir::CastAttrs{dtype}, name);
}

// The f32 product behind the Cast `id`; kNoNode if it is none.
NodeId wide_product(const Graph& graph, NodeId id) {
  if (graph.node(id).op != Op::kCast) return kNoNode;
  const NodeId source = graph.node(id).inputs[0];
  const Node& node = graph.node(source);
  return is_product(node.op) && node.type.dtype == DType::kFloat32 ? source : kNoNode;
}

bool is_constant(const Graph& graph, NodeId id) {
  while (ir::is_movement(graph.node(id).op)) id = graph.node(id).inputs[0];
  return graph.node(id).op == Op::kConstant;
}

// A product and its bias are rounded together.
NodeId widen_bias(Graph& out, const Node& node) {
  for (const size_t side : {0, 1}) {
    const NodeId product = wide_product(out, node.inputs[side]);
    const NodeId bias = node.inputs[1 - side];
    if (product == kNoNode || !is_constant(out, bias)) continue;
    const NodeId wide_bias = cast_to(out, bias, DType::kFloat32, node.name);
    const NodeId sum = out.add(Op::kAdd, {product, wide_bias}, {}, node.name);
    return cast_to(out, sum, node.type.dtype, node.name);
  }
  return kNoNode;
}

NodeId widen(Graph& out, const Node& node) {
  if (node.op == Op::kAdd && is_half(node.type.dtype)) return widen_bias(out, node);
  if (!is_product(node.op) && node.op != Op::kPool) return kNoNode;
  const DType narrow = out.node(node.inputs[0]).type.dtype;
  if (!is_half(narrow)) return kNoNode;
  std::vector<NodeId> operands;
  for (NodeId operand : node.inputs) {
    operands.push_back(cast_to(out, operand, DType::kFloat32, node.name));
  }
  const NodeId wide = out.add(node.op, std::move(operands), node.attrs, node.name);
  return node.op == Op::kPool ? cast_to(out, wide, narrow, node.name) : wide;
}

}  // namespace

Graph widen_halves(const Graph& graph) {
  return rewrite(graph, widen);
}

}  // namespace camshaft::passes
