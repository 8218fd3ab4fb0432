// SPDX-License-Identifier: MIT
// Lowering: a region of the schedule -> a kernel, by a strategy. A strategy is three functions in
// one row of a table: whether it can do the region, its knobs (candidates, best guess first) and
// the kernel that they give. `fallback` can do every region (but those that the target itself asked
// to join), so nothing is unsupported because a fast strategy is missing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"
#include "codegen/schedule/schedule.h"
#include "runtime/base/status.h"

namespace camshaft::lower {

using ir::ExprId;
using ir::Kernel;
using ir::NodeId;
using ir::Stmt;
using render::CpuTarget;
using schedule::Region;
using schedule::Schedule;

// What may be chosen about a kernel. Strategies read the fields that they know.
struct Knobs {
  int32_t lanes = 8;     // vector width in elements
  int32_t pixels = 6;    // register tile: rows (output pixels, matrix rows) ...
  int32_t vectors = 2;   // ... times vectors of output channels or columns
  int32_t unroll = 8;    // of the innermost reduction loop
  int32_t winograd = 0;  // outputs of a Winograd tile in each dimension; 0: not Winograd
  int32_t block = 0;     // Winograd tiles that are transformed together
  int32_t rows = 0;      // of a strip that is computed for what reads it; 0: there are no strips
  bool operator==(const Knobs&) const = default;
};
std::string to_string(const Knobs& knobs);  // "6x2v8u8", "4x3v8u8w4b49", "6x2v8u8r4"

// A parameter of a kernel: a value's buffer, constant bytes made for this kernel, or scratch memory
// (64-byte-aligned, its contents undefined when the kernel starts).
struct Argument {
  NodeId value = ir::kNoNode;       // kNoNode: a constant or scratch
  std::vector<std::byte> constant;  // packed weights; the memory it gets is 64-byte-aligned
  bool written = false;
  int64_t scratch_bytes = 0;  // 0: not scratch
};

struct LoweredKernel {
  Kernel kernel;                    // not yet prepared (vectorised, unrolled)
  std::vector<Argument> arguments;  // by parameter
  std::string strategy;
  Knobs knobs;
  // Of an algorithm that trades accuracy for speed (Winograd): the root mean square of its rounding
  // errors over that of its result, on random data with the region's weights. 0: none.
  double relative_error = 0;
};

// One region to lower and what it needs to know.
struct Task {
  const Schedule& schedule;
  const Region& region;
  const CpuTarget& target;
  int threads = 1;  // that may share the kernel's work

  const ir::Graph& graph() const { return schedule.graph; }
  const ir::Node& node(NodeId id) const { return schedule.graph.node(id); }
  const ir::TensorType& type(NodeId id) const { return schedule.graph.node(id).type; }
  bool has_root(ir::Op op) const {
    return region.root != ir::kNoNode && node(region.root).op == op;
  }
  // Whether a value is an image: some strategies know buffers only.
  bool is_image(NodeId id) const { return has_buffer(id) && schedule.buffer(id).image.width > 0; }
  bool has_images() const {
    return is_image(region.output) || std::any_of(region.leaves.begin(), region.leaves.end(),
                                                  [&](NodeId leaf) { return is_image(leaf); });
  }
  bool has_buffer(NodeId id) const { return schedule.buffer_of[static_cast<size_t>(id)] >= 0; }
};

struct Strategy {
  const char* name;
  bool (*matches)(const Task& task);  // can it?
  bool (*pays)(const Task& task);     // where it can: is it better than what follows in the table?
  std::vector<Knobs> (*knobs)(const Task& task);  // never empty where matches() is true
  LoweredKernel (*emit)(const Task& task, const Knobs& knobs);
  bool is_for_gpus = false;  // made for them, and for nothing else
};

// The table, in order of preference; the last row is fallback. `find_strategy` is null if there is
// none.
std::span<const Strategy> strategies();
const Strategy* find_strategy(std::string_view name);

// Lowers with the first strategy that matches and pays, and its first knobs; or with the named one
// (for tests and the tuner; kInvalidArgument if it doesn't match). A region that was joined from
// two has one strategy, which the schedule asked before it joined them.
LoweredKernel lower_region(const Task& task);
base::Result<LoweredKernel> lower_region_with(const Task& task, std::string_view strategy,
                                              const Knobs* knobs);

// Whether a region that others would be joined into is better than those others: what the schedule
// asks (schedule::ScheduleOptions::joins).
bool pays_to_join(const Task& joined);

// Arithmetic of the region (a multiply-add counts 2) and the bytes that it moves at least (each
// leaf and the output once).
int64_t region_flops(const Task& task);
int64_t region_bytes(const Task& task);
// "64x56x56 -> 64x56x56 k3x3 s1 g1", for people.
std::string region_description(const Task& task);

}  // namespace camshaft::lower
