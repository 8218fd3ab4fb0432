// SPDX-License-Identifier: MIT
#include "codegen/emit/narrow_storage.h"

#include <algorithm>
#include <set>

#include "codegen/passes/passes.h"
#include "codegen/schedule/schedule.h"

namespace camshaft::emit {
namespace {

// An operand of a depthwise convolution up to this size stays in the second level of the caches,
// where reading it as f32 takes less time than widening it; a larger one is worth half its bytes.
// Measured on Sapphire Rapids: of a 5x5 kernel on 240x16x32 twice as fast wide, of a 3x3 kernel on
// 96x112x112 1.4 times as fast narrow.
constexpr int64_t kWideBytes = 1 << 20;

// Whether all that reads a value are depthwise convolutions of it that want it wide.
bool is_better_wide(const ir::Graph& graph, ir::NodeId id) {
  if (graph.node(id).type.size_bytes() > kWideBytes) return false;
  bool is_read = false;
  for (ir::NodeId reader = id + 1; reader < graph.size(); ++reader) {
    const std::vector<ir::NodeId>& inputs = graph.node(reader).inputs;
    if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) continue;
    if (!passes::is_depthwise(graph, reader)) return false;
    is_read = true;
  }
  return is_read;
}

}  // namespace

ir::Graph narrow_storage(const ir::Graph& graph, ir::DType dtype, bool fuse,
                         std::span<const render::CpuTarget> targets) {
  schedule::Schedule draft;
  draft.graph = schedule::isolate_outputs(graph);
  schedule::ScheduleOptions options;
  options.fuse = fuse;
  schedule::fuse_regions(draft, options);
  const auto is_output = [&](ir::NodeId id) {
    return std::any_of(draft.graph.outputs.begin(), draft.graph.outputs.end(),
                       [&](const ir::GraphOutput& output) { return output.node == id; });
  };
  std::set<ir::NodeId> stored;
  std::set<ir::NodeId> rounded;
  for (const schedule::Region& region : draft.regions) {
    const bool is_conv =
        region.root != ir::kNoNode && draft.graph.node(region.root).op == ir::Op::kConv;
    if (!is_conv || is_output(region.output)) continue;
    (is_better_wide(draft.graph, region.output) ? rounded : stored).insert(region.output);
  }
  // Rounding f16 would take more than it saves: no function is cheaper for it.
  if (dtype != ir::DType::kBFloat16) rounded.clear();
  const bool multiply =
      dtype == ir::DType::kBFloat16 &&
      std::all_of(targets.begin(), targets.end(),
                  [](const render::CpuTarget& target) { return target.matrices; });
  return passes::narrow_floats(draft.graph, dtype, stored, rounded, multiply);
}

}  // namespace camshaft::emit
