// SPDX-License-Identifier: MIT
// Windows: what convolutions and pools share, over one spatial axis or more. A row is a position on
// all of them but the last; it is cut into tiles of neighbouring pixels. Which taps of a tile fall
// into the padding left and right is known at compile time, so edge tiles leave them out and no
// tile tests a bound; the taps that fall into the padding of the other axes are left out by the
// ranges of loops.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {

// The window on one spatial axis.
struct WindowAxis {
  int64_t in = 1;
  int64_t out = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;      // before
  int64_t pad_end = 0;  // after

  // Is tap `k` of output `at` inside the input? In the padded input?
  bool is_inside(int64_t at, int64_t k) const;
  bool is_in_padded(int64_t at, int64_t k) const;
  // Are all taps of all outputs inside the input?
  bool all_inside() const;
};

struct Window {
  std::vector<WindowAxis> outer;  // spatial axes but the last
  WindowAxis last;                // the axis along which rows run
  bool flat = false;              // pointwise: all pixels are one row, cut into strips of `strip`
  int64_t strip = 0;

  size_t rank() const { return outer.size() + 3; }  // of input and output
  bool is_pointwise() const;                        // one tap, without padding, at any stride
  bool is_dense() const;                            // of stride 1 on every axis
  int64_t out_rows() const;
  int64_t pixels() const { return out_rows() * last.out; }  // of the output
  int64_t tap_rows() const;
  int64_t taps() const { return tap_rows() * last.kernel; }

  // Rows that are cut into tiles, their widths and how often each occurs.
  int64_t rows() const { return flat ? (pixels() + strip - 1) / strip : out_rows(); }
  std::vector<Strip> strips() const;
  // Are all taps of output columns [first, first + count) inside the input?
  bool is_inner(int64_t first, int64_t count) const;
  // Is tap `k` of output column `column` inside the input?
  bool column_inside(int64_t column, int64_t k) const { return flat || last.is_inside(column, k); }
};

// The window of the region's root, or of a node of it: a Conv or a Pool.
Window window_of(const Task& task);
Window window_of(const Task& task, NodeId id);

// One tile: output columns [first, first + pixels), or of a flat row pixels [first, ...).
struct Tile {
  ExprId first = ir::kNoExpr;
  int64_t pixels = 1;
  int64_t sample = 0;           // a column like `first` in what is inside: for column_inside()
  ExprId number = ir::kNoExpr;  // of the tile, in its row
};

// Statements for all tiles of row `row` (an expression), each by `body`. `pixels` is the widest
// tile.
std::vector<Stmt> for_each_tile(Kernel& kernel, const Window& window, ExprId row, int64_t pixels,
                                const std::function<std::vector<Stmt>(const Tile&)>& body);

// Loops over the rows of taps, numbered from 0 to tap_rows(), of output row `row` that are inside
// the input.
std::vector<Stmt> for_each_tap_row(Kernel& kernel, const Window& window, ExprId row,
                                   const Body& body);

// How many taps of an average count, at least 1: those inside the input, or with `padding` those
// inside the padded input (not beyond it, where ceil_mode may reach). The divisor is the product of
// the rows of taps of an output row and the columns of taps of an output column.
ExprId counted_tap_rows(Kernel& kernel, const Window& window, ExprId row, bool padding);
int64_t counted_tap_columns(const Window& window, int64_t column, bool padding);

// Indices [n, c, spatial...] of an output pixel and of an input tap.
Index output_index(Kernel& kernel, const Window& window, ExprId n, ExprId c, ExprId row,
                   ExprId column);
Index input_index(Kernel& kernel, const Window& window, ExprId n, ExprId c, ExprId row,
                  ExprId column, ExprId tap_row, ExprId tap_column);
// The same on the outer axes alone, for any column of the input.
Index input_row_index(Kernel& kernel, const Window& window, ExprId n, ExprId c, ExprId row,
                      ExprId tap_row, ExprId in_column);

}  // namespace camshaft::lower
