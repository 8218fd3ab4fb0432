// SPDX-License-Identifier: MIT
// Pairs of bf16 that lie together, as words: the first one is the lower half. One load fetches
// both, and one instruction each makes them f32.
#pragma once

#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

// Words as two f32 values, of as many lanes.
struct Pair {
  ExprId first = ir::kNoExpr;
  ExprId second = ir::kNoExpr;
};
Pair widen_pair(Kernel& kernel, ExprId words);
// A word in all of `lanes`, named by a statement of `body`, so that it is vectors that are widened:
// a number that is widened first goes through general registers.
Pair broadcast_pair(Kernel& kernel, ExprId word, int64_t lanes, std::vector<Stmt>& body);
// Whether a tile's sums fit in registers beside what its products are widened to: all vectors of
// weights twice, or a word for each pixel, whatever is less.
bool pairs_fit(const CpuTarget& target, const Knobs& knobs);

}  // namespace camshaft::lower
