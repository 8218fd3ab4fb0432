// SPDX-License-Identifier: MIT
// Reading in place: a concatenation of slices that only a convolution reads, and that would have to
// be copied, becomes part of the convolution's region, where the target says that its kernel can
// read the pieces where they lie.
#include <algorithm>
#include <set>

#include "codegen/schedule/schedule.h"

namespace camshaft::schedule {
namespace {

using ir::Node;
using ir::Op;

class Gatherer {
 public:
  Gatherer(Schedule& schedule, const ScheduleOptions& options)
      : schedule_(schedule), options_(options), consumers_(ir::consumers_of(schedule.graph)) {}

  void run() {
    for (Region& region : schedule_.regions) {
      const Region* copy = copy_before(region);
      if (copy == nullptr) continue;
      Region joined = join(*copy, region);
      if (!options_.joins(schedule_, joined)) continue;
      gone_.insert(copy->output);
      region = std::move(joined);
    }
    if (gone_.empty()) return;
    std::erase_if(schedule_.regions,
                  [this](const Region& region) { return gone_.count(region.output) > 0; });
    drop_buffers();
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }

  bool is_slice(NodeId id) const { return schedule_.graph.node(id).op == Op::kSlice; }

  // The region that copies what the region's convolution, and nothing else, reads; or null.
  const Region* copy_before(const Region& region) const {
    if (region.root == kNoNode || region.inner != kNoNode || region.pooled != kNoNode) {
      return nullptr;
    }
    const Node& root = schedule_.graph.node(region.root);
    if (root.op != Op::kConv || consumers_[index(root.inputs[0])].size() != 1) return nullptr;
    const NodeId x = root.inputs[0];
    const Node& concat = schedule_.graph.node(x);
    if (concat.op != Op::kConcat || concat.as<ir::ConcatAttrs>().axis != 1 ||
        std::none_of(concat.inputs.begin(), concat.inputs.end(),
                     [this](NodeId id) { return is_slice(id); })) {
      return nullptr;
    }
    const auto found = std::find_if(schedule_.regions.begin(), schedule_.regions.end(),
                                    [&](const Region& other) { return other.output == x; });
    if (found == schedule_.regions.end() || schedule_.buffer(x).kind != BufferKind::kArena ||
        schedule_.buffer(x).part_of >= 0) {
      return nullptr;
    }
    return &*found;
  }

  static Region join(const Region& copy, const Region& region) {
    Region joined = region;
    joined.inner = copy.output;
    const auto merge = [](const std::vector<NodeId>& a, std::vector<NodeId>& b) {
      std::vector<NodeId> result;
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
      b = std::move(result);
    };
    merge(copy.nodes, joined.nodes);
    merge(copy.leaves, joined.leaves);
    std::erase(joined.leaves, copy.output);
    return joined;
  }

  void drop_buffers() {
    std::vector<BufferInfo> kept;
    std::vector<int32_t> numbers;  // by old number
    for (const BufferInfo& buffer : schedule_.buffers) {
      const bool is_gone = gone_.count(buffer.value) > 0;
      numbers.push_back(is_gone ? -1 : static_cast<int32_t>(kept.size()));
      if (!is_gone) kept.push_back(buffer);
    }
    for (int32_t& number : schedule_.buffer_of) {
      if (number >= 0) number = numbers[static_cast<size_t>(number)];
    }
    for (BufferInfo& buffer : kept) {
      if (buffer.part_of >= 0) buffer.part_of = numbers[static_cast<size_t>(buffer.part_of)];
    }
    schedule_.buffers = std::move(kept);
  }

  Schedule& schedule_;
  const ScheduleOptions& options_;
  const std::vector<std::vector<NodeId>> consumers_;
  std::set<NodeId> gone_;  // what has no region, and no memory, of its own
};

}  // namespace

void gather_channels(Schedule& schedule, const ScheduleOptions& options) {
  if (options.joins) Gatherer(schedule, options).run();
}

}  // namespace camshaft::schedule
