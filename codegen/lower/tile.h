// SPDX-License-Identifier: MIT
// Register tiles: how many output rows (pixels, matrix rows) times how many vectors of output
// columns (channels) one pass of the reduction loop computes, and a model of what each choice
// costs.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/lower/lower.h"

namespace camshaft::lower {

// Whether tiles exist for products of a dtype: of four or eight bytes. (Halves are widened before,
// see passes/widen_halves.cc; sums of narrow integers are i32.)
bool has_tiles(ir::DType dtype);
// Lanes of vectors of so many output channels, as the region's output lies. They need not be of one
// block: where the channels fill no whole one, blocks are narrow.
int32_t output_lanes(const Task& task, int64_t channels);
// x * w + sum: rounded once in floats, wrapping in integers.
ir::ExprId multiply_add(ir::Kernel& kernel, ir::ExprId x, ir::ExprId w, ir::ExprId sum);
// Of a cache line.
int64_t line_elements(ir::DType dtype);
// Fetches `lines` cache lines from element `first` on of an array; the last ones where that would
// go beyond its end. (One limit for all of them: limits cost more than the fetches.)
std::vector<ir::Stmt> prefetch_lines(ir::Kernel& kernel, ir::ArrayId array, ir::ExprId first,
                                     int64_t lines);

// Rows of one strip (an image row, a block of matrix rows) and how many strips have that many.
struct Strip {
  int64_t rows = 0;
  int64_t count = 1;
};

// Rows cut into the fewest tiles of at most `most` rows, as even as they can be, the larger ones
// first: 14 rows in tiles of at most 6 are 2 tiles of 5 and 1 of 4. (A small tile left at the end
// would wait for the latency of its few chains.)
struct TileRun {
  int64_t rows = 0;  // of each tile
  int64_t count = 0;
};
std::vector<TileRun> split_evenly(int64_t rows, int64_t most);

// The model's cycles of one reduction step of all strips times `vectors`, in tiles of knobs.pixels
// x knobs.vectors.
double reduction_step_cycles(const CpuTarget& target, const std::vector<Strip>& strips,
                             int64_t vectors, const Knobs& knobs);

// Of numbers above 0: how many of `b` it takes to hold `a`.
inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Knobs, and the cycles that they take by a model.
struct RatedKnobs {
  double cycles = 0;
  Knobs knobs;
};
// By cycles, equal ones in their order.
std::vector<Knobs> cheapest_first(const std::vector<RatedKnobs>& candidates);

// Knobs for tiles that fit the target's registers, cheapest first by the model: cycles of a
// reduction step are the most of multiply-adds, loads, and (for small tiles) the latency of the
// chain.
std::vector<Knobs> rank_tiles(const CpuTarget& target, const std::vector<Strip>& strips,
                              int64_t vectors, int32_t lanes);

// The multiply-adds of one reduction step, [pixel][vector], in the order that needs the fewest
// registers: what there is less of, inputs or weight vectors, is held while the other streams past.
std::vector<ir::Stmt> in_register_order(std::vector<std::vector<ir::Stmt>> by_pixel);

// The accumulators of a tile: pixels x vectors x lanes numbers in a local array, always accessed at
// constant places, so that they live in registers.
class TileAccumulators {
 public:
  TileAccumulators(ir::Kernel& kernel, ir::ArrayId array, int64_t pixels, int64_t vectors,
                   int64_t lanes)
      : kernel_(kernel), array_(array), pixels_(pixels), vectors_(vectors), lanes_(lanes) {}

  std::vector<ir::Stmt> clear();
  // acc[pixel][vector] += x * w; x a scalar, w a vector.
  ir::Stmt multiply_add(int64_t pixel, int64_t vector, ir::ExprId x, ir::ExprId w);
  // acc[pixel][vector] += x * w; both vectors.
  ir::Stmt multiply_add_vectors(int64_t pixel, int64_t vector, ir::ExprId x, ir::ExprId w);
  // acc[pixel][vector] += the dots of words: x a scalar, w a vector.
  ir::Stmt add_dot(int64_t pixel, int64_t vector, ir::ExprId x, ir::ExprId w);
  // acc[pixel][vector] *= factor, a scalar.
  ir::Stmt scale(int64_t pixel, int64_t vector, ir::ExprId factor);
  // acc[pixel][vector], and element `lane` of it.
  ir::ExprId value(int64_t pixel, int64_t vector);
  ir::ExprId element(ir::ExprId pixel, int64_t vector, ir::ExprId lane);

  int64_t pixels() const { return pixels_; }
  int64_t vectors() const { return vectors_; }
  int64_t lanes() const { return lanes_; }

 private:
  ir::ExprId place(int64_t pixel, int64_t vector) {
    return kernel_.int_const((pixel * vectors_ + vector) * lanes_);
  }

  ir::Kernel& kernel_;
  ir::ArrayId array_;
  int64_t pixels_;
  int64_t vectors_;
  int64_t lanes_;
};

}  // namespace camshaft::lower
