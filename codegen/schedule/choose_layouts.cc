// SPDX-License-Identifier: MIT
// Layouts: which buffers are channel-blocked. Windowed kernels read and write whole vectors of
// channels, so what convolutions and pools produce is blocked, and elementwise regions keep the
// layout of what they read. Kernels reach any layout through index functions, so no choice is
// wrong, only slow; graph inputs and outputs stay row-major.
#include <algorithm>

#include "codegen/schedule/schedule.h"

namespace camshaft::schedule {
namespace {

using ir::Op;

// What windowed kernels compute in: floats, and in quantized networks sums and bytes.
bool may_block(ir::DType dtype) {
  return dtype == ir::DType::kFloat32 || ir::is_half(dtype) || dtype == ir::DType::kInt32 ||
         dtype == ir::DType::kInt8 || dtype == ir::DType::kUInt8;
}

// The largest block up to `limit` that divides the channels evenly, or 1.
int32_t fitting_block(const ir::TensorType& type, int32_t limit) {
  if (type.rank() < 3 || !may_block(type.dtype)) return 1;
  for (int32_t block = limit; block >= 4; block /= 2) {
    if (type.shape[1] % block == 0 && type.shape[1] > 0) return block;
  }
  return 1;
}

bool is_windowed(const Schedule& schedule, const Region& region) {
  if (region.root == kNoNode) return false;
  const Op op = schedule.graph.node(region.root).op;
  return op == Op::kConv || op == Op::kPool;
}

// The block that a region of elementwise, movement or reduction nodes inherits: that of the largest
// blocked leaf whose channels are its output's channels too.
int32_t inherited_block(const Schedule& schedule, const Region& region) {
  const ir::TensorType& type = schedule.type(region.output);
  if (type.rank() < 3 || !may_block(type.dtype)) return 1;
  int64_t best_elements = 0;
  int32_t block = 1;
  for (NodeId leaf : region.leaves) {
    const ir::TensorType& leaf_type = schedule.type(leaf);
    if (leaf_type.rank() != type.rank() || schedule.buffer_of[static_cast<size_t>(leaf)] < 0)
      continue;
    const int32_t leaf_block = schedule.buffer(leaf).layout.channel_block;
    if (leaf_block == 1 || leaf_type.elements() <= best_elements) continue;
    if (type.shape[1] % leaf_block != 0) continue;
    best_elements = leaf_type.elements();
    block = leaf_block;
  }
  return block;
}

void add_buffer(Schedule& schedule, NodeId value, BufferKind kind, int32_t io_index,
                int32_t channel_block) {
  BufferInfo buffer;
  buffer.value = value;
  buffer.kind = kind;
  buffer.io_index = io_index;
  buffer.layout.channel_block = channel_block;
  buffer.size_bytes = schedule.type(value).size_bytes();
  schedule.buffer_of[static_cast<size_t>(value)] = static_cast<int32_t>(schedule.buffers.size());
  schedule.buffers.push_back(buffer);
}

}  // namespace

void choose_layouts(Schedule& schedule, const ScheduleOptions& options) {
  const ir::Graph& graph = schedule.graph;
  schedule.buffers.clear();
  schedule.buffer_of.assign(static_cast<size_t>(graph.size()), -1);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    add_buffer(schedule, graph.inputs[i].node, BufferKind::kInput, static_cast<int32_t>(i), 1);
  }
  for (const Region& region : schedule.regions) {
    for (NodeId leaf : region.leaves) {
      const bool is_constant = graph.node(leaf).op == Op::kConstant;
      if (is_constant && schedule.buffer_of[static_cast<size_t>(leaf)] < 0) {
        add_buffer(schedule, leaf, BufferKind::kConstant, -1, 1);
      }
    }
    int32_t io_index = -1;
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      if (graph.outputs[i].node == region.output) io_index = static_cast<int32_t>(i);
    }
    if (io_index >= 0) {
      add_buffer(schedule, region.output, BufferKind::kOutput, io_index, 1);
      continue;
    }
    const int32_t block =
        options.max_channel_block < 2 ? 1
        : is_windowed(schedule, region)
            ? fitting_block(schedule.type(region.output), options.max_channel_block)
            : inherited_block(schedule, region);
    add_buffer(schedule, region.output, BufferKind::kArena, -1, block);
  }
}

}  // namespace camshaft::schedule
