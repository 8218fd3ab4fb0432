// SPDX-License-Identifier: MIT
// Joining, where the target says that one kernel is better than two. A region that only the root of
// another one reads becomes part of that one, whose kernel computes it a part at a time: so a wide
// tensor between two convolutions never leaves the caches, and has no buffer. And a region that
// reduces what another one writes becomes part of that one: so nothing passes over it again. An
// attention is three regions: a product, a softmax that alone reads it, and a product that alone
// reads that; they become the last one.
#include <algorithm>
#include <set>

#include "codegen/schedule/schedule.h"

namespace camshaft::schedule {
namespace {

using ir::Node;

std::vector<NodeId> merged(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  std::vector<NodeId> result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

class Joiner {
 public:
  Joiner(Schedule& schedule, const ScheduleOptions& options)
      : schedule_(schedule),
        options_(options),
        consumers_(ir::consumers_of(schedule.graph)),
        region_of_(static_cast<size_t>(schedule.graph.size()), -1) {
    for (size_t r = 0; r < schedule.regions.size(); ++r) {
      region_of_[index(schedule.regions[r].output)] = static_cast<int32_t>(r);
    }
  }

  void run() {
    for (Region& region : schedule_.regions) {
      if (!attend(region) && !join_before(region)) pool_before(region);
    }
    std::erase_if(schedule_.regions, [this](const Region& region) {
      return region.nodes.empty() || gone_.count(region.output) > 0 ||
             pooled_.count(region.output) > 0;
    });
    if (!gone_.empty()) drop_buffers();
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }

  bool join_before(Region& region) {
    const int32_t first = region_before(region);
    if (first < 0) return false;
    Region& before = schedule_.regions[static_cast<size_t>(first)];
    Region joined = join(before, region);
    if (!options_.joins(schedule_, joined)) return false;
    gone_.insert(before.output);
    region = std::move(joined);
    return true;
  }

  // Makes a product of what a softmax writes, which reads another product, all of one region.
  bool attend(Region& region) {
    if (!has_root(region, ir::Op::kMatMul) || region.inner != kNoNode) return false;
    const int32_t second = region_read_by(region, left_leaf(region));
    if (second < 0) return false;
    Region& rows = schedule_.regions[static_cast<size_t>(second)];
    if (!has_root(rows, ir::Op::kReduce)) return false;
    for (const NodeId leaf : rows.leaves) {
      const int32_t first = region_read_by(rows, leaf);
      if (first < 0) continue;
      Region& product = schedule_.regions[static_cast<size_t>(first)];
      if (!has_root(product, ir::Op::kMatMul)) continue;
      const Region joined = join(join(product, rows), region);
      if (!options_.joins(schedule_, joined)) continue;
      gone_.insert(product.output);
      gone_.insert(rows.output);
      region = joined;
      while (take_in_movement(region)) {
      }
      return true;
    }
    return false;
  }

  // Where an attention's heads become columns again, and nothing else reads them: then that is what
  // it writes, so that readers find rows that lie together.
  bool take_in_movement(Region& region) {
    const NodeId from = region.output;
    if (consumers_[index(from)].size() != 1 || schedule_.buffer(from).kind != BufferKind::kArena) {
      return false;
    }
    const NodeId to = consumers_[index(from)].front();
    const Node& node = schedule_.graph.node(to);
    const bool keeps_rows = node.op == ir::Op::kReshape ||
                            (node.op == ir::Op::kTranspose &&
                             node.as<ir::TransposeAttrs>().perm.back() == node.type.rank() - 1);
    const bool has_buffer = schedule_.buffer_of[index(to)] >= 0;
    const NodeId buffer = has_buffer ? to : from;
    if (!keeps_rows || schedule_.buffer(buffer).layout != Layout{}) return false;
    for (Region& reader : schedule_.regions) {
      if (!std::binary_search(reader.leaves.begin(), reader.leaves.end(), from)) continue;
      if (gone_.count(reader.output) > 0 || reader.nodes.empty()) continue;
      if (reader.output == to) {
        reader.nodes.clear();
      } else {
        std::erase(reader.nodes, to);
        std::erase(reader.leaves, from);
        reader.leaves = merged(reader.leaves, std::vector<NodeId>{to});
      }
    }
    if (has_buffer) {
      gone_.insert(from);
    } else {
      std::swap(schedule_.buffer_of[index(from)], schedule_.buffer_of[index(to)]);
      schedule_.buffers[static_cast<size_t>(schedule_.buffer_of[index(to)])].value = to;
    }
    region_of_[index(to)] = region_of_[index(from)];
    region_of_[index(from)] = -1;
    region.nodes.push_back(to);
    region.output = to;
    return true;
  }

  bool has_root(const Region& region, ir::Op op) const {
    return region.root != kNoNode && schedule_.graph.node(region.root).op == op;
  }

  // The leaf whose reshape a product's left side is, or kNoNode.
  NodeId left_leaf(const Region& region) const {
    NodeId id = schedule_.graph.node(region.root).inputs[0];
    while (schedule_.graph.node(id).op == ir::Op::kReshape && consumers_[index(id)].size() == 1) {
      id = schedule_.graph.node(id).inputs[0];
    }
    return id;
  }

  // The number of the region that writes `leaf`, which nothing but `region` reads; or -1.
  int32_t region_read_by(const Region& region, NodeId leaf) const {
    const int32_t before = region_of_[index(leaf)];
    if (before < 0 || gone_.count(leaf) > 0) return -1;
    for (const NodeId reader : consumers_[index(leaf)]) {
      if (!std::binary_search(region.nodes.begin(), region.nodes.end(), reader)) return -1;
    }
    for (const Region& other : schedule_.regions) {
      const bool reads = std::binary_search(other.leaves.begin(), other.leaves.end(), leaf);
      if (reads && other.output != region.output && gone_.count(other.output) == 0) return -1;
    }
    return is_plain(before) ? before : -1;
  }

  // Whether a region is of one root, and what it writes is for other regions only.
  bool is_plain(int32_t number) const {
    const Region& region = schedule_.regions[static_cast<size_t>(number)];
    return schedule_.buffer(region.output).kind == BufferKind::kArena && region.inner == kNoNode &&
           region.pooled == kNoNode;
  }

  // Makes a region that reduces what an earlier one writes, and reads nothing else but constants, a
  // part of that one.
  void pool_before(const Region& region) {
    if (region.root == kNoNode || schedule_.graph.node(region.root).op != ir::Op::kReduce) return;
    const NodeId from = schedule_.graph.node(region.root).inputs[0];
    const int32_t first = region_of_[index(from)];
    if (first < 0 || gone_.count(from) > 0) return;
    for (const NodeId leaf : region.leaves) {
      if (leaf != from && schedule_.graph.node(leaf).op != ir::Op::kConstant) return;
    }
    Region& before = schedule_.regions[static_cast<size_t>(first)];
    if (before.pooled != kNoNode || before.inner != kNoNode) return;
    Region joined = before;
    joined.pooled = region.output;
    joined.nodes = merged(before.nodes, region.nodes);
    joined.leaves = merged(before.leaves, region.leaves);
    std::erase(joined.leaves, from);
    if (!options_.joins(schedule_, joined)) return;
    pooled_.insert(region.output);
    before = std::move(joined);
  }

  // The number of the region whose output the region's root, and nothing else, reads; or -1.
  int32_t region_before(const Region& region) const {
    if (region.root == kNoNode || region.inner != kNoNode) return -1;
    const Node& root = schedule_.graph.node(region.root);
    const NodeId inner = root.inputs[0];
    const int32_t before = region_of_[index(inner)];
    if (before < 0 || gone_.count(inner) > 0 || consumers_[index(inner)].size() != 1) return -1;
    // For concat_in_place() and, of the rest, gather_channels().
    if (schedule_.graph.node(inner).op == ir::Op::kConcat) return -1;
    return is_plain(before) ? before : -1;
  }

  Region join(const Region& before, const Region& region) const {
    Region joined = region;
    joined.inner = before.output;
    joined.nodes = merged(before.nodes, region.nodes);
    joined.leaves = merged(before.leaves, region.leaves);
    std::erase(joined.leaves, before.output);
    joined.name = before.name.substr(0, before.name.find('+'));
    joined.name += "+" + region.name.substr(region.name.rfind('+') + 1);
    return joined;
  }

  void drop_buffers() {
    std::vector<BufferInfo> kept;
    for (const BufferInfo& buffer : schedule_.buffers) {
      const bool is_gone = gone_.count(buffer.value) > 0;
      schedule_.buffer_of[index(buffer.value)] = is_gone ? -1 : static_cast<int32_t>(kept.size());
      if (!is_gone) kept.push_back(buffer);
    }
    schedule_.buffers = std::move(kept);
  }

  Schedule& schedule_;
  const ScheduleOptions& options_;
  std::vector<std::vector<NodeId>> consumers_;
  std::vector<int32_t> region_of_;  // by output
  std::set<NodeId> gone_;           // outputs that have no region, and no memory, of their own
  std::set<NodeId> pooled_;         // outputs that another region writes as well as its own
};

}  // namespace

void join_regions(Schedule& schedule, const ScheduleOptions& options) {
  if (options.joins) Joiner(schedule, options).run();
}

}  // namespace camshaft::schedule
