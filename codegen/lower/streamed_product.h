// SPDX-License-Identifier: MIT
// Products of few rows with a right side that is not known at compile time. Nothing is packed, as
// there are no further rows to use it again: each element of the right side is read once, where it
// lies, along the axis whose elements are neighbours in memory.
//   kRows:    the columns are neighbours: some rows of the right side at a time are multiplied by
//             a number each and added to the result
//   kColumns: the steps of the sum are neighbours: some columns at a time are dots along the lanes
// A column's sum has the same order whatever columns are computed beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/lower.h"

namespace camshaft::lower {

// Products of more rows pay for packing.
inline constexpr int64_t kMostStreamedRows = 8;

enum class RightSide { kRows, kColumns, kScattered };
// How the leaves that `node`, a product's right side [..., steps, columns], is made of lie.
RightSide right_side(const Task& task, NodeId node);

struct StreamedShape {
  RightSide side = RightSide::kScattered;
  int64_t rows = 1, steps = 0, columns = 0;
  int64_t lanes = 1;
  int64_t vectors = 1;  // kRows: of columns, at once; kColumns: columns at once
  int64_t unroll = 1;   // kRows: rows of the right side at once; kColumns: vectors of steps

  bool is_possible() const { return side != RightSide::kScattered && rows <= kMostStreamedRows; }
  int64_t sums() const { return side == RightSide::kColumns ? rows * vectors * lanes : 0; }
};
// Of a product [..., rows, steps] x `right`, by the best knobs of the model.
StreamedShape streamed_shape(const Task& task, int64_t rows, NodeId right);
// The best knobs by the model first; none where it isn't possible.
std::vector<Knobs> rank_streamed(const CpuTarget& target, const StreamedShape& shape);
StreamedShape with_knobs(StreamedShape shape, const Knobs& knobs);
// Cycles by the model; and those of packing such a right side, of f32, into a panel instead.
double streamed_cycles(const CpuTarget& target, const StreamedShape& shape);
double panel_cycles(RightSide side, int64_t steps, int64_t columns);

struct StreamedProduct {
  StreamedShape shape;
  // An element of the left side, in the result's dtype.
  std::function<ExprId(int64_t row, ExprId step)> left;
  // The result, rows of a local array that begin so many elements apart.
  ir::ArrayId result = -1;
  int64_t result_pitch = 0;
  ir::ArrayId sums = -1;  // a local array of shape.sums() elements, if there are any
  // An element of the right side, in the result's dtype; columns count from the first computed one.
  std::function<ExprId(ExprId step, ExprId column)> right;
};
// A left side whose rows lie in an array, so many elements apart.
std::function<ExprId(int64_t row, ExprId step)> rows_of(Kernel& kernel, ir::ArrayId array,
                                                        int64_t pitch);
// Writes the result.
std::vector<Stmt> streamed_product(Kernel& kernel, const StreamedProduct& product);

}  // namespace camshaft::lower
