// SPDX-License-Identifier: MIT
// Loads whose lanes are constant distances apart (strides, blocks of channels that are taken from
// other blocks, a few elements again and again), as a few loads of consecutive elements and
// shuffles of them: much cheaper than a load a lane.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/ir/kernel.h"

namespace camshaft::render {

struct StridedLoad {
  ir::ExprId base = ir::kNoExpr;  // scalar index that the rest is relative to
  // Where each chunk of consecutive elements begins, relative to `base`. Chunks stay between the
  // first and the last element that the load reads, hence in the array.
  std::vector<int64_t> chunks;
  int chunk_lanes = 1;  // elements of a chunk; as many as there are lanes, or fewer of a single one
  // Shuffles, one a chunk: result lane i is lane masks[c][i] of {what the shuffles before gave,
  // chunk c} laid one after the other; for the first chunk, of the chunk alone.
  std::vector<std::vector<int>> masks;
};

// How to do the load `expr`, or nothing if its lanes aren't constant distances from one scalar, or
// lie in so many places that a load a lane is as good.
std::optional<StridedLoad> strided_load(const ir::Kernel& kernel, const ir::Expr& expr);

}  // namespace camshaft::render
