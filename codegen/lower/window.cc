// SPDX-License-Identifier: MIT
#include "codegen/lower/window.h"

#include <algorithm>

namespace camshaft::lower {

using ir::KOp;
using ir::LoopKind;

std::vector<Strip> Window::strips() const {
  if (!flat) return {{out_w, out_h}};
  const int64_t pixels = out_h * out_w;
  std::vector<Strip> result;
  if (pixels / strip > 0) result.push_back({strip, pixels / strip});
  if (pixels % strip > 0) result.push_back({pixels % strip, 1});
  return result;
}

bool Window::is_inner(int64_t first, int64_t count) const {
  for (int64_t column = first; column < first + count; ++column) {
    for (int64_t k = 0; k < k_w; ++k) {
      if (!column_inside(column, k)) return false;
    }
  }
  return true;
}

Window make_window(const ir::Shape& input, const ir::Shape& output, const ir::Shape& kernel,
                   const ir::Shape& strides, const ir::Shape& dilations,
                   const ir::Shape& pads_begin) {
  Window window;
  const size_t w = kernel.size() - 1;
  window.in_w = input.back();
  window.out_w = output.back();
  window.k_w = kernel[w];
  window.s_w = strides[w];
  window.d_w = dilations[w];
  window.pad_w = pads_begin[w];
  if (kernel.size() == 2) {
    window.in_h = input[2];
    window.out_h = output[2];
    window.k_h = kernel[0];
    window.s_h = strides[0];
    window.d_h = dilations[0];
    window.pad_h = pads_begin[0];
  }
  return window;
}

namespace {

// The tiles of a row of `width` pixels: neighbouring ones of a size without edge taps are one loop.
std::vector<Stmt> tiles_of_row(Kernel& kernel, const Window& window, ExprId base, int64_t width,
                               int64_t pixels,
                               const std::function<std::vector<Stmt>(const Tile&)>& body) {
  std::vector<Stmt> result;
  int64_t first = 0;
  int64_t tiles = 0;
  for (const TileRun& run : split_evenly(width, pixels)) {
    int64_t left = run.count;
    while (left > 0) {
      int64_t repeat = 1;
      while (repeat < left && window.is_inner(first, run.rows) &&
             window.is_inner(first + repeat * run.rows, run.rows)) {
        ++repeat;
      }
      append(result, loop(kernel, "tile", repeat, LoopKind::kSerial, [&](ExprId at) {
               const ExprId column = kernel.add(kernel.mul(at, run.rows), first);
               return body({kernel.add(base, column), run.rows, first, kernel.add(at, tiles)});
             }));
      tiles += repeat;
      first += repeat * run.rows;
      left -= repeat;
    }
  }
  return result;
}

}  // namespace

std::vector<Stmt> for_each_tile(Kernel& kernel, const Window& window, ExprId row, int64_t pixels,
                                const std::function<std::vector<Stmt>(const Tile&)>& body) {
  if (!window.flat) {
    return tiles_of_row(kernel, window, kernel.int_const(0), window.out_w, pixels, body);
  }
  const ExprId base = kernel.mul(row, window.strip);
  const std::vector<Strip> strips = window.strips();
  if (strips.size() == 1) {
    return tiles_of_row(kernel, window, base, strips[0].rows, pixels, body);
  }
  const ExprId last = kernel.int_const(window.rows() - 1);
  return {ir::make_if(kernel.binary(KOp::kLt, row, last),
                      tiles_of_row(kernel, window, base, strips[0].rows, pixels, body)),
          ir::make_if(kernel.binary(KOp::kEq, row, last),
                      tiles_of_row(kernel, window, base, strips[1].rows, pixels, body))};
}

ExprId first_tap_row(Kernel& kernel, const Window& window, ExprId row) {
  // ceil((pad - row * stride) / dilation), at least 0
  const ExprId above =
      kernel.sub(kernel.int_const(window.pad_h + window.d_h - 1), kernel.mul(row, window.s_h));
  return kernel.div(kernel.binary(KOp::kMax, above, kernel.int_const(0)), window.d_h);
}

ExprId end_tap_row(Kernel& kernel, const Window& window, ExprId row) {
  // floor((in_h - 1 + pad - row * stride) / dilation) + 1, at most k_h
  const ExprId below = kernel.sub(kernel.int_const(window.in_h - 1 + window.pad_h + window.d_h),
                                  kernel.mul(row, window.s_h));
  const ExprId taps = kernel.div(kernel.binary(KOp::kMax, below, kernel.int_const(0)), window.d_h);
  return kernel.binary(KOp::kMin, taps, kernel.int_const(window.k_h));
}

std::vector<Stmt> for_each_tap_row(Kernel& kernel, const Window& window, ExprId row,
                                   const Body& body) {
  const bool all_inside =
      window.flat ||
      (window.pad_h == 0 &&
       (window.out_h - 1) * window.s_h + (window.k_h - 1) * window.d_h < window.in_h);
  if (all_inside) return loop(kernel, "kh", window.k_h, LoopKind::kSerial, body);
  return loop_between(kernel, "kh", first_tap_row(kernel, window, row),
                      end_tap_row(kernel, window, row), 0, window.k_h - 1, body);
}

Index output_index(Kernel& kernel, const Window& window, size_t rank, ExprId n, ExprId c,
                   ExprId row, ExprId column) {
  if (rank == 3) return {n, c, column};
  if (!window.flat) return {n, c, row, column};
  return {n, c, kernel.div(column, window.out_w), kernel.mod(column, window.out_w)};
}

Index input_index(Kernel& kernel, const Window& window, size_t rank, ExprId n, ExprId c, ExprId row,
                  ExprId column, ExprId tap_row, ExprId tap_column) {
  if (window.flat) return output_index(kernel, window, rank, n, c, row, column);
  const ExprId at_w =
      kernel.add(kernel.add(kernel.mul(column, window.s_w), kernel.mul(tap_column, window.d_w)),
                 -window.pad_w);
  if (rank == 3) return {n, c, at_w};
  const ExprId at_h = kernel.add(
      kernel.add(kernel.mul(row, window.s_h), kernel.mul(tap_row, window.d_h)), -window.pad_h);
  return {n, c, at_h, at_w};
}

}  // namespace camshaft::lower
