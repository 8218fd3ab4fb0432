// SPDX-License-Identifier: MIT
#include "codegen/passes/channel_classes.h"

#include <algorithm>
#include <map>

#include "codegen/ir/graph_constants.h"
#include "codegen/passes/passes.h"

namespace camshaft::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::Op;

size_t index(NodeId id) {
  return static_cast<size_t>(id);
}

// Pools, and others whose result's channels are made of the operand's, each of its own.
bool keeps_channels(const ir::Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::kPool:
      return true;
    case Op::kReduce: {
      const std::vector<int>& axes = node.as<ir::ReduceAttrs>().axes;
      return std::find(axes.begin(), axes.end(), 1) == axes.end();
    }
    case Op::kBroadcast:
      return graph.node(node.inputs[0]).type.shape[1] == node.type.shape[1];
    default:
      return false;
  }
}

}  // namespace

bool is_known_tensor(const ir::Graph& graph, NodeId id) {
  return ir::literal_of(graph, id) != nullptr || ir::splat_value(graph, id).has_value();
}

bool is_known_operand(const ir::Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return is_known_tensor(graph, id) ||
         (node.op == Op::kBroadcast && is_known_tensor(graph, node.inputs[0]));
}

ChannelClasses::ChannelClasses(const ir::Graph& graph)
    : graph_(graph),
      maps_(graph),
      sets_(graph.size()),
      is_fixed_(index(graph.size()), false),
      is_kept_(index(graph.size()), false),
      is_gathered_(index(graph.size()), false) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!maps_.moves_channels(id)) visit(id);
  }
  for (const ir::GraphOutput& output : graph.outputs) fix_read(output.node);
  settle();
}

std::vector<NodeId> ChannelClasses::gathered() const {
  std::vector<NodeId> result;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (is_gathered_[index(id)] && !is_fixed(id)) result.push_back(id);
  }
  return result;
}

// Something reads `id` in the order that it has: what movement it is made by stays, too.
void ChannelClasses::fix_read(NodeId id) {
  if (is_kept_[index(id)]) return;
  is_kept_[index(id)] = true;
  fix(id);
  if (!maps_.moves_channels(id)) return;
  for (const NodeId operand : graph_.node(id).inputs) fix_read(operand);
}

void ChannelClasses::fix_all(NodeId id) {
  fix(id);
  for (const NodeId operand : graph_.node(id).inputs) fix_read(operand);
}

// Something reads `id` in any order.
void ChannelClasses::read(NodeId id) {
  if (!maps_.moves_channels(id)) return;
  if (maps_.has_channel_axis(id)) {
    is_gathered_[index(id)] = true;
  } else {
    fix_read(id);
  }
}

// `id` has the order of what it reads.
void ChannelClasses::follow(NodeId id, NodeId operand) {
  read(operand);
  sets_.join(id, operand);
}

void ChannelClasses::visit(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.op == Op::kConv) return visit_conv(id);
  if (node.type.rank() < 3) return fix_all(id);
  if (keeps_channels(graph_, node)) return follow(id, node.inputs[0]);
  if (!ir::is_elementwise(node.op)) return fix_all(id);
  for (const NodeId operand : node.inputs) {
    if (!is_known_operand(graph_, operand)) follow(id, operand);
  }
}

void ChannelClasses::visit_conv(NodeId id) {
  const Node& node = graph_.node(id);
  const NodeId x = node.inputs[0];
  if (!is_known_tensor(graph_, node.inputs[1])) return fix_all(id);
  if (node.as<ir::ConvAttrs>().groups == 1) return read(x);
  const bool is_one_to_one =
      is_depthwise(graph_, id) && node.type.shape[1] == graph_.node(x).type.shape[1];
  is_one_to_one ? follow(id, x) : fix_all(id);
}

// Fixed nodes fix their classes; movement of a fixed class, and a second one of a class, those that
// it reads.
void ChannelClasses::settle() {
  for (bool changed = true; changed;) {
    changed = false;
    std::map<NodeId, NodeId> gathered_of;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const NodeId set = class_of(id);
      if (is_gathered_[index(id)] && !gathered_of.emplace(set, id).second) fix(id);
      if (is_fixed_[index(id)] && !is_fixed_[index(set)]) {
        fix(set);
        changed = true;
      }
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_gathered_[index(id)] || !is_fixed(id) || is_kept_[index(id)]) continue;
      fix_read(id);
      changed = true;
    }
  }
}

}  // namespace camshaft::passes
