// SPDX-License-Identifier: MIT
// Checks of one pass in text: what it makes of a graph, and what it must leave alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/passes/passes.h"
#include "tests/codegen/support/graph_testing.h"

namespace camshaft::passes {

// The nodes of one operation, in the graph's order.
inline std::vector<ir::Node> nodes_of(const ir::Graph& graph, ir::Op op) {
  std::vector<ir::Node> nodes;
  for (ir::NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op == op) nodes.push_back(graph.node(id));
  }
  return nodes;
}

// The graph's text after `pass`, which must verify.
template <typename Pass>
std::string text_after(Pass pass, std::string_view body) {
  const ir::Graph after = pass(ir::graph_from(body));
  CHECK(verify_graph(after).is_ok());
  return print_graph(after);
}

// `pass` turns `before` into `after`, nodes in that order.
template <typename Pass>
void check_rewrite(Pass pass, std::string_view before, std::string_view after) {
  INFO(before);
  CHECK(text_after(pass, before) == print_graph(ir::graph_from(after)));
}

// `pass` changes nothing.
template <typename Pass>
void check_unchanged(Pass pass, std::string_view body) {
  check_rewrite(pass, body, body);
}

}  // namespace camshaft::passes
