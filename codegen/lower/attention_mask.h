// SPDX-License-Identifier: MIT
// Which keys the rows of an attention can see at all, where a mask that is known when compiling
// keeps others from them: a causal one, a window. What no row of a strip sees is not computed.
//
// A key is not seen where its power is exactly 0, whatever the scores: where -inf is added to its
// score or selected in its place, or a finite number of at most kNoScore, which stands for -inf in
// many models, and the row has other keys. That takes scores that are finite and not too large, and
// products with V that are 0: so operands within kMostOperand. Whether they are, the kernel finds
// out as it packs them; where one is not, or is no number, all keys are read, and NaN is where the
// formula has it. A row that sees nothing has all keys read, too.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

struct Attention;

inline constexpr double kNoScore = -1e30;
inline constexpr double kMostOperand = 1e9;

// Keys [begin, end).
struct KeySpan {
  int64_t begin = 0, end = 0;
  bool operator==(const KeySpan&) const = default;
};

// For each row of the products, what it sees in any batch; empty where every row sees the first key
// and the last.
std::vector<KeySpan> seen_keys(const Task& task, const Attention& attention);

}  // namespace camshaft::lower
