// SPDX-License-Identifier: MIT
// What strategy `conv_winograd` decides before it writes a kernel: sizes, how the work is cut, and
// what it costs beside the direct convolution.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/lower/lower.h"
#include "codegen/lower/window.h"
#include "codegen/lower/winograd.h"

namespace camshaft::lower {

// A 3x3 convolution that conv_winograd can do.
struct WinogradConv {
  NodeId node = ir::kNoNode, x = ir::kNoNode, w = ir::kNoNode;
  WindowAxis rows, columns;
  int64_t batch = 1;
  int64_t in_channels = 0, out_channels = 0;
  int32_t lanes = 8;  // channels that lie together in the input

  int64_t in_blocks() const { return in_channels / lanes; }
  int64_t out_vectors() const { return out_channels / lanes; }
  int64_t tile_rows(int64_t outputs) const { return (rows.out + outputs - 1) / outputs; }
  int64_t tile_columns(int64_t outputs) const { return (columns.out + outputs - 1) / outputs; }
  int64_t tiles(int64_t outputs) const {
    return batch * tile_rows(outputs) * tile_columns(outputs);
  }
};
std::optional<WinogradConv> find_winograd_conv(const Task& task);
// [out][in][3][3].
std::vector<float> winograd_weights(const Task& task, const WinogradConv& conv);

// The sizes of tiles (kWinogradOutputs) that don't lose too much accuracy with these weights; the
// smallest is always one.
std::vector<int32_t> accurate_winograds(const Task& task, const WinogradConv& conv);

// How the work is cut. A block of tiles is transformed, multiplied and transformed back before the
// next one, so that what lies between stays in the caches. Blocks are dealt out in `chunks` and
// output channels in `groups`; every pair of them is one iteration of the thread loop and has
// scratch memory of its own. (Groups repeat the input's transformation, which is little beside the
// products where there are many channels; they are for images too small to be cut.)
struct WinogradCut {
  int64_t tiles = 0;  // all
  int64_t block = 0;  // tiles in a block
  int64_t blocks = 0;
  int64_t chunks = 1;
  int64_t groups = 1;
  int64_t blocks_per_chunk() const { return (blocks + chunks - 1) / chunks; }
};
WinogradCut cut_winograd(const WinogradConv& conv, const Knobs& knobs, int threads);

// Knobs in the order of their cost by the model; those that lose too much accuracy are left out.
std::vector<Knobs> rank_winograd(const Task& task, const WinogradConv& conv);

// Cycles of the busiest thread, by the model.
double winograd_cycles(const Task& task, const WinogradConv& conv, const Knobs& knobs);

}  // namespace camshaft::lower
