// SPDX-License-Identifier: MIT
// Views: a Slice whose elements lie in one run in its operand's buffer is a part of that buffer.
// Nobody copies it, and kernels that differ in nothing but the slice they read become one: what the
// steps of a recurrent network read of their input, for instance. As an index function it would be
// a number in the kernel's text.
#include <algorithm>
#include <optional>
#include <set>

#include "codegen/ir/graph_constants.h"
#include "codegen/schedule/schedule.h"
#include "codegen/schedule/slice_run.h"

namespace camshaft::schedule {
namespace {

using ir::Node;
using ir::Op;

// A value's place: all its elements, in order, from an offset in a buffer that is no part.
struct Run {
  int32_t base;
  int64_t offset_bytes;
};

class ViewMaker {
 public:
  explicit ViewMaker(Schedule& schedule)
      : schedule_(schedule), graph_(schedule.graph), runs_(static_cast<size_t>(graph_.size())) {}

  void run() {
    for (NodeId id = 0; id < graph_.size(); ++id) find_run(id);
    std::erase_if(schedule_.regions, [this](const Region& region) { return is_view(region); });
    for (Region& region : schedule_.regions) read_views(region);
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }

  // Where an operand lies. Constants are left alone: strategies pack them, passes slice them.
  std::optional<Run> place(NodeId id) const {
    if (runs_[index(id)]) return runs_[index(id)];
    const int32_t buffer = schedule_.buffer_of[index(id)];
    if (buffer < 0 || graph_.node(id).op == Op::kConstant) return std::nullopt;
    const BufferInfo& info = schedule_.buffers[static_cast<size_t>(buffer)];
    if (info.image.width > 0) return std::nullopt;
    return info.part_of >= 0 ? Run{info.part_of, info.part_offset_bytes} : Run{buffer, 0};
  }

  void find_run(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op != Op::kSlice && node.op != Op::kReshape) return;
    std::optional<Run> run = place(node.inputs[0]);
    if (!run) return;
    const Layout layout = schedule_.buffers[static_cast<size_t>(run->base)].layout;
    if (node.op == Op::kReshape) {
      if (layout.channel_block == 1) runs_[index(id)] = run;
      return;
    }
    const auto first =
        first_of_run(node.as<ir::SliceAttrs>(), layout, graph_.node(node.inputs[0]).type.shape);
    if (!first) return;
    run->offset_bytes += *first * base::dtype_size_bytes(node.type.dtype);
    runs_[index(id)] = run;
  }

  bool can_be_view(NodeId id) const {
    const std::optional<Run>& run = runs_[index(id)];
    return run && run->offset_bytes % kBufferAlignment == 0 &&
           graph_.node(id).type.elements() > 0 && !is_part_of_another(id, *run);
  }

  // Whether a region writes the value into a concatenation's buffer, which would lack it.
  bool is_part_of_another(NodeId id, const Run& run) const {
    const int32_t number = schedule_.buffer_of[index(id)];
    if (number < 0) return false;
    const BufferInfo& buffer = schedule_.buffers[static_cast<size_t>(number)];
    return buffer.part_of >= 0 &&
           (buffer.part_of != run.base || buffer.part_offset_bytes != run.offset_bytes);
  }

  void make_view(NodeId id) {
    int32_t& number = schedule_.buffer_of[index(id)];
    if (number < 0) {
      number = static_cast<int32_t>(schedule_.buffers.size());
      schedule_.buffers.emplace_back();
    }
    const Run& run = *runs_[index(id)];
    const BufferInfo& base = schedule_.buffers[static_cast<size_t>(run.base)];
    BufferInfo view;
    view.value = id;
    view.kind = base.kind;
    view.io_index = base.io_index;
    view.layout = base.layout;
    view.size_bytes = graph_.node(id).type.size_bytes();
    view.part_of = run.base;
    view.part_offset_bytes = run.offset_bytes;
    schedule_.buffers[static_cast<size_t>(number)] = view;
  }

  // Makes the output of a region that would only copy a run a view instead.
  bool is_view(const Region& region) {
    const auto moves_nothing = [&](NodeId id) { return runs_[index(id)].has_value(); };
    if (!std::all_of(region.nodes.begin(), region.nodes.end(), moves_nothing) ||
        schedule_.buffer(region.output).kind != BufferKind::kArena || !can_be_view(region.output)) {
      return false;
    }
    make_view(region.output);
    return true;
  }

  // Makes the slices inside a region views, and so leaves.
  void read_views(Region& region) {
    const auto is_slice = [&](NodeId id) {
      return id != region.output && graph_.node(id).op == Op::kSlice && can_be_view(id);
    };
    if (std::none_of(region.nodes.begin(), region.nodes.end(), is_slice)) return;
    const std::set<NodeId> members(region.nodes.begin(), region.nodes.end());
    std::set<NodeId> nodes;
    std::set<NodeId> leaves;
    std::vector<NodeId> open = region.written();
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (!nodes.insert(id).second) continue;
      for (const NodeId operand : graph_.node(id).inputs) {
        if (ir::splat_value(graph_, operand).has_value() && members.count(operand) == 0) continue;
        if (members.count(operand) > 0 && !is_slice(operand)) {
          open.push_back(operand);
        } else {
          if (members.count(operand) > 0) make_view(operand);
          leaves.insert(operand);
        }
      }
    }
    region.nodes.assign(nodes.begin(), nodes.end());
    region.leaves.assign(leaves.begin(), leaves.end());
  }

  Schedule& schedule_;
  const ir::Graph& graph_;
  std::vector<std::optional<Run>> runs_;  // by NodeId; only of Slice and Reshape nodes
};

}  // namespace

void make_views(Schedule& schedule) {
  ViewMaker(schedule).run();
}

}  // namespace camshaft::schedule
