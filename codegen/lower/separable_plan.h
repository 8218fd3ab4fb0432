// SPDX-License-Identifier: MIT
// What strategy `conv_separable` decides before it writes a kernel: whether it can, how the work is
// cut, and what it costs beside two kernels with a tensor in memory between them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

// A pointwise convolution of stride 1 that reads what its region computes itself: a depthwise
// convolution with its epilogue, or an elementwise value (as where a squeeze-and-excite scales
// channels). All in f32.
struct SeparableConv {
  NodeId node = ir::kNoNode, w = ir::kNoNode;
  NodeId inner = ir::kNoNode;            // what it reads
  NodeId depthwise = ir::kNoNode;        // the root of that; kNoNode: it is elementwise
  std::vector<NodeId> full_leaves = {};  // of an elementwise one: those of its shape
  int64_t batch = 1;
  int64_t channels = 0;  // of `inner`
  int64_t out_channels = 0;
  int64_t rows = 0, columns = 0;  // of an image; rows of all spatial axes but the last
  int32_t block = 8;              // channels of `inner` that are computed, and lie, together
  int32_t lanes = 8;              // of output channels

  int64_t out_vectors() const { return (out_channels + lanes - 1) / lanes; }
};
std::optional<SeparableConv> find_separable_conv(const Task& task);

// How the work is cut. A strip of knobs.rows rows of `inner` is computed for all channels, then the
// products that read it, so that it stays in the second level of the caches. Strips are dealt out,
// and where there are too few for all threads, sets of knobs.vectors output vectors in `groups`,
// each of which computes the strip for itself.
struct SeparableCut {
  int64_t strips = 1;  // of an image; the last one may have fewer rows
  int64_t sets = 1;
  int64_t groups = 1;
  int64_t sets_per_group() const { return (sets + groups - 1) / groups; }
};
SeparableCut cut_separable(const Task& task, const SeparableConv& conv, const Knobs& knobs);

// Knobs in the order of their cost by the model; none where no strip stays in the caches.
std::vector<Knobs> rank_separable(const Task& task, const SeparableConv& conv);

// Cycles of the busiest thread, by the model: of the one kernel, and of two instead.
double separable_cycles(const Task& task, const SeparableConv& conv, const Knobs& knobs);
double apart_cycles(const Task& task, const SeparableConv& conv);

// Whether a region that two would be joined into is better than those two.
bool pays_to_separate(const Task& joined);

}  // namespace camshaft::lower
