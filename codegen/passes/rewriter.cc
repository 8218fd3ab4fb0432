// SPDX-License-Identifier: MIT
#include "codegen/passes/rewriter.h"

#include <utility>

#include "codegen/ir/graph_attrs.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/passes.h"

namespace camshaft::passes {
namespace {

constexpr int kMaxSweeps = 64;

Graph sweep(const Graph& graph, const Rule& rule) {
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op == ir::Op::kInput) continue;
    if (graph.node(id).op == ir::Op::kConstant) {
      rewriter.keep(id);
      continue;
    }
    const Node node = rewriter.translated(id);
    const NodeId replacement = rule(rewriter.out(), node);
    rewriter.replace(id, replacement == kNoNode ? add_node(rewriter.out(), node) : replacement);
  }
  return remove_dead(rewriter.finish());
}

bool equal_attrs(const ir::Attrs& a, const ir::Attrs& b) {
  if (a.index() != b.index()) return false;
  if (const auto* constant = std::get_if<ir::ConstantAttrs>(&a)) {
    const auto& other = std::get<ir::ConstantAttrs>(b);
    return constant->literal == other.literal ||
           ir::equal_literals(*constant->literal, *other.literal);
  }
  return ir::attrs_key(a) == ir::attrs_key(b);
}

bool equal_outputs(const ir::GraphOutput& a, const ir::GraphOutput& b) {
  if (a.name != b.name || a.node != b.node || a.unit != b.unit ||
      a.slices.size() != b.slices.size()) {
    return false;
  }
  for (size_t i = 0; i < a.slices.size(); ++i) {
    const ir::OutputSlice& x = a.slices[i];
    const ir::OutputSlice& y = b.slices[i];
    if (x.name != y.name || x.offset != y.offset || x.shape != y.shape || x.unit != y.unit) {
      return false;
    }
  }
  return true;
}

}  // namespace

Rewriter::Rewriter(const Graph& graph)
    : old_(graph), new_ids_(static_cast<size_t>(graph.size()), kNoNode) {
  out_.name = graph.name;
  for (const ir::GraphInput& input : graph.inputs) {
    new_ids_[static_cast<size_t>(input.node)] =
        out_.add_input(input.name, graph.node(input.node).type);
    out_.inputs.back().unit = input.unit;
  }
}

NodeId Rewriter::at(NodeId old_id) const {
  const NodeId id = new_ids_[static_cast<size_t>(old_id)];
  CAMSHAFT_CHECK(id != kNoNode);
  return id;
}

Node Rewriter::translated(NodeId old_id) const {
  Node node = old_.node(old_id);
  for (NodeId& operand : node.inputs) operand = at(operand);
  return node;
}

void Rewriter::keep(NodeId old_id) {
  replace(old_id, add_node(out_, translated(old_id)));
}

void Rewriter::replace(NodeId old_id, NodeId new_id) {
  CAMSHAFT_CHECK(out_.node(new_id).type == old_.node(old_id).type);
  new_ids_[static_cast<size_t>(old_id)] = new_id;
}

Graph Rewriter::finish() {
  for (const ir::GraphOutput& output : old_.outputs) {
    out_.outputs.push_back(output);
    out_.outputs.back().node = at(output.node);
  }
  return std::move(out_);
}

NodeId add_node(Graph& out, const Node& node) {
  if (node.op == ir::Op::kConstant) {
    return out.add_constant(node.as<ir::ConstantAttrs>().literal, node.name);
  }
  return out.add(node.op, node.inputs, node.attrs, node.name);
}

Graph rewrite(const Graph& graph, const Rule& rule) {
  Graph current = sweep(graph, rule);
  for (int i = 0; i < kMaxSweeps; ++i) {
    Graph next = sweep(current, rule);
    if (equal_graphs(current, next)) return current;
    current = std::move(next);
  }
  CAMSHAFT_CHECK(!"a rewrite rule does not settle");
  return current;
}

bool equal_nodes(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.type == b.type && equal_attrs(a.attrs, b.attrs);
}

bool equal_graphs(const Graph& a, const Graph& b) {
  if (a.name != b.name || a.size() != b.size() || a.inputs.size() != b.inputs.size() ||
      a.outputs.size() != b.outputs.size()) {
    return false;
  }
  for (NodeId id = 0; id < a.size(); ++id) {
    if (a.node(id).name != b.node(id).name || !equal_nodes(a.node(id), b.node(id))) return false;
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    if (a.inputs[i].name != b.inputs[i].name || a.inputs[i].node != b.inputs[i].node ||
        a.inputs[i].unit != b.inputs[i].unit) {
      return false;
    }
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (!equal_outputs(a.outputs[i], b.outputs[i])) return false;
  }
  return true;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(static_cast<size_t>(graph.size()), false);
  for (const ir::GraphOutput& output : graph.outputs) live[static_cast<size_t>(output.node)] = true;
  for (NodeId id = graph.size() - 1; id >= 0; --id) {
    if (graph.node(id).op == ir::Op::kInput) live[static_cast<size_t>(id)] = true;
    if (!live[static_cast<size_t>(id)]) continue;
    for (const NodeId operand : graph.node(id).inputs) live[static_cast<size_t>(operand)] = true;
  }
  return live;
}

}  // namespace camshaft::passes
