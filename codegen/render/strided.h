// SPDX-License-Identifier: MIT
// Loads whose lanes are a constant stride apart, as a few loads of consecutive elements and
// shuffles of them: much cheaper than a load a lane.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/ir/kernel.h"

namespace camshaft::render {

struct StridedLoad {
  ir::ExprId base = ir::kNoExpr;  // scalar index of lane 0
  // Where each chunk of as many consecutive elements as there are lanes begins, relative to `base`.
  // Chunks stay between the first and the last element that the load reads, hence in the array.
  std::vector<int64_t> chunks;
  // Shuffles, one a chunk: result lane i is lane masks[c][i] of {what the shuffles before gave,
  // chunk c} laid one after the other; for the first chunk, of the chunk alone.
  std::vector<std::vector<int>> masks;
};

// How to do the load `expr`, or nothing if its index is no ramp with a stride of -1 or 1 to 4.
std::optional<StridedLoad> strided_load(const ir::Kernel& kernel, const ir::Expr& expr);

}  // namespace camshaft::render
