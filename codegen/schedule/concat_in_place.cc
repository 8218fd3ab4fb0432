// SPDX-License-Identifier: MIT
// Concatenation without a copy: what is put side by side is written there in the first place. The
// buffers of the operands become parts of the result's, and the region that would have copied them
// goes. An operand that the region computes itself (an upsampled tensor, say) gets a region of its
// own. A concatenation of what lies side by side already, as in a dense block whose every layer
// reads all before it, is a part of that buffer.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/schedule/schedule.h"
#include "codegen/schedule/slice_run.h"

namespace camshaft::schedule {
namespace {

using ir::Node;
using ir::Op;

class Joiner {
 public:
  explicit Joiner(Schedule& schedule)
      : schedule_(schedule), graph_(schedule.graph), is_written_(schedule.buffers.size(), false) {
    for (const Region& region : schedule.regions) {
      for (const NodeId value : region.written()) {
        is_written_[static_cast<size_t>(schedule.buffer_of[index(value)])] = true;
      }
      if (std::all_of(region.nodes.begin(), region.nodes.end(), [&](NodeId id) {
            return graph_.node(id).op == Op::kSlice || graph_.node(id).op == Op::kReshape;
          })) {
        slices_.insert(region.output);
      }
    }
  }

  // The last first: it holds the most, and earlier ones may lie in it.
  void run() {
    std::vector<Region> result;  // in reverse
    for (size_t r = schedule_.regions.size(); r > 0; --r) {
      Region& region = schedule_.regions[r - 1];
      const std::optional<std::vector<Region>> own = join(region);
      if (!own) {
        result.push_back(std::move(region));
        continue;
      }
      result.insert(result.end(), own->rbegin(), own->rend());
    }
    std::reverse(result.begin(), result.end());
    schedule_.regions = std::move(result);
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }

  // Where in the result's buffer the value lies of which operands are all or parts.
  struct Place {
    int64_t offset_bytes = 0;
    int64_t covered_bytes = 0;  // by operands
  };
  struct Plan {
    std::map<NodeId, Place> placed;
    std::map<NodeId, int64_t> own;  // operands that the region computes itself, with their offsets
  };
  // An operand as a run of a value that an earlier region writes.
  struct Source {
    NodeId value;
    int64_t offset_bytes;
  };

  BufferInfo* buffer_of(NodeId id) {
    const int32_t number = schedule_.buffer_of[index(id)];
    return number < 0 ? nullptr : &schedule_.buffers[static_cast<size_t>(number)];
  }
  bool is_written(NodeId id) const {
    const int32_t number = schedule_.buffer_of[index(id)];
    return number >= 0 && is_written_[static_cast<size_t>(number)];
  }

  // The regions that are needed instead of a concatenation; nothing if it has to copy.
  std::optional<std::vector<Region>> join(const Region& region) {
    const BufferInfo& whole = schedule_.buffer(region.output);
    if (graph_.node(region.output).op != Op::kConcat || whole.kind != BufferKind::kArena ||
        whole.image.width > 0) {
      return std::nullopt;
    }
    std::optional<Plan> plan = plan_for(region, whole.layout);
    // One kernel more for each operand of the region's own: no more than copies that go.
    if (!plan || plan->own.size() > plan->placed.size()) return std::nullopt;
    if (lies_side_by_side(region.output, *plan)) return std::vector<Region>();
    std::vector<Region> regions;
    for (const auto& [operand, offset] : plan->own) regions.push_back(region_of(region, operand));
    if (!can_place(*plan) || repeats_work(regions)) return std::nullopt;
    for (const auto& [value, place] : plan->placed) put(value, region.output, place.offset_bytes);
    for (const auto& [operand, offset] : plan->own) put(operand, region.output, offset);
    return regions;
  }

  // Where each operand would have to lie; nothing if that isn't one run for each.
  std::optional<Plan> plan_for(const Region& region, Layout layout) {
    const std::set<NodeId> members(region.nodes.begin(), region.nodes.end());
    const Node& concat = graph_.node(region.output);
    const auto axis = static_cast<size_t>(concat.as<ir::ConcatAttrs>().axis);
    const int64_t element = base::dtype_size_bytes(concat.type.dtype);
    Plan plan;
    ir::SliceAttrs slice;
    slice.begin.assign(concat.type.shape.size(), 0);
    slice.step.assign(concat.type.shape.size(), 1);
    for (const NodeId operand : concat.inputs) {
      const ir::TensorType& type = graph_.node(operand).type;
      if (type.elements() == 0) continue;
      slice.extent = type.shape;
      const std::optional<int64_t> first = first_of_run(slice, layout, concat.type.shape);
      slice.begin[axis] += type.shape[axis];
      if (!first) return std::nullopt;
      if (!add_operand(plan, members, operand, layout, *first * element)) return std::nullopt;
    }
    return plan;
  }

  bool add_operand(Plan& plan, const std::set<NodeId>& members, NodeId operand, Layout layout,
                   int64_t offset_bytes) {
    const std::optional<Source> source = source_of(members, operand, layout);
    if (!source) {
      // What only this region has, and only once.
      return members.count(operand) > 0 && buffer_of(operand) == nullptr &&
             offset_bytes % kBufferAlignment == 0 && plan.own.emplace(operand, offset_bytes).second;
    }
    const int64_t start = offset_bytes - source->offset_bytes;
    const auto [entry, is_new] = plan.placed.try_emplace(source->value, Place{start, 0});
    entry->second.covered_bytes += graph_.node(operand).type.size_bytes();
    return is_new || entry->second.offset_bytes == start;
  }

  std::optional<Source> source_of(const std::set<NodeId>& members, NodeId id, Layout layout) {
    int64_t offset_bytes = 0;
    while (members.count(id) > 0 || slices_.count(id) > 0) {
      const Node& node = graph_.node(id);
      if (node.op == Op::kSlice) {
        const auto first =
            first_of_run(node.as<ir::SliceAttrs>(), layout, graph_.node(node.inputs[0]).type.shape);
        if (!first) return std::nullopt;
        offset_bytes += *first * base::dtype_size_bytes(node.type.dtype);
      } else if (node.op != Op::kReshape || layout.channel_block != 1) {
        return std::nullopt;
      }
      id = node.inputs[0];
    }
    const BufferInfo* buffer = buffer_of(id);
    if (buffer == nullptr || buffer->kind != BufferKind::kArena || !is_written(id) ||
        buffer->layout != layout || buffer->image.width > 0) {
      return std::nullopt;
    }
    return Source{id, offset_bytes};
  }

  // Whether all operands are placed already, as they have to be; then the result is placed too.
  bool lies_side_by_side(NodeId result, const Plan& plan) {
    if (!plan.own.empty() || plan.placed.empty()) return false;
    const BufferInfo* first = buffer_of(plan.placed.begin()->first);
    const int64_t start = first->part_offset_bytes - plan.placed.begin()->second.offset_bytes;
    for (const auto& [value, place] : plan.placed) {
      const BufferInfo* buffer = buffer_of(value);
      if (buffer->part_of < 0 || buffer->part_of != first->part_of ||
          buffer->part_offset_bytes != start + place.offset_bytes) {
        return false;
      }
    }
    if (start < 0 || start % kBufferAlignment != 0 || buffer_of(result)->part_of >= 0) return false;
    buffer_of(result)->part_of = first->part_of;
    buffer_of(result)->part_offset_bytes = start;
    return true;
  }

  // A value that is placed must lie in the result whole, and belong to no other.
  bool can_place(const Plan& plan) {
    return std::all_of(plan.placed.begin(), plan.placed.end(), [&](const auto& entry) {
      const BufferInfo* buffer = buffer_of(entry.first);
      return buffer->part_of < 0 && entry.second.covered_bytes == buffer->size_bytes &&
             entry.second.offset_bytes % kBufferAlignment == 0;
    });
  }

  // The part of a region that computes one operand.
  Region region_of(const Region& region, NodeId operand) const {
    const std::set<NodeId> members(region.nodes.begin(), region.nodes.end());
    const std::set<NodeId> leaves(region.leaves.begin(), region.leaves.end());
    std::set<NodeId> nodes;
    std::set<NodeId> read;
    std::vector<NodeId> open = {operand};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (!nodes.insert(id).second) continue;
      for (const NodeId input : graph_.node(id).inputs) {
        if (members.count(input) > 0) open.push_back(input);
        if (leaves.count(input) > 0) read.insert(input);
      }
    }
    const std::string& name = graph_.node(operand).name;
    return {.output = operand,
            .nodes = {nodes.begin(), nodes.end()},
            .leaves = {read.begin(), read.end()},
            .name = name.empty() ? region.name : name};
  }

  // Whether two regions would compute the same node, other than by an index function.
  bool repeats_work(const std::vector<Region>& regions) const {
    std::set<NodeId> computed;
    for (const Region& region : regions) {
      for (const NodeId id : region.nodes) {
        if (!ir::is_movement(graph_.node(id).op) && !computed.insert(id).second) return true;
      }
    }
    return false;
  }

  void put(NodeId value, NodeId result, int64_t offset_bytes) {
    if (buffer_of(value) == nullptr) {
      schedule_.buffer_of[index(value)] = static_cast<int32_t>(schedule_.buffers.size());
      schedule_.buffers.push_back({.value = value,
                                   .layout = schedule_.buffer(result).layout,
                                   .size_bytes = graph_.node(value).type.size_bytes()});
      is_written_.push_back(true);
    }
    const BufferInfo& whole = schedule_.buffer(result);
    const bool is_part = whole.part_of >= 0;
    BufferInfo& part = *buffer_of(value);
    part.part_of = is_part ? whole.part_of : schedule_.buffer_of[index(result)];
    part.part_offset_bytes = offset_bytes + (is_part ? whole.part_offset_bytes : 0);
  }

  Schedule& schedule_;
  const ir::Graph& graph_;
  std::vector<bool> is_written_;  // by buffer: by a region
  std::set<NodeId> slices_;       // outputs of regions that make_views() may drop
};

}  // namespace

void concat_in_place(Schedule& schedule) {
  Joiner(schedule).run();
}

}  // namespace camshaft::schedule
