// SPDX-License-Identifier: MIT
// Layouts: which buffers are channel-blocked. Windowed kernels read and write whole vectors of
// channels, so what convolutions and pools produce is blocked, and elementwise regions keep the
// layout of what they read. Kernels reach any layout through index functions, so no choice is
// wrong, only slow; graph inputs and outputs stay row-major. Where a target has images, what
// windowed kernels and products write is one, if it fits.
#include <algorithm>
#include <optional>

#include "codegen/schedule/schedule.h"
#include "runtime/base/image.h"

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
// blocked leaf, or as much of it as divides the region's own channels. Where channels are moved to
// other places, 96 of 16 at a time may become 24 of 8: one after another, they would be gathered.
int32_t inherited_block(const Schedule& schedule, const Region& region) {
  const ir::TensorType& type = schedule.type(region.output);
  int64_t best_elements = 0;
  int32_t block = 1;
  for (NodeId leaf : region.leaves) {
    const ir::TensorType& leaf_type = schedule.type(leaf);
    if (leaf_type.rank() != type.rank() || schedule.buffer_of[static_cast<size_t>(leaf)] < 0)
      continue;
    const int32_t fitting = fitting_block(type, schedule.buffer(leaf).layout.channel_block);
    if (fitting == 1 || leaf_type.elements() <= best_elements) continue;
    best_elements = leaf_type.elements();
    block = fitting;
  }
  return block;
}

int64_t padded_texels(int64_t texels) {
  return (texels + kImageRowTexels - 1) / kImageRowTexels * kImageRowTexels;
}

// The image of a value with channels or, without, with its last axis in a row; width 0 where it has
// none. A single channel is none: three quarters would be padding.
ir::ImageShape value_image(const ir::TensorType& type, bool has_channels) {
  const int64_t channels = has_channels ? type.shape[1] : type.shape.back();
  const int64_t innermost = has_channels ? texel_channels(channels) : channels;
  ir::ImageShape image;
  const bool is_whole = innermost % base::kTexelElements == 0 && innermost <= 2 * channels;
  if (!is_whole || type.elements() == 0) return image;
  const int64_t columns = has_channels ? type.shape.back() : 1;
  image.width = innermost / base::kTexelElements * columns;
  image.height = type.elements() / (channels * columns);
  image.pitch = padded_texels(image.width);
  return image;
}

bool is_image_float(ir::DType dtype) {
  return base::is_float(dtype) && base::is_image_dtype(dtype);
}

// Whether a product reads the value as it lies.
bool feeds_product(const Schedule& schedule, NodeId value) {
  return std::any_of(schedule.regions.begin(), schedule.regions.end(), [&](const Region& region) {
    if (region.root == kNoNode) return false;
    const ir::Node& root = schedule.graph.node(region.root);
    return (root.op == Op::kMatMul || root.op == Op::kConv) &&
           std::find(root.inputs.begin(), root.inputs.end(), value) != root.inputs.end();
  });
}

// The rows of what a region writes: with channels after windows, plain after products, and as in
// its largest image after elementwise nodes. Nothing where it is to be a buffer.
enum class Rows : uint8_t { kNone, kChannels, kPlain };
Rows wanted_rows(const Schedule& schedule, const Region& region) {
  const ir::TensorType& type = schedule.type(region.output);
  if (!is_image_float(type.dtype)) return Rows::kNone;
  if (region.root != kNoNode) {
    if (schedule.type(region.root).shape != type.shape) return Rows::kNone;
    if (is_windowed(schedule, region)) return type.rank() >= 3 ? Rows::kChannels : Rows::kNone;
    const bool is_product = schedule.graph.node(region.root).op == Op::kMatMul;
    return is_product && type.rank() >= 2 && feeds_product(schedule, region.output) ? Rows::kPlain
                                                                                    : Rows::kNone;
  }
  Rows rows = Rows::kNone;
  int64_t most_elements = 0;
  for (const NodeId leaf : region.leaves) {
    const ir::TensorType& leaf_type = schedule.type(leaf);
    if (schedule.buffer_of[static_cast<size_t>(leaf)] < 0 || leaf_type.rank() != type.rank() ||
        leaf_type.elements() <= most_elements) {
      continue;
    }
    const Layout& layout = schedule.buffer(leaf).layout;
    if (layout.row_texels == 0) continue;
    most_elements = leaf_type.elements();
    rows = layout.channel_block > 1 ? Rows::kChannels : Rows::kPlain;
  }
  return rows;
}

// Makes a buffer, just added, an image if it can be one.
void make_image(Schedule& schedule, const Region& region, BufferInfo& buffer) {
  const Rows rows = wanted_rows(schedule, region);
  if (rows == Rows::kNone) return;
  const ir::TensorType& type = schedule.type(region.output);
  const ir::ImageShape image = value_image(type, rows == Rows::kChannels);
  if (image.width == 0 || !schedule.image_limit.allows(image)) return;
  buffer.image = image;
  buffer.layout = {
      .channel_block = static_cast<int32_t>(rows == Rows::kChannels ? base::kTexelElements : 1),
      .row_texels = image.pitch};
  buffer.size_bytes = image.elements() * base::dtype_size_bytes(type.dtype);
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

void take_as_buffer(Schedule& schedule, NodeId value) {
  const int32_t number = schedule.buffer_of[static_cast<size_t>(value)];
  CAMSHAFT_CHECK(number >= 0);
  BufferInfo& buffer = schedule.buffers[static_cast<size_t>(number)];
  buffer.image = {};
  buffer.layout.row_texels = 0;
  const int32_t block = buffer.layout.channel_block;
  if (block > 1 && schedule.type(value).shape[1] % block != 0) buffer.layout.channel_block = 1;
  buffer.size_bytes = schedule.type(value).size_bytes();
}

std::optional<ir::ImageShape> input_image(const ir::TensorType& type) {
  if (type.rank() < 2 || !base::is_image_dtype(type.dtype) || type.elements() == 0) {
    return std::nullopt;
  }
  const auto row = static_cast<size_t>(type.rank() == 2 ? 1 : 2);
  int64_t elements = 1;
  for (size_t axis = type.shape.size() - row; axis < type.shape.size(); ++axis) {
    elements *= type.shape[axis];
  }
  ir::ImageShape image;
  image.width = image.pitch = elements / base::kTexelElements;
  image.height = type.elements() / elements;
  const bool is_whole = type.shape.back() % base::kTexelElements == 0;
  const bool fits = image.width < ir::kMaxImageExtent && image.height < ir::kMaxImageExtent;
  return is_whole && fits ? std::optional(image) : std::nullopt;
}

void choose_layouts(Schedule& schedule, const ScheduleOptions& options) {
  const ir::Graph& graph = schedule.graph;
  schedule.buffers.clear();
  schedule.image_limit = options.image_limit;
  schedule.buffer_of.assign(static_cast<size_t>(graph.size()), -1);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto number = static_cast<int32_t>(i);
    add_buffer(schedule, graph.inputs[i].node, BufferKind::kInput, number, 1);
    if (!options.image_inputs.contains(number)) continue;
    const std::optional<ir::ImageShape> image = input_image(schedule.type(graph.inputs[i].node));
    CAMSHAFT_CHECK(image.has_value());
    schedule.buffers.back().image = *image;
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
    if (options.image_limit.width > 0) make_image(schedule, region, schedule.buffers.back());
  }
}

}  // namespace camshaft::schedule
