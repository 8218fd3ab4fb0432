// SPDX-License-Identifier: MIT
// Which values of a graph must have their channels (axis 1) in one order, and which of these orders
// are free.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/passes/channel_map.h"

namespace camshaft::passes {

// Sets that are joined two at a time.
class DisjointSets {
 public:
  explicit DisjointSets(int size) : parents_(static_cast<size_t>(size)) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  ir::NodeId find(ir::NodeId id) const {
    while (parents_[static_cast<size_t>(id)] != id) id = parents_[static_cast<size_t>(id)];
    return id;
  }
  // The lower one names both.
  void join(ir::NodeId a, ir::NodeId b) {
    const auto [low, high] = std::minmax({find(a), find(b)});
    parents_[static_cast<size_t>(high)] = low;
  }

 private:
  std::vector<ir::NodeId> parents_;
};

// A tensor whose elements are known, so that they can be put in another order.
bool is_known_tensor(const ir::Graph& graph, ir::NodeId id);
// The same, also if a Broadcast stretches it: as an operand of an elementwise node.
bool is_known_operand(const ir::Graph& graph, ir::NodeId id);

class ChannelClasses {
 public:
  // `graph` must outlive it, and have no dead nodes.
  explicit ChannelClasses(const ir::Graph& graph);

  const ChannelMaps& maps() const { return maps_; }
  // A node that names the class.
  ir::NodeId class_of(ir::NodeId id) const { return sets_.find(id); }
  // Whether something reads the class's channels in the order that they have.
  bool is_fixed(ir::NodeId id) const { return is_fixed_[static_cast<size_t>(class_of(id))]; }
  // Movement nodes whose order is free, and that others than movement nodes read. Ascending; at
  // most one of a class.
  std::vector<ir::NodeId> gathered() const;

 private:
  void fix(ir::NodeId id) { is_fixed_[static_cast<size_t>(id)] = true; }
  void fix_read(ir::NodeId id);
  void fix_all(ir::NodeId id);
  void read(ir::NodeId id);
  void follow(ir::NodeId id, ir::NodeId operand);
  void visit(ir::NodeId id);
  void visit_conv(ir::NodeId id);
  void settle();

  const ir::Graph& graph_;
  const ChannelMaps maps_;
  DisjointSets sets_;
  std::vector<bool> is_fixed_;     // by NodeId; of a class by its name
  std::vector<bool> is_kept_;      // by NodeId: read in the order that it has
  std::vector<bool> is_gathered_;  // by NodeId
};

}  // namespace camshaft::passes
