// SPDX-License-Identifier: MIT
// Which keys the rows of an attention can see at all, where a mask that is known when compiling
// keeps others from them: a causal one, a window. What no row of a strip sees need not be computed.
//
// A key is not seen where -inf is added to its score or selected in its place: its power is exactly
// 0. So it is with a finite number of at most kNoScore, which stands for -inf in many models, if
// all else between scores and logits is known, too: next to any score it makes the power 0.
// That holds for finite operands. An infinity or a NaN of K or V at a key that a row does not see
// makes NaN of that row by the formula (0 * NaN); here it does so only where the row's strip reads
// it. A row that sees nothing has all keys read, for it is NaN, or the mean of V.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

struct Attention;

inline constexpr double kNoScore = -1e30;

// Keys [begin, end).
struct KeySpan {
  int64_t begin = 0, end = 0;
  bool operator==(const KeySpan&) const = default;
};

// For each row of the products, what it sees in any batch; empty where every row sees the first key
// and the last.
std::vector<KeySpan> seen_keys(const Task& task, const Attention& attention);

}  // namespace camshaft::lower
