// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/ir/oracle.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;

constexpr int64_t kAlwaysAllowedBytes = int64_t{64} << 10;
// What stretched operands of an elementwise node may take on the way: the positions that are
// compared for a mask are wider than it.
constexpr int64_t kStretchedBytes = int64_t{1} << 20;

// The constant behind an operand: itself, or what a Broadcast stretches.
const ir::Literal* source_literal(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return ir::literal_of(graph, node.op == Op::kBroadcast ? node.inputs[0] : id);
}

// Where a Broadcast can pass through the node, sink_broadcasts moves it; to compute the node here
// would only make its data larger.
bool takes_broadcasts(Op op) {
  return op != Op::kReshape && op != Op::kTranspose && op != Op::kSlice;
}

// How much larger than its operands a node's data may be. Weights of 8 bits become floats: a kernel
// that reads constant weights packs them as such, any other would convert them in each run.
int64_t most_growth(Op op) {
  return op == Op::kCast || op == Op::kGather ? 4 : 2;
}

// Whether the node is known, and neither it nor a stretched operand would become too large.
bool can_fold(const Graph& graph, const Node& node) {
  if (node.op == Op::kBroadcast) return false;
  int64_t source_bytes = 0;
  int64_t stretched_bytes = 0;
  for (const NodeId operand : node.inputs) {
    const ir::Literal* literal = source_literal(graph, operand);
    if (literal == nullptr) return false;
    if (graph.node(operand).op == Op::kBroadcast && !takes_broadcasts(node.op)) return false;
    source_bytes += literal->type.size_bytes();
    stretched_bytes = std::max(stretched_bytes, graph.node(operand).type.size_bytes());
  }
  const int64_t on_the_way = ir::is_elementwise(node.op) ? kStretchedBytes : kAlwaysAllowedBytes;
  return node.type.size_bytes() <=
             std::max(most_growth(node.op) * source_bytes, kAlwaysAllowedBytes) &&
         stretched_bytes <= std::max(2 * source_bytes, on_the_way);
}

ir::OracleTensor value_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::kConstant) return ir::to_oracle(*ir::literal_of(graph, id));
  const ir::OracleTensor source = ir::to_oracle(*ir::literal_of(graph, node.inputs[0]));
  return std::move(ir::evaluate_node(graph, node, {&source})).value();
}

std::optional<ir::Literal> compute(const Graph& graph, const Node& node) {
  if (node.op == Op::kReshape)
    return ir::Literal{node.type, ir::literal_of(graph, node.inputs[0])->bytes};
  std::vector<ir::OracleTensor> values;
  for (const NodeId operand : node.inputs) values.push_back(value_of(graph, operand));
  std::vector<const ir::OracleTensor*> operands;
  for (const ir::OracleTensor& value : values) operands.push_back(&value);
  const base::Result<ir::OracleTensor> result = ir::evaluate_node(graph, node, operands);
  if (!result) return std::nullopt;  // a Gather out of range stays and fails where it runs
  return ir::to_literal(*result);
}

NodeId fold(Graph& out, const Node& node) {
  if (!can_fold(out, node)) return kNoNode;
  std::optional<ir::Literal> literal = compute(out, node);
  return literal ? out.add_constant(std::move(*literal), node.name) : kNoNode;
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  return rewrite(graph, fold);
}

}  // namespace camshaft::passes
