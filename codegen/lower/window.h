// SPDX-License-Identifier: MIT
// Windows: what convolutions and pools share. An output row is cut into tiles of neighbouring
// pixels. Which taps of a tile fall into the padding left and right is known at compile time, so
// edge tiles leave them out and no tile tests a bound; the taps above and below are a range of the
// row loop.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {

// A 2-D window; 1-D ones have height 1.
struct Window {
  int64_t in_h = 1, in_w = 1;
  int64_t out_h = 1, out_w = 1;
  int64_t k_h = 1, k_w = 1;
  int64_t s_h = 1, s_w = 1;
  int64_t d_h = 1, d_w = 1;
  int64_t pad_h = 0, pad_w = 0;  // before
  bool flat = false;             // pointwise: all pixels are one row, cut into strips of `strip`
  int64_t strip = 0;

  bool is_pointwise() const {
    return k_h == 1 && k_w == 1 && s_h == 1 && s_w == 1 && pad_h == 0 && pad_w == 0 &&
           in_h == out_h && in_w == out_w;
  }
  int64_t rows() const { return flat ? (out_h * out_w + strip - 1) / strip : out_h; }
  // Width of row `r` and how often it occurs.
  std::vector<Strip> strips() const;
  // Are all taps of output columns [first, first + count) inside the input?
  bool is_inner(int64_t first, int64_t count) const;
  // Is tap `k` of output column `column` inside the input?
  bool column_inside(int64_t column, int64_t k) const {
    const int64_t at = column * s_w - pad_w + k * d_w;
    return flat || (at >= 0 && at < in_w);
  }
};

// The window of a Conv or Pool node of rank 3 or 4.
Window make_window(const ir::Shape& input, const ir::Shape& output, const ir::Shape& kernel,
                   const ir::Shape& strides, const ir::Shape& dilations,
                   const ir::Shape& pads_begin);

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

// A loop over the taps k_h of output row `row` that are inside the input.
std::vector<Stmt> for_each_tap_row(Kernel& kernel, const Window& window, ExprId row,
                                   const Body& body);
// The bounds of that loop.
ExprId first_tap_row(Kernel& kernel, const Window& window, ExprId row);
ExprId end_tap_row(Kernel& kernel, const Window& window, ExprId row);

// Indices [n, c, (h,) w] of an output pixel and of an input tap. `rank` is 3 or 4.
Index output_index(Kernel& kernel, const Window& window, size_t rank, ExprId n, ExprId c,
                   ExprId row, ExprId column);
Index input_index(Kernel& kernel, const Window& window, size_t rank, ExprId n, ExprId c, ExprId row,
                  ExprId column, ExprId tap_row, ExprId tap_column);

}  // namespace camshaft::lower
