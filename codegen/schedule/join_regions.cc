// SPDX-License-Identifier: MIT
// Joining: a region that only the root of another one reads becomes part of that one, where the
// target says that a kernel which computes it a part at a time is better than two. So a wide tensor
// between two convolutions never leaves the caches, and has no buffer.
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
      const int32_t first = region_before(region);
      if (first < 0) continue;
      Region& before = schedule_.regions[static_cast<size_t>(first)];
      Region joined = join(before, region);
      if (!options_.joins(schedule_, joined)) continue;
      gone_.insert(before.output);
      region = std::move(joined);
    }
    if (gone_.empty()) return;
    std::erase_if(schedule_.regions,
                  [this](const Region& region) { return gone_.count(region.output) > 0; });
    drop_buffers();
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }

  // The number of the region whose output the region's root, and nothing else, reads; or -1.
  int32_t region_before(const Region& region) const {
    if (region.root == kNoNode || region.inner != kNoNode) return -1;
    const Node& root = schedule_.graph.node(region.root);
    const NodeId inner = root.inputs[0];
    const int32_t before = region_of_[index(inner)];
    if (before < 0 || gone_.count(inner) > 0 || consumers_[index(inner)].size() != 1) return -1;
    const bool is_arena = schedule_.buffer(inner).kind == BufferKind::kArena;
    const bool is_plain = schedule_.regions[static_cast<size_t>(before)].inner == kNoNode;
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
  std::set<NodeId> gone_;           // outputs that have no region of their own any more
};

}  // namespace

void join_regions(Schedule& schedule, const ScheduleOptions& options) {
  if (options.joins) Joiner(schedule, options).run();
}

}  // namespace camshaft::schedule
