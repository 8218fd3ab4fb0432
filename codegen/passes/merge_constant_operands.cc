// SPDX-License-Identifier: MIT
#include "codegen/ir/graph_constants.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;

bool is_associative(Op op, base::DType dtype) {
  switch (op) {
    case Op::kMax:
    case Op::kMin:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return true;
    case Op::kAdd:
    case Op::kMul:
      return !base::is_float(dtype);
    default:
      return false;
  }
}

bool is_constant(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return ir::literal_of(graph, node.op == Op::kBroadcast ? node.inputs[0] : id) != nullptr;
}

// simplify_arithmetic has put constants to the right.
NodeId merge(Graph& out, const Node& node) {
  if (!is_associative(node.op, node.type.dtype)) return kNoNode;
  const Node inner = out.node(node.inputs[0]);
  if (inner.op != node.op || !is_constant(out, node.inputs[1])) return kNoNode;
  if (!is_constant(out, inner.inputs[1]) || is_constant(out, inner.inputs[0])) return kNoNode;
  const NodeId constants = out.add(node.op, {inner.inputs[1], node.inputs[1]}, {}, node.name);
  return out.add(node.op, {inner.inputs[0], constants}, {}, node.name);
}

}  // namespace

Graph merge_constant_operands(const Graph& graph) {
  return rewrite(graph, merge);
}

}  // namespace camshaft::passes
