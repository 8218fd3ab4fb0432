// SPDX-License-Identifier: MIT
// Windows in which every channel stands alone, as depthwise convolutions and pools have them. Lanes
// run along the channels of a block; a tile is a few neighbouring pixels, so that an input vector
// that several of them need is read once.
#pragma once

#include <functional>
#include <vector>

#include "codegen/lower/frame.h"
#include "codegen/lower/weights.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {

// Knobs for rows of `width` pixels: tiles that leave a third of the registers to what is read, then
// smaller ones.
std::vector<Knobs> channel_window_knobs(const CpuTarget& target, int64_t lanes, int64_t width);

// Of node `root` (a Conv or a Pool), whose operand is a leaf with channels in blocks of a multiple
// of knobs.lanes.
class ChannelWindow {
 public:
  // What an epilogue makes of the finished sums: the value of a node of the region that `root`
  // feeds, of its shape, and the statements that store it.
  struct Sink {
    NodeId result = ir::kNoNode;
    std::function<std::vector<Stmt>(const Index& index, ExprId value)> store;
  };

  ChannelWindow(Frame& frame, Evaluator& evaluator, NodeId root, const Knobs& knobs);
  virtual ~ChannelWindow() = default;

  // After a row of some channels comes that of the next channels, or, a few rows later, they do;
  // not all rows of the image. (What is read next is fetched ahead.)
  void channels_are_next() { are_channels_next_ = true; }
  // Adds the local array that the sums are in: once all parameters are there.
  void add_sums();
  // Channels [c, c + lanes) of row `row` (of window().rows()) of image n, tile by tile.
  std::vector<Stmt> row(ExprId n, ExprId c, ExprId row, const Sink& sink);

  const Window& window() const { return window_; }
  int32_t lanes() const { return knobs_.lanes; }

 protected:
  virtual ExprId initial() = 0;
  virtual ExprId combine(ExprId sum, ExprId x, ExprId c, ExprId tap_row, int64_t tap) = 0;
  // The root's value from the finished sum.
  virtual ExprId finish(ExprId sum, const Tile& tile, int64_t pixel, ExprId row) = 0;

  ir::DType dtype() const { return compute_dtype(task_.type(root_).dtype); }
  ExprId splat(double value) { return kernel_.splat(value, {dtype(), lanes()}); }

  const Task& task_;
  Kernel& kernel_;
  Window window_;

 private:
  // What a row of taps does: an input column, counted from the tile's first, for a pixel. In the
  // order of the columns, so that each is read (and widened) once and held no longer than its few
  // pixels take; a pixel's taps are in ascending order as ever.
  struct Step {
    int64_t column, pixel, tap;
  };
  std::vector<Step> steps_of_row(const Tile& tile) const;
  std::vector<Stmt> tile_body(const Tile& tile, ExprId n, ExprId c, ExprId row, const Sink& sink);
  std::vector<Stmt> prefetch_next(const Tile& tile, ExprId n, ExprId c, ExprId row);
  std::vector<Stmt> store(const Tile& tile, int64_t pixel, ExprId n, ExprId c, ExprId row,
                          const Sink& sink);
  ExprId place(int64_t pixel) { return kernel_.int_const(pixel * lanes()); }
  ExprId get(int64_t pixel) { return kernel_.load(sums_, place(pixel), lanes()); }
  Stmt put(int64_t pixel, ExprId value) { return ir::make_store(sums_, place(pixel), value); }

  Evaluator& evaluator_;
  Knobs knobs_;
  NodeId root_, x_;
  ir::ArrayId in_ = -1;
  ir::ArrayId sums_ = -1;
  bool are_channels_next_ = false;
};

// A depthwise convolution with known weights, which become a parameter of the frame.
class DepthwiseWindow final : public ChannelWindow {
 public:
  DepthwiseWindow(Frame& frame, Evaluator& evaluator, NodeId root, const Knobs& knobs);

  // Takes all pixels of an image as one row, cut into strips; of a pointwise one.
  void flatten();

 private:
  ExprId initial() override { return splat(0); }
  ExprId combine(ExprId sum, ExprId x, ExprId c, ExprId tap_row, int64_t tap) override;
  ExprId finish(ExprId sum, const Tile&, int64_t, ExprId) override { return sum; }

  PackedWeights weights_;
};

}  // namespace camshaft::lower
