// SPDX-License-Identifier: MIT
// Joining, where the target says that one kernel is better than two. A region that only the root of
// another one reads becomes part of that one, whose kernel computes it a part at a time: so a wide
// tensor between two convolutions never leaves the caches, and has no buffer. And a region that
// reduces what another one writes becomes part of that one: so nothing passes over it again.
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
      if (!join_before(region)) pool_before(region);
    }
    std::erase_if(schedule_.regions, [this](const Region& region) {
      return gone_.count(region.output) > 0 || pooled_.count(region.output) > 0;
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
    const bool is_arena = schedule_.buffer(inner).kind == BufferKind::kArena;
    const Region& first = schedule_.regions[static_cast<size_t>(before)];
    const bool is_plain = first.inner == kNoNode && first.pooled == kNoNode;
    return is_arena && is_plain ? before : -1;
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
