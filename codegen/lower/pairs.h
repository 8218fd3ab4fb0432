// SPDX-License-Identifier: MIT
// Narrow numbers that lie together, as words: the first one is the lowest. One load fetches them
// all. Pairs of bf16 take one instruction each to become f32; of bytes, four products of a u8 and
// an i8 are one operation, ir::KOp::kDot.
#pragma once

#include <vector>

#include "codegen/lower/lower.h"

namespace camshaft::lower {

// What words of numbers of a dtype are loaded as; and the dtype of the numbers' products.
ir::DType word_dtype(ir::DType dtype);
ir::DType product_dtype(ir::DType dtype);

// Words as two f32 values, of as many lanes.
struct Pair {
  ExprId first = ir::kNoExpr;
  ExprId second = ir::kNoExpr;
};
Pair widen_pair(Kernel& kernel, ExprId words);
// A word in all of `lanes`, named by a statement of `body`, so that it is vectors that are widened:
// a number that is widened first goes through general registers.
Pair broadcast_pair(Kernel& kernel, ExprId word, int64_t lanes, std::vector<Stmt>& body);
// A half-precision element of `array` as the lower half of a word, and two of them as a word.
ExprId half_word(Kernel& kernel, ir::ArrayId array, ExprId at);
ExprId word_of(Kernel& kernel, ir::ArrayId array, ExprId low, ExprId high);
// Whether a tile's sums fit in registers beside what its products are widened to: all vectors of
// weights twice, or a word for each pixel, whatever is less.
bool pairs_fit(const CpuTarget& target, const Knobs& knobs);
// Whether kDot of `lanes` is one instruction.
bool is_one_instruction(const CpuTarget& target, int32_t lanes);
// The same of bytes, where a product takes more than one instruction.
bool quads_fit(const CpuTarget& target, const Knobs& knobs);

}  // namespace camshaft::lower
