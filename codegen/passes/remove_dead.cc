// SPDX-License-Identifier: MIT
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {

Graph remove_dead(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (live[static_cast<size_t>(id)] && graph.node(id).op != ir::Op::kInput) rewriter.keep(id);
  }
  return rewriter.finish();
}

}  // namespace camshaft::passes
