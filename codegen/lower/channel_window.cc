// SPDX-License-Identifier: MIT
#include "codegen/lower/channel_window.h"

#include <algorithm>
#include <tuple>

#include "codegen/lower/tile.h"

namespace camshaft::lower {
namespace {

constexpr int64_t kStripPixels = 64;

// Weights as [block of lanes][tap][lane].
void pack_depthwise(int64_t channels, int64_t taps, int64_t lanes, WeightPacker& packer) {
  for (int64_t first = 0; first < channels; first += lanes) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t lane = 0; lane < lanes; ++lane) packer.put((first + lane) * taps + tap);
    }
  }
}

}  // namespace

std::vector<Knobs> channel_window_knobs(const CpuTarget& target, int64_t lanes, int64_t width) {
  Knobs knobs;
  knobs.lanes = static_cast<int32_t>(lanes);
  knobs.vectors = knobs.unroll = 1;
  std::vector<Knobs> result;
  const int32_t most = target.vector_registers * 2 / 3;
  for (int32_t pixels : {most, most / 2, most / 4, 1}) {
    if (pixels > 1 && pixels > width) continue;
    knobs.pixels = std::max(pixels, 1);
    result.push_back(knobs);
  }
  return result;
}

ChannelWindow::ChannelWindow(Frame& frame, Evaluator& evaluator, NodeId root, const Knobs& knobs)
    : task_(frame.task),
      kernel_(frame.kernel()),
      window_(window_of(frame.task, root)),
      evaluator_(evaluator),
      knobs_(knobs),
      root_(root),
      x_(frame.task.node(root).inputs[0]),
      in_(frame.arrays.at(x_)) {}

void ChannelWindow::add_sums() {
  sums_ = kernel_.add_local("acc", dtype(), knobs_.pixels * knobs_.lanes);
}

std::vector<Stmt> ChannelWindow::row(ExprId n, ExprId c, ExprId row, const Sink& sink) {
  return for_each_tile(kernel_, window_, row, knobs_.pixels,
                       [&](const Tile& tile) { return tile_body(tile, n, c, row, sink); });
}

std::vector<Stmt> ChannelWindow::tile_body(const Tile& tile, ExprId n, ExprId c, ExprId row,
                                           const Sink& sink) {
  std::vector<Stmt> body;
  for (int64_t p = 0; p < tile.pixels; ++p) body.push_back(put(p, initial()));
  append(body, prefetch_next(tile, n, c, row));
  append(body, for_each_tap_row(kernel_, window_, row, [&](ExprId tap_row) {
           std::vector<Stmt> inside;
           for (const auto [column, p, tap] : steps_of_row(tile)) {
             const Index index =
                 input_index(kernel_, window_, n, c, row, kernel_.add(tile.first, p), tap_row,
                             kernel_.int_const(tap));
             const ExprId offset = layout_offset(kernel_, task_.type(x_).shape,
                                                 task_.schedule.buffer(x_).layout, index);
             const ExprId x = kernel_.cast(kernel_.load(in_, offset, lanes()), dtype());
             inside.push_back(put(p, combine(get(p), x, c, tap_row, tap)));
           }
           return inside;
         }));
  for (int64_t p = 0; p < tile.pixels; ++p) body.push_back(put(p, finish(get(p), tile, p, row)));
  for (int64_t p = 0; p < tile.pixels; ++p) append(body, store(tile, p, n, c, row, sink));
  return body;
}

std::vector<ChannelWindow::Step> ChannelWindow::steps_of_row(const Tile& tile) const {
  std::vector<Step> steps;
  for (int64_t tap = 0; tap < window_.last.kernel; ++tap) {
    for (int64_t p = 0; p < tile.pixels; ++p) {
      if (!window_.column_inside(tile.sample + p, tap)) continue;
      steps.push_back({p * window_.last.stride + tap * window_.last.dilation, p, tap});
    }
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tuple(a.column, a.tap) < std::tuple(b.column, b.tap);
  });
  return steps;
}

// Where windows step over input rows: what the same tile of the next output row reads first, the
// rows below this one's. (Below the last row of a plane lies the first one of the next channels'.)
// Where they don't, the hardware sees one stream and needs no help; unless that ends after a few
// rows. Then it is the newest rows under this tile, of the next channels.
std::vector<Stmt> ChannelWindow::prefetch_next(const Tile& tile, ExprId n, ExprId c, ExprId row) {
  const ir::TensorType& x = task_.type(x_);
  if (window_.flat || window_.outer.empty() || x.size_bytes() < task_.target.l2_bytes / 2) {
    return {};
  }
  const WindowAxis& rows = window_.outer.back();
  if (rows.stride == 1 && !are_channels_next_) return {};
  const schedule::Layout layout = task_.schedule.buffer(x_).layout;
  const ExprId last_tap = kernel_.int_const(window_.tap_rows() - 1);
  const ExprId column = kernel_.mul(tile.first, window_.last.stride);
  const int64_t line = line_elements(x.dtype);
  const int64_t lines =
      (tile.pixels * window_.last.stride * layout.channel_block + line - 1) / line;
  std::vector<Stmt> body;
  for (int64_t i = 1; i <= rows.stride; ++i) {
    Index index = input_row_index(kernel_, window_, n, c, row, last_tap, column);
    if (are_channels_next_) index[1] = kernel_.add(index[1], lanes());
    index[index.size() - 2] = kernel_.add(index[index.size() - 2], are_channels_next_ ? 1 - i : i);
    const ExprId first = layout_offset(kernel_, x.shape, layout, index);
    append(body, prefetch_lines(kernel_, in_, first, lines));
  }
  return body;
}

std::vector<Stmt> ChannelWindow::store(const Tile& tile, int64_t pixel, ExprId n, ExprId c,
                                       ExprId row, const Sink& sink) {
  auto body =
      loop(kernel_, "lane", lanes(), ir::LoopKind::kVector, [&](ExprId lane) -> std::vector<Stmt> {
        const Index index = output_index(kernel_, window_, n, kernel_.add(c, lane), row,
                                         kernel_.add(tile.first, pixel));
        const ExprId sum = kernel_.load(sums_, kernel_.add(lane, pixel * lanes()));
        evaluator_.bind(root_, [sum](const Index&) { return sum; });
        return sink.store(index, evaluator_.value(sink.result, index));
      });
  evaluator_.unbind(root_);
  return body;
}

DepthwiseWindow::DepthwiseWindow(Frame& frame, Evaluator& evaluator, NodeId root,
                                 const Knobs& knobs)
    : ChannelWindow(frame, evaluator, root, knobs) {
  const NodeId w = task_.node(root).inputs[1];
  const int64_t channels = task_.type(w).shape[0];
  weights_ = PackedWeights(frame, "w", w, channels * window_.taps(), [&](WeightPacker& packer) {
    pack_depthwise(channels, window_.taps(), lanes(), packer);
  });
}

void DepthwiseWindow::flatten() {
  window_.flat = true;
  window_.strip = std::min(kStripPixels, window_.pixels());
}

ExprId DepthwiseWindow::combine(ExprId sum, ExprId x, ExprId c, ExprId tap_row, int64_t tap) {
  // c counts whole vectors of channels, so c * taps is where that vector's weights begin.
  const ExprId row = kernel_.add(kernel_.mul(tap_row, window_.last.kernel), tap);
  const ExprId at = kernel_.add(kernel_.mul(c, window_.taps()), kernel_.mul(row, lanes()));
  const ExprId w = kernel_.cast(weights_.vector(kernel_, at, lanes()), dtype());
  return multiply_add(kernel_, x, w, sum);
}

}  // namespace camshaft::lower
