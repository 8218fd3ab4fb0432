// SPDX-License-Identifier: MIT
#include "codegen/schedule/schedule.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/ir/graph_constants.h"

namespace camshaft::schedule {
namespace {

using ir::Op;

base::Status broken(const Region& region, const char* what) {
  return base::fail(base::Code::kInternal, "schedule.verify", "region '%s' (%%%d): %s",
                    region.name.c_str(), region.output, what);
}

// What regions have written so far, as runs of bytes of buffers that are no parts.
class Written {
 public:
  explicit Written(const Schedule& schedule) : schedule_(schedule) {}

  // False where some of it was written before.
  bool add(NodeId value) {
    const auto [base, begin, end] = place(value);
    std::map<int64_t, int64_t>& runs = runs_[base];
    const auto next = runs.lower_bound(begin);
    const bool is_new = (next == runs.end() || next->first >= end) &&
                        (next == runs.begin() || std::prev(next)->second <= begin);
    if (begin < end) runs[begin] = end;
    return is_new;
  }
  bool has(NodeId value) const {
    const auto [base, begin, end] = place(value);
    const auto runs = runs_.find(base);
    int64_t reached = begin;
    if (runs != runs_.end()) {
      for (const auto& [first, last] : runs->second) {
        if (first <= reached && reached < last) reached = last;
      }
    }
    return reached >= end;
  }

 private:
  struct Place {
    int32_t base;
    int64_t begin, end;
  };
  Place place(NodeId value) const {
    const BufferInfo& buffer = schedule_.buffer(value);
    const bool is_part = buffer.part_of >= 0;
    const int64_t begin = is_part ? buffer.part_offset_bytes : 0;
    return {is_part ? buffer.part_of : schedule_.buffer_of[static_cast<size_t>(value)], begin,
            begin + buffer.size_bytes};
  }

  const Schedule& schedule_;
  std::map<int32_t, std::map<int64_t, int64_t>> runs_;  // begin to end, by buffer
};

// What exists inside a kernel only: nodes on the way to its root read it and nothing else does.
base::Status verify_inner(const Schedule& schedule, const Region& region) {
  if (!std::binary_search(region.nodes.begin(), region.nodes.end(), region.inner)) {
    return broken(region, "what was joined into it is not among its nodes");
  }
  if (schedule.buffer_of[static_cast<size_t>(region.inner)] >= 0) {
    return broken(region, "what was joined into it has a buffer, which nothing writes");
  }
  bool is_read = false;
  for (NodeId id = region.inner + 1; id < schedule.graph.size(); ++id) {
    const std::vector<NodeId>& inputs = schedule.graph.node(id).inputs;
    if (std::find(inputs.begin(), inputs.end(), region.inner) == inputs.end()) continue;
    is_read = true;
    const bool is_inside =
        std::binary_search(region.nodes.begin(), region.nodes.end(), id) && id <= region.root;
    if (!is_inside) return broken(region, "others than its root read what was joined into it");
  }
  return is_read ? base::ok() : broken(region, "its root doesn't read what was joined into it");
}

base::Status verify_region(const Schedule& schedule, const Region& region, const Written& written) {
  const std::set<NodeId> members(region.nodes.begin(), region.nodes.end());
  const std::set<NodeId> leaves(region.leaves.begin(), region.leaves.end());
  if (region.nodes.empty() || region.nodes.back() != std::max(region.output, region.pooled)) {
    return broken(region, "its output is not its last node");
  }
  if (members.count(region.output) == 0) return broken(region, "its output is not computed in it");
  if (region.root != kNoNode && members.count(region.root) == 0) {
    return broken(region, "its root is not among its nodes");
  }
  if (region.inner != kNoNode) CAMSHAFT_TRY(verify_inner(schedule, region));
  for (NodeId leaf : leaves) {
    if (schedule.buffer_of[static_cast<size_t>(leaf)] < 0) {
      return broken(region, "a leaf has no buffer");
    }
    if (!written.has(leaf)) return broken(region, "a leaf is not computed before it");
  }
  for (NodeId id : members) {
    for (NodeId operand : schedule.graph.node(id).inputs) {
      if (members.count(operand) == 0 && leaves.count(operand) == 0 &&
          !ir::splat_value(schedule.graph, operand).has_value()) {
        return broken(region, "an operand is neither inside nor a leaf");
      }
    }
  }
  return base::ok();
}

base::Status verify_part(const Schedule& schedule, const BufferInfo& part) {
  const auto base_number = static_cast<size_t>(part.part_of);
  const auto fail = [&](const char* what) {
    return base::fail(base::Code::kInternal, "schedule.verify", "the part %%%d %s", part.value,
                      what);
  };
  if (base_number >= schedule.buffers.size()) return fail("has no base");
  const BufferInfo& base = schedule.buffers[base_number];
  if (base.part_of >= 0) return fail("is a part of a part");
  if (base.image.width > 0) return fail("is a part of an image");
  if (base.kind != part.kind || base.io_index != part.io_index) return fail("is of another kind");
  if (part.part_offset_bytes % kBufferAlignment != 0 || part.part_offset_bytes < 0 ||
      part.part_offset_bytes + part.size_bytes > base.size_bytes ||
      part.offset_bytes != base.offset_bytes + part.part_offset_bytes) {
    return fail("is misplaced in its base");
  }
  if (part.first_region < base.first_region || part.last_region > base.last_region) {
    return fail("lives longer than its base");
  }
  return base::ok();
}

base::Status verify_placement(const Schedule& schedule) {
  for (size_t i = 0; i < schedule.buffers.size(); ++i) {
    const BufferInfo& a = schedule.buffers[i];
    if (a.part_of >= 0) {
      CAMSHAFT_TRY(verify_part(schedule, a));
      continue;
    }
    if (a.image.width > 0 && a.kind == BufferKind::kArena &&
        (a.layout.row_texels != a.image.pitch || !schedule.image_limit.allows(a.image) ||
         a.size_bytes !=
             a.image.elements() * base::dtype_size_bytes(schedule.type(a.value).dtype))) {
      return base::fail(base::Code::kInternal, "schedule.verify", "%%%d is an impossible image",
                        a.value);
    }
    if (a.kind != BufferKind::kArena) continue;
    const bool is_image = a.image.width > 0;
    if (a.offset_bytes % (is_image ? kImageAlignment : kBufferAlignment) != 0 ||
        a.offset_bytes + a.size_bytes > schedule.arena_bytes) {
      return base::fail(base::Code::kInternal, "schedule.verify", "buffer of %%%d is misplaced",
                        a.value);
    }
    for (size_t j = 0; j < i; ++j) {
      const BufferInfo& b = schedule.buffers[j];
      if (b.kind != BufferKind::kArena || b.part_of >= 0 || a.first_region > b.last_region ||
          b.first_region > a.last_region) {
        continue;
      }
      if (a.offset_bytes < b.offset_bytes + b.size_bytes &&
          b.offset_bytes < a.offset_bytes + a.size_bytes) {
        return base::fail(base::Code::kInternal, "schedule.verify",
                          "buffers of %%%d and %%%d overlap while both are live", a.value, b.value);
      }
    }
  }
  return base::ok();
}

}  // namespace

const BufferInfo& Schedule::buffer(NodeId value) const {
  const int32_t index = buffer_of[static_cast<size_t>(value)];
  CAMSHAFT_CHECK(index >= 0);
  return buffers[static_cast<size_t>(index)];
}

ir::Graph isolate_outputs(const ir::Graph& graph) {
  ir::Graph result = graph;
  std::set<NodeId> taken;
  for (ir::GraphOutput& output : result.outputs) {
    const ir::Node& node = result.node(output.node);
    const bool is_source = node.op == Op::kInput || node.op == Op::kConstant;
    if (is_source || !taken.insert(output.node).second) {
      const ir::ReshapeAttrs same{node.type.shape};
      output.node = result.add(Op::kReshape, {output.node}, same, output.name);
      taken.insert(output.node);
    }
  }
  return result;
}

Schedule make_schedule(const ir::Graph& graph, const ScheduleOptions& options) {
  Schedule schedule;
  schedule.graph = isolate_outputs(graph);
  fuse_regions(schedule, options);
  choose_layouts(schedule, options);
  join_regions(schedule, options);
  concat_in_place(schedule);
  make_views(schedule);
  gather_channels(schedule, options);
  plan_memory(schedule);
  return schedule;
}

base::Status verify_schedule(const Schedule& schedule) {
  Written written(schedule);
  for (NodeId id = 0; id < schedule.graph.size(); ++id) {
    const Op op = schedule.graph.node(id).op;
    const bool is_given = op == Op::kInput || op == Op::kConstant;
    if (is_given && schedule.buffer_of[static_cast<size_t>(id)] >= 0) written.add(id);
  }
  for (const Region& region : schedule.regions) {
    CAMSHAFT_TRY(verify_region(schedule, region, written));
    for (const NodeId value : region.written()) {
      if (!written.add(value)) return broken(region, "it writes what another has written");
    }
  }
  for (const ir::GraphOutput& output : schedule.graph.outputs) {
    if (!written.has(output.node)) {
      return base::fail(base::Code::kInternal, "schedule.verify", "no region computes output '%s'",
                        output.name.c_str());
    }
  }
  return verify_placement(schedule);
}

std::string print_schedule(const Schedule& schedule) {
  std::string text;
  char line[256];
  for (size_t r = 0; r < schedule.regions.size(); ++r) {
    const Region& region = schedule.regions[r];
    const BufferInfo& buffer = schedule.buffer(region.output);
    const char* root =
        region.root == kNoNode ? "-" : ir::op_info(schedule.graph.node(region.root).op).name;
    std::snprintf(line, sizeof line, "%3zu %-8s %%%d = (", r, root, region.output);
    text += line;
    for (size_t i = 0; i < region.leaves.size(); ++i) {
      std::snprintf(line, sizeof line, "%s%%%d", i == 0 ? "" : ", ", region.leaves[i]);
      text += line;
    }
    std::snprintf(line, sizeof line, ") : %s block %d, %s at %lld, live %d..%d \"",
                  ir::to_string(schedule.type(region.output)).c_str(), buffer.layout.channel_block,
                  buffer.kind == BufferKind::kOutput ? "output" : "arena",
                  static_cast<long long>(buffer.offset_bytes), buffer.first_region,
                  buffer.last_region);
    text += line + region.name + "\"\n";
    if (region.pooled != kNoNode) {
      std::snprintf(line, sizeof line, "             and %%%d : %s\n", region.pooled,
                    ir::to_string(schedule.type(region.pooled)).c_str());
      text += line;
    }
    if (region.inner == kNoNode) continue;
    std::snprintf(line, sizeof line, "             a part at a time: %%%d : %s\n", region.inner,
                  ir::to_string(schedule.type(region.inner)).c_str());
    text += line;
  }
  for (const BufferInfo& buffer : schedule.buffers) {
    if (buffer.image.width == 0) continue;
    std::snprintf(line, sizeof line, "%%%d is an image of %lld x %lld texels\n", buffer.value,
                  static_cast<long long>(buffer.image.width),
                  static_cast<long long>(buffer.image.height));
    text += line;
  }
  for (const BufferInfo& part : schedule.buffers) {
    if (part.part_of < 0) continue;
    std::snprintf(line, sizeof line, "%%%d is part of %%%d, at %lld\n", part.value,
                  schedule.buffers[static_cast<size_t>(part.part_of)].value,
                  static_cast<long long>(part.part_offset_bytes));
    text += line;
  }
  std::snprintf(line, sizeof line, "arena %lld bytes, lower bound %lld\n",
                static_cast<long long>(schedule.arena_bytes),
                static_cast<long long>(schedule.arena_lower_bound_bytes));
  return text + line;
}

}  // namespace camshaft::schedule
