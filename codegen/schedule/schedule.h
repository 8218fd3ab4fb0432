// SPDX-License-Identifier: MIT
// The schedule: an ordered list of fused regions and the buffers between them. The compiler's
// second representation.
//
// Semantics
// ---------
// - A region becomes one kernel. It computes one value, `output`, which is written to a buffer; the
//   values of its other `nodes` exist only inside the kernel. `root` is the structured node around
//   which it grew, or kNoNode for a region of elementwise and movement nodes.
// - A region may have been joined with the one before it, whose output, `inner`, nothing but its
//   root reads: the kernel computes that a part at a time and has no memory for all of it. Then
//   there may be a second structured node among its nodes, on the way to `inner`. In an attention
//   there are four: `inner` is a softmax of another product, which has no memory either. Where a
//   convolution reads pieces of several values, `inner` is their concatenation.
// - Or a region may have been joined with one after it, which reduces its output over all spatial
//   axes: the kernel computes what that made, `pooled`, in passing, and writes it as well.
// - A node may be inside several regions: movement nodes are folded into the index functions of
// every
//   reader. An elementwise node is computed in one region only.
// - `leaves` are the values that the region reads from memory: graph inputs, constants, outputs of
//   earlier regions. Splat constants (all elements equal) are not leaves: kernels hold them as
//   numbers.
// - Regions run in the order of the list; each sees the results of all before it.
// - A buffer holds one value in one layout. Arena buffers whose lifetimes overlap do not overlap in
//   memory. Constants that a strategy packs have no buffer here; lowering makes them.
// - A buffer may be an image: all kernels take it as one. It has no parts.
// - A buffer may be part of another one, its base. A part that no region writes is a view: it holds
//   what the base has there, once regions have written all of it: one that writes the base, or
//   those that write other parts of it. No byte is written by two regions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/ir/kernel.h"
#include "runtime/base/image.h"
#include "runtime/base/status.h"

namespace camshaft::schedule {

using ir::kNoNode;
using ir::NodeId;

// How a tensor lies in memory. channel_block 1: row-major. channel_block b > 1 (rank >= 3, extent
// of axis 1 a multiple of b): axis 1 is split and its inner part goes innermost, so [N, C, H, W]
// lies as [N, C/b, H, W, b]. With b == C that is channels-last.
// row_texels p > 0 is for images: rows begin 4 * p elements apart. With channel_block 4, [N, C, H,
// W] lies as [N, H, W, C/4, 4], and W, C/4 and 4 are a row: before its first and behind its last
// column an image reads as zeros, as a padding does. Where 4 does not divide C, the channels are
// padded with zeros to texel_channels(C); whatever writes such an image writes the zeros, too. With
// channel_block 1 (rank >= 2) the last axis is a row.
struct Layout {
  int32_t channel_block = 1;
  int64_t row_texels = 0;
  bool operator==(const Layout&) const = default;
};

enum class BufferKind : uint8_t { kInput, kOutput, kConstant, kArena };

struct BufferInfo {
  NodeId value = kNoNode;  // kNoNode: scratch memory of one region
  BufferKind kind = BufferKind::kArena;
  int32_t io_index = -1;  // kInput, kOutput: position in the graph's list
  Layout layout;
  int64_t size_bytes = 0;
  // From the start of the arena, input, output or constant: a multiple of kBufferAlignment.
  int64_t offset_bytes = 0;
  int32_t first_region = 0;       // kArena: written by
  int32_t last_region = 0;        // kArena: last read by
  int32_t part_of = -1;           // index of the base, of the same kind, which is no part; -1: none
  int64_t part_offset_bytes = 0;  // in the base, a multiple of kBufferAlignment
  ir::ImageShape image = {};      // how kernels take it: as an image, if this is one
};
inline constexpr int64_t kBufferAlignment = 64;
// Of images: so that devices which show bytes of a buffer as an image can show these.
inline constexpr int64_t kImageAlignment = 1024;
inline constexpr int64_t kImageRowTexels = 64;  // that the pitch is a multiple of
// So many channels as are whole texels.
constexpr int64_t texel_channels(int64_t channels) {
  return (channels + base::kTexelElements - 1) / base::kTexelElements * base::kTexelElements;
}

struct Region {
  NodeId root = kNoNode;
  NodeId output = kNoNode;
  NodeId inner = kNoNode;      // what a region wrote that was joined into this one
  NodeId pooled = kNoNode;     // the same, of one that reduces `output`
  std::vector<NodeId> nodes;   // ascending, so operands first; the last one is `output` or `pooled`
  std::vector<NodeId> leaves;  // ascending
  std::string name;            // for people: the names of the nodes that it came from

  std::vector<NodeId> written() const {
    return pooled == kNoNode ? std::vector{output} : std::vector{output, pooled};
  }
};

// The largest image, in texels, that a target's devices are taken to have.
struct ImageLimit {
  int64_t width = 0;
  int64_t height = 0;
  bool allows(const ir::ImageShape& image) const {
    return image.width <= width && image.height <= height;
  }
  bool operator==(const ImageLimit&) const = default;
};

struct Schedule {
  ir::Graph graph;
  std::vector<Region> regions;
  std::vector<BufferInfo> buffers;
  std::vector<int32_t> buffer_of;  // by NodeId: index into buffers, or -1
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound_bytes = 0;  // the most that is live at once; no placement needs less
  ImageLimit image_limit = {};          // of the options

  const BufferInfo& buffer(NodeId value) const;
  const ir::TensorType& type(NodeId value) const { return graph.node(value).type; }
};

struct ScheduleOptions {
  int32_t max_channel_block =
      8;             // vector lanes of the target for f32; 1 keeps everything row-major
  bool fuse = true;  // false: one region a node (for tests and for finding bad fusions)
  std::set<int32_t> image_inputs = {};  // positions of inputs that are images: see input_image()
  // Values between regions, and weights, are images up to this size; 0: none.
  ImageLimit image_limit = {};
  // Whether one kernel should do a region that was joined from two (of `schedule`, where they are
  // apart still). The target knows; empty: never.
  std::function<bool(const Schedule& schedule, const Region& joined)> joins = {};
};

// The steps, in order; make_schedule() runs them all. Each fills its part of the schedule.
//   isolate_outputs: gives each graph output a node of its own, that is no input, constant or other
//                    output
//   fuse_regions:    regions, with their nodes and leaves
//   choose_layouts:  buffers, with their layouts and sizes
//   join_regions:    regions that are better one, and need no buffer between them
//   concat_in_place: operands of a concatenation become parts of its result's buffer, and the
//   region
//                    that would have copied them goes
//   make_views:      slices that lie in one piece in memory become parts of their operand's buffer;
//                    regions read them as leaves, and those that only copied one are dropped
//   gather_channels: concatenations of slices that a convolution can read where the slices lie
//                    become parts of its region
//   plan_memory:     lifetimes and offsets
ir::Graph isolate_outputs(const ir::Graph& graph);
void fuse_regions(Schedule& schedule, const ScheduleOptions& options);
void choose_layouts(Schedule& schedule, const ScheduleOptions& options);
void join_regions(Schedule& schedule, const ScheduleOptions& options);
void concat_in_place(Schedule& schedule);
void make_views(Schedule& schedule);
void gather_channels(Schedule& schedule, const ScheduleOptions& options);
void plan_memory(Schedule& schedule);
// Makes what a region writes a buffer, not an image: its kernel can't store whole texels. Before
// any kernel reads it.
void take_as_buffer(Schedule& schedule, NodeId value);
// The image that a graph input of this type is: its last two axes are a row (the last one, of two),
// of whole texels. Nothing where there is none, of the dtype or of extents.
std::optional<ir::ImageShape> input_image(const ir::TensorType& type);
// Scratch memory that only region `region` uses; returns the buffer's index. It has a place after
// the next plan_memory().
int32_t add_scratch(Schedule& schedule, int32_t region, int64_t size_bytes);
Schedule make_schedule(const ir::Graph& graph, const ScheduleOptions& options);

// Checks the rules above: every leaf is available, arena buffers that live together are apart,
// regions compute what their output needs. The first broken rule goes to the log ring.
base::Status verify_schedule(const Schedule& schedule);

// A line a region: name, root, output, leaves, buffer placement.
std::string print_schedule(const Schedule& schedule);

}  // namespace camshaft::schedule
