// SPDX-License-Identifier: MIT
#include "codegen/emit/narrow_storage.h"

#include <algorithm>
#include <set>

#include "codegen/passes/passes.h"
#include "codegen/schedule/schedule.h"

namespace camshaft::emit {

ir::Graph narrow_storage(const ir::Graph& graph, ir::DType dtype, bool fuse) {
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
  for (const schedule::Region& region : draft.regions) {
    const bool is_conv =
        region.root != ir::kNoNode && draft.graph.node(region.root).op == ir::Op::kConv;
    if (is_conv && !is_output(region.output)) stored.insert(region.output);
  }
  return passes::narrow_floats(draft.graph, dtype, stored);
}

}  // namespace camshaft::emit
