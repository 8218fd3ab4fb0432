// SPDX-License-Identifier: MIT
#include "codegen/lower/channel_runs.h"

#include <algorithm>

#include "codegen/lower/strategy_list.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {
namespace {

using ir::Op;

bool is_leaf(const Task& task, NodeId id) {
  return std::binary_search(task.region.leaves.begin(), task.region.leaves.end(), id);
}

bool is_run(const Task& task, NodeId id) {
  if (task.node(id).op == Op::kSlice && !is_leaf(task, id)) id = task.node(id).inputs[0];
  return is_leaf(task, id) && !task.is_image(id);
}

}  // namespace

std::vector<int64_t> channel_runs(const Task& task) {
  if (!task.has_root(Op::kConv) || task.region.inner == ir::kNoNode) return {};
  const ir::Node& root = task.node(task.region.root);
  const ir::Node& input = task.node(task.region.inner);
  // Halves are read two at a time, of one block.
  if (root.inputs[0] != task.region.inner || input.op != Op::kConcat ||
      input.as<ir::ConcatAttrs>().axis != 1 || input.type.dtype != ir::DType::kFloat32 ||
      root.as<ir::ConvAttrs>().groups != 1 || !window_of(task).is_pointwise()) {
    return {};
  }
  std::vector<int64_t> runs;
  for (const NodeId piece : input.inputs) {
    if (!is_run(task, piece)) return {};
    runs.push_back(task.type(piece).shape[1]);
  }
  return runs;
}

bool pays_to_gather(const Task& joined) {
  return !joined.target.is_gpu && !channel_runs(joined).empty() && matches_conv_direct(joined);
}

}  // namespace camshaft::lower
