// SPDX-License-Identifier: MIT
// The end of a register tile: its region's epilogue, and the stores.
#pragma once

#include <functional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {

// Stores the region's output for every element of the tile. `used_lanes(vector)` is how many lanes
// of a vector exist (all but in a partly filled last one); `index(pixel, vector, lane)` is the
// element's index in the output.
std::vector<Stmt> store_tile(Frame& frame, Evaluator& evaluator, TileAccumulators& acc,
                             const std::function<int64_t(int64_t)>& used_lanes,
                             const std::function<Index(int64_t, int64_t, ExprId)>& index);

}  // namespace camshaft::lower
