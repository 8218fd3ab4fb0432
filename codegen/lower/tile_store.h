// SPDX-License-Identifier: MIT
// The end of a register tile: its region's epilogue, and the stores.
#pragma once

#include <functional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {

// What lies next to each other in the output: the lanes of a vector, or the pixels of a tile (then
// every store goes to fewer places than lanes would).
enum class Along { kLanes, kPixels };
// Along pixels where the output's channels don't lie in blocks; but few lanes go to few places
// anyway, as do the lanes of the only pixel of an image.
Along along_of(const Task& task, int64_t lanes, int64_t pixels);

// Stores the region's output for every element of the tile. `used_lanes(vector)` is how many lanes
// of a vector exist (all but in a partly filled last one); `index(pixel, vector, lane)` is the
// element's index in the output.
std::vector<Stmt> store_tile(Frame& frame, Evaluator& evaluator, TileAccumulators& acc,
                             const std::function<int64_t(int64_t)>& used_lanes, Along along,
                             const std::function<Index(ExprId, int64_t, ExprId)>& index);

}  // namespace camshaft::lower
