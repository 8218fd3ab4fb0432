// SPDX-License-Identifier: MIT
// How a pass rebuilds a graph: old nodes are visited in order, each is copied or replaced.
#pragma once

#include <functional>
#include <vector>

#include "codegen/ir/graph.h"

namespace camshaft::passes {

using ir::Graph;
using ir::kNoNode;
using ir::Node;
using ir::NodeId;

// Looks at a node of the graph that is being built, before it is added (its operands are nodes of
// `out`, already rewritten), and returns the node of `out` that takes its place, of equal type;
// kNoNode keeps it.
using Rule = std::function<NodeId(Graph& out, const Node& node)>;

// Applies `rule` to every node but inputs and constants until nothing changes, and drops what is
// dead then. A rule that never settles is a bug (CAMSHAFT_CHECK).
Graph rewrite(const Graph& graph, const Rule& rule);

// Rebuilding under the pass's own control.
class Rewriter {
 public:
  // `graph` must outlive the Rewriter. All its inputs are there already, in `out`.
  explicit Rewriter(const Graph& graph);

  const Graph& old() const { return old_; }
  Graph& out() { return out_; }
  // The node of `out` that stands for an old one that was kept or replaced.
  NodeId at(NodeId old_id) const;
  // The old node with its operands translated.
  Node translated(NodeId old_id) const;
  // Copies an old node, or lets `new_id`, of equal type, take its place.
  void keep(NodeId old_id);
  void replace(NodeId old_id, NodeId new_id);
  // The result, with the old outputs. All nodes that they need must have been kept or replaced.
  Graph finish();

 private:
  const Graph& old_;
  Graph out_;
  std::vector<NodeId> new_ids_;  // by old id
};

// Adds `node`, whose operands are nodes of `out`; a constant's literal stays shared.
NodeId add_node(Graph& out, const Node& node);

// Whether the two are the same, nodes, names, inputs and outputs, literals by their bits.
bool equal_graphs(const Graph& a, const Graph& b);
// Same op, operands, attributes and type; names may differ.
bool equal_nodes(const Node& a, const Node& b);

// Whether each node is needed by an output or is an input.
std::vector<bool> live_nodes(const Graph& graph);

}  // namespace camshaft::passes
