// SPDX-License-Identifier: MIT
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::Op;

bool is_half(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

NodeId widen(Graph& out, const Node& node) {
  const bool reads_often = node.op == Op::kConv || node.op == Op::kMatMul || node.op == Op::kPool;
  if (!reads_often || !is_half(node.type.dtype)) return kNoNode;
  std::vector<NodeId> operands;
  for (NodeId operand : node.inputs) {
    operands.push_back(out.add(Op::kCast, {operand}, ir::CastAttrs{DType::kFloat32}, node.name));
  }
  const NodeId wide = out.add(node.op, std::move(operands), node.attrs, node.name);
  return out.add(Op::kCast, {wide}, ir::CastAttrs{node.type.dtype}, node.name);
}

}  // namespace

Graph widen_halves(const Graph& graph) {
  return rewrite(graph, widen);
}

}  // namespace camshaft::passes
