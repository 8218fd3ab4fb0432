// SPDX-License-Identifier: MIT
// Fusion. Each structured node grows a region forward over its elementwise consumers (bias,
// activation, residual add; for reductions also further reductions over the same rows, so that
// softmax and layer norm are one kernel). What remains is pulled backward into its readers where
// that repeats no work.
#include <algorithm>
#include <set>

#include "codegen/ir/graph_constants.h"
#include "codegen/schedule/schedule.h"

namespace camshaft::schedule {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;

constexpr int kMaxGrownNodes = 32;

// How a node that is folded into a region reaches the region's own nodes.
struct Use {
  int32_t region = -1;
  bool movement_only =
      false;              // it feeds a MatMul operand: only index functions may be folded there
  bool repeated = false;  // a Broadcast lies between: computing here would repeat work
  auto operator<=>(const Use&) const = default;
};

bool grows(Op op) {
  return op == Op::kConv || op == Op::kMatMul || op == Op::kPool || op == Op::kReduce;
}

// Structured nodes that start a region. Gather is evaluated in place like an elementwise node.
bool starts_region(Op op) {
  return ir::is_structured(op) && op != Op::kGather;
}

// Nodes whose kernels read each operand element many times, or in no order: it must be in memory.
bool reads_memory(Op op) {
  return op == Op::kConv || op == Op::kPool || op == Op::kTopK || op == Op::kSuppress;
}

class Fuser {
 public:
  Fuser(Schedule& schedule, bool fuse)
      : schedule_(schedule),
        graph_(schedule.graph),
        fuse_(fuse),
        consumers_(ir::consumers_of(graph_)),
        is_output_(static_cast<size_t>(graph_.size()), false),
        region_of_(static_cast<size_t>(graph_.size()), -1),
        uses_(static_cast<size_t>(graph_.size())) {
    for (const ir::GraphOutput& output : graph_.outputs) is_output_[index(output.node)] = true;
  }

  void run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (starts_region(graph_.node(id).op) && region_of_[index(id)] < 0) grow(id);
    }
    for (NodeId id = graph_.size() - 1; id >= 0; --id) pull(id);
    finish();
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }
  bool is_live(NodeId id) const { return is_output_[index(id)] || !consumers_[index(id)].empty(); }

  // May `id` join the region that grows from `root`, given the members so far?
  bool can_join(NodeId id, NodeId root, const std::set<NodeId>& members) const {
    const Node& node = graph_.node(id);
    const Node& root_node = graph_.node(root);
    if (region_of_[index(id)] >= 0) return false;
    const bool rows = root_node.op == Op::kReduce;
    const ir::Shape& full =
        rows ? graph_.node(root_node.inputs[0]).type.shape : root_node.type.shape;
    if (ir::is_elementwise(node.op)) {
      return node.type.shape == full || (rows && node.type.shape == root_node.type.shape);
    }
    if (!rows) return false;
    if (node.op == Op::kBroadcast) {
      return node.type.shape == full &&
             graph_.node(node.inputs[0]).type.shape == root_node.type.shape;
    }
    return node.op == Op::kReduce && members.count(node.inputs[0]) > 0 &&
           graph_.node(node.inputs[0]).type.shape == full &&
           node.as<ir::ReduceAttrs>().axes == root_node.as<ir::ReduceAttrs>().axes;
  }

  // The only member whose value is needed outside, or kNoNode if there are several.
  NodeId single_exit(const std::set<NodeId>& members) const {
    NodeId exit = kNoNode;
    for (NodeId id : members) {
      bool escapes = is_output_[index(id)];
      for (NodeId consumer : consumers_[index(id)]) escapes |= members.count(consumer) == 0;
      if (!escapes) continue;
      if (exit != kNoNode) return kNoNode;
      exit = id;
    }
    return exit;
  }

  void grow(NodeId root) {
    std::set<NodeId> members = {root};
    std::set<NodeId> best = members;
    std::set<NodeId> frontier(consumers_[index(root)].begin(), consumers_[index(root)].end());
    const bool may_grow = fuse_ && grows(graph_.node(root).op);
    while (may_grow && !frontier.empty() && static_cast<int>(members.size()) < kMaxGrownNodes) {
      const NodeId next = *frontier.begin();
      frontier.erase(frontier.begin());
      if (!can_join(next, root, members)) continue;
      members.insert(next);
      frontier.insert(consumers_[index(next)].begin(), consumers_[index(next)].end());
      if (single_exit(members) != kNoNode) best = members;
    }
    if (single_exit(best) == kNoNode) best = {root};  // dead root
    Region region;
    region.root = root;
    region.output = best.size() == 1 ? root : single_exit(best);
    const auto number = static_cast<int32_t>(regions_.size());
    for (NodeId id : best) region_of_[index(id)] = number;
    regions_.push_back(region);
    members_.push_back(std::move(best));
  }

  int32_t start_region(NodeId output) {
    const auto number = static_cast<int32_t>(regions_.size());
    Region region;
    region.output = output;
    regions_.push_back(region);
    members_.push_back({output});
    region_of_[index(output)] = number;
    return number;
  }

  // How consumer `consumer` reads its operand. Returns false if it must find it in memory.
  bool add_uses(NodeId consumer, std::set<Use>& uses) const {
    const Node& node = graph_.node(consumer);
    if (reads_memory(node.op)) return false;
    if (node.op == Op::kMatMul) {
      uses.insert({region_of_[index(consumer)], true, false});
      return true;
    }
    if (region_of_[index(consumer)] >= 0) {
      uses.insert({region_of_[index(consumer)], false, node.op == Op::kBroadcast});
      return true;
    }
    for (Use use : uses_[index(consumer)]) {
      use.repeated |= node.op == Op::kBroadcast || node.op == Op::kGather;
      uses.insert(use);
    }
    return true;
  }

  // Decides where `id`, which no region grew over, is computed.
  void pull(NodeId id) {
    const Node& node = graph_.node(id);
    if (region_of_[index(id)] >= 0 || node.op == Op::kInput || node.op == Op::kConstant) return;
    if (!is_live(id)) return;
    std::set<Use> uses;
    bool in_memory = is_output_[index(id)] || !fuse_;
    for (NodeId consumer : consumers_[index(id)]) {
      if (!is_live(consumer) && region_of_[index(consumer)] < 0) continue;
      if (!add_uses(consumer, uses)) in_memory = true;
    }
    const bool is_number = ir::splat_value(graph_, id).has_value();
    if (is_number) {
      in_memory = is_output_[index(id)];
    } else if (!in_memory) {
      in_memory = !may_fold(node, uses);
    }
    if (in_memory) {
      start_region(id);
    } else {
      uses_[index(id)] = uses;
      for (const Use& use : uses) members_[static_cast<size_t>(use.region)].insert(id);
    }
  }

  bool may_fold(const Node& node, const std::set<Use>& uses) const {
    if (node.op == Op::kConcat || node.op == Op::kPad) return false;
    if (ir::is_movement(node.op)) return true;
    std::set<int32_t> regions;
    for (const Use& use : uses) {
      if (use.movement_only || use.repeated) return false;
      regions.insert(use.region);
    }
    return regions.size() == 1;
  }

  // Regions in an order in which every leaf comes before its readers. An output's id is above the
  // ids of all that it depends on, so sorting by output does it.
  void finish() {
    for (size_t i = 0; i < regions_.size(); ++i) {
      Region& region = regions_[i];
      region.nodes.assign(members_[i].begin(), members_[i].end());
      std::set<NodeId> leaves;
      for (NodeId id : region.nodes) {
        for (NodeId operand : graph_.node(id).inputs) {
          if (members_[i].count(operand) > 0) continue;
          if (ir::splat_value(graph_, operand).has_value()) continue;
          leaves.insert(operand);
        }
      }
      region.leaves.assign(leaves.begin(), leaves.end());
      region.name = region_name(region);
    }
    std::erase_if(regions_, [this](const Region& region) { return !is_live(region.output); });
    std::sort(regions_.begin(), regions_.end(),
              [](const Region& a, const Region& b) { return a.output < b.output; });
    schedule_.regions = std::move(regions_);
  }

  std::string region_name(const Region& region) const {
    const NodeId first = region.root != kNoNode ? region.root : region.nodes.front();
    std::string text = graph_.node(first).name;
    if (text.empty()) text = ir::op_info(graph_.node(first).op).name;
    const std::string& last = graph_.node(region.output).name;
    if (region.output != first && !last.empty() && last != text) text += "+" + last;
    return text;
  }

  Schedule& schedule_;
  const Graph& graph_;
  const bool fuse_;
  std::vector<std::vector<NodeId>> consumers_;
  std::vector<bool> is_output_;
  std::vector<int32_t> region_of_;   // of a node that only one region computes
  std::vector<std::set<Use>> uses_;  // of a node folded into its readers
  std::vector<Region> regions_;
  std::vector<std::set<NodeId>> members_;
};

}  // namespace

void fuse_regions(Schedule& schedule, const ScheduleOptions& options) {
  Fuser(schedule, options.fuse).run();
}

}  // namespace camshaft::schedule
