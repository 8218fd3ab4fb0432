// SPDX-License-Identifier: MIT
// Strategies `conv_depthwise` and `pool`: windows in which every channel stands alone. Lanes run
// along the channels of a block; a tile is a few neighbouring pixels, so that an input vector that
// several of them need is read once.
#include <algorithm>
#include <tuple>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::Op;

constexpr int64_t kStripPixels = 64;

// The block that lanes run along: shared by input and output, or 0 if their layouts differ.
int64_t common_block(const Task& task) {
  const NodeId x = task.node(task.region.root).inputs[0];
  if (!task.has_buffer(x)) return 0;
  const int64_t in = task.schedule.buffer(x).layout.channel_block;
  const int64_t out = task.schedule.buffer(task.region.output).layout.channel_block;
  return in == out && in > 1 ? in : 0;
}

// Words, halves, and the bytes of quantized pools.
bool takes_dtype(DType dtype) {
  return has_tiles(dtype) || ir::is_half(dtype) || dtype == DType::kInt8 || dtype == DType::kUInt8;
}

bool is_windowed(const Task& task) {
  const ir::Node& node = task.node(task.region.root);
  return takes_dtype(node.type.dtype) && node.type.elements() > 0 && common_block(task) > 0;
}

std::vector<Knobs> channel_knobs(const Task& task) {
  Knobs knobs;
  knobs.lanes = static_cast<int32_t>(
      std::min<int64_t>(common_block(task), task.target.lanes(DType::kFloat32)));
  knobs.vectors = knobs.unroll = 1;
  std::vector<Knobs> result;
  const int64_t width = task.node(task.region.root).type.shape.back();
  // Two thirds of the registers hold sums; the rest what is read.
  const int32_t most = task.target.vector_registers * 2 / 3;
  for (int32_t pixels : {most, most / 2, most / 4, 1}) {
    if (pixels > 1 && pixels > width) continue;
    knobs.pixels = std::max(pixels, 1);
    result.push_back(knobs);
  }
  return result;
}

// What differs between the two.
class ChannelWindow {
 public:
  ChannelWindow(const Task& task, const Knobs& knobs, const char* strategy,
                const std::set<NodeId>& packed)
      : task_(task),
        knobs_(knobs),
        window_(window_of(task)),
        frame_(task, strategy, knobs, packed),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        x_(task.node(task.region.root).inputs[0]),
        block_(common_block(task)) {}
  virtual ~ChannelWindow() = default;

  LoweredKernel emit() {
    acc_ = kernel_.add_local("acc", dtype(), knobs_.pixels * knobs_.lanes);
    const int64_t batch = task_.type(x_).shape[0];
    const int64_t sets = task_.type(x_).shape[1] / knobs_.lanes;
    const int64_t rows = window_.rows();
    set_thread_loop(kernel_, batch * sets * rows, [&](ExprId t) {
      const ExprId row = kernel_.mod(t, rows);
      const ExprId rest = kernel_.div(t, rows);
      const ExprId n = kernel_.div(rest, sets);
      const ExprId c = kernel_.mul(kernel_.mod(rest, sets), knobs_.lanes);
      return for_each_tile(kernel_, window_, row, knobs_.pixels,
                           [&](const Tile& tile) { return tile_body(tile, n, c, row); });
    });
    return std::move(frame_.lowered);
  }

 protected:
  virtual ExprId initial() = 0;
  virtual ExprId combine(ExprId sum, ExprId x, ExprId c, ExprId tap_row, int64_t tap) = 0;
  // The root's value from the finished sum.
  virtual ExprId finish(ExprId sum, const Tile& tile, int64_t pixel, ExprId row) = 0;

  int32_t lanes() const { return knobs_.lanes; }
  DType dtype() const { return compute_dtype(task_.type(task_.region.root).dtype); }
  ExprId splat(double value) { return kernel_.splat(value, {dtype(), lanes()}); }

  const Task& task_;
  Knobs knobs_;
  Window window_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  NodeId x_;
  int64_t block_;
  ir::ArrayId acc_ = -1;

 private:
  std::vector<Stmt> tile_body(const Tile& tile, ExprId n, ExprId c, ExprId row) {
    std::vector<Stmt> body;
    for (int64_t p = 0; p < tile.pixels; ++p) body.push_back(put(p, initial()));
    append(body, prefetch_next_row(tile, n, c, row));
    append(body, for_each_tap_row(kernel_, window_, row, [&](ExprId tap_row) {
             std::vector<Stmt> inside;
             for (const auto [column, p, tap] : steps_of_row(tile)) {
               const Index index =
                   input_index(kernel_, window_, n, c, row, kernel_.add(tile.first, p), tap_row,
                               kernel_.int_const(tap));
               const ExprId offset = layout_offset(kernel_, task_.type(x_).shape,
                                                   task_.schedule.buffer(x_).layout, index);
               const ExprId x =
                   kernel_.cast(kernel_.load(frame_.arrays.at(x_), offset, lanes()), dtype());
               inside.push_back(put(p, combine(get(p), x, c, tap_row, tap)));
             }
             return inside;
           }));
    for (int64_t p = 0; p < tile.pixels; ++p) {
      body.push_back(put(p, finish(get(p), tile, p, row)));
    }
    for (int64_t p = 0; p < tile.pixels; ++p) append(body, store(tile, p, n, c, row));
    return body;
  }

  // What a row of taps does: an input column, counted from the tile's first, for a pixel. In the
  // order of the columns, so that each is read (and widened) once and held no longer than its few
  // pixels take; a pixel's taps are in ascending order as ever.
  struct Step {
    int64_t column, pixel, tap;
  };
  std::vector<Step> steps_of_row(const Tile& tile) const {
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
  // rows below this one's. (Below the last row of a plane lies the first one of the next
  // channels'.) Where they don't, the hardware sees one stream and needs no help.
  std::vector<Stmt> prefetch_next_row(const Tile& tile, ExprId n, ExprId c, ExprId row) {
    const ir::TensorType& x = task_.type(x_);
    if (window_.flat || window_.outer.empty() || x.size_bytes() < task_.target.l2_bytes / 2) {
      return {};
    }
    const WindowAxis& rows = window_.outer.back();
    if (rows.stride == 1) return {};
    const ExprId last_tap = kernel_.int_const(window_.tap_rows() - 1);
    const ExprId column = kernel_.mul(tile.first, window_.last.stride);
    const int64_t line = line_elements(x.dtype);
    const int64_t lines = (tile.pixels * window_.last.stride * block_ + line - 1) / line;
    std::vector<Stmt> body;
    for (int64_t i = 1; i <= rows.stride; ++i) {
      Index index = input_row_index(kernel_, window_, n, c, row, last_tap, column);
      index[index.size() - 2] = kernel_.add(index[index.size() - 2], i);
      const ExprId first = layout_offset(kernel_, x.shape, task_.schedule.buffer(x_).layout, index);
      append(body, prefetch_lines(kernel_, frame_.arrays.at(x_), first, lines));
    }
    return body;
  }

  std::vector<Stmt> store(const Tile& tile, int64_t pixel, ExprId n, ExprId c, ExprId row) {
    auto body = loop(kernel_, "lane", lanes(), ir::LoopKind::kVector,
                     [&](ExprId lane) -> std::vector<Stmt> {
                       const Index index = output_index(kernel_, window_, n, kernel_.add(c, lane),
                                                        row, kernel_.add(tile.first, pixel));
                       const ExprId sum = kernel_.load(acc_, kernel_.add(lane, pixel * lanes()));
                       evaluator_.bind(task_.region.root, [sum](const Index&) { return sum; });
                       return {evaluator_.store_output(
                           frame_.output, index, evaluator_.value(task_.region.output, index))};
                     });
    evaluator_.unbind(task_.region.root);
    return body;
  }

  ExprId place(int64_t pixel) { return kernel_.int_const(pixel * lanes()); }
  ExprId get(int64_t pixel) { return kernel_.load(acc_, place(pixel), lanes()); }
  Stmt put(int64_t pixel, ExprId value) { return ir::make_store(acc_, place(pixel), value); }
};

// Weights as [block of lanes][tap][lane].
void pack_depthwise(int64_t channels, int64_t taps, int64_t lanes, WeightPacker& packer) {
  for (int64_t first = 0; first < channels; first += lanes) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t lane = 0; lane < lanes; ++lane) packer.put((first + lane) * taps + tap);
    }
  }
}

class Depthwise final : public ChannelWindow {
 public:
  Depthwise(const Task& task, const Knobs& knobs)
      : ChannelWindow(task, knobs, "conv_depthwise", {task.node(task.region.root).inputs[1]}) {
    window_.flat = window_.is_pointwise();
    window_.strip = std::min(kStripPixels, window_.pixels());
    const NodeId w = task.node(task.region.root).inputs[1];
    const int64_t channels = task.type(w).shape[0];
    weights_ = PackedWeights(frame_, "w", w, channels * window_.taps(), [&](WeightPacker& packer) {
      pack_depthwise(channels, window_.taps(), lanes(), packer);
    });
  }

 private:
  ExprId initial() override { return splat(0); }
  ExprId combine(ExprId sum, ExprId x, ExprId c, ExprId tap_row, int64_t tap) override {
    // c counts whole vectors of channels, so c * taps is where that vector's weights begin.
    const ExprId row = kernel_.add(kernel_.mul(tap_row, window_.last.kernel), tap);
    const ExprId at = kernel_.add(kernel_.mul(c, window_.taps()), kernel_.mul(row, lanes()));
    const ExprId w = kernel_.cast(weights_.vector(kernel_, at, lanes()), dtype());
    return multiply_add(kernel_, x, w, sum);
  }
  ExprId finish(ExprId sum, const Tile&, int64_t, ExprId) override { return sum; }

  PackedWeights weights_;
};

class Pool final : public ChannelWindow {
 public:
  Pool(const Task& task, const Knobs& knobs) : ChannelWindow(task, knobs, "pool", {}) {
    attrs_ = task.node(task.region.root).as<ir::PoolAttrs>();
  }

 private:
  bool is_max() const { return attrs_.kind == ir::PoolKind::kMax; }
  ExprId initial() override { return splat(is_max() ? -__builtin_inf() : 0.0); }
  ExprId combine(ExprId sum, ExprId x, ExprId, ExprId, int64_t) override {
    return is_max() ? reduce_combine(kernel_, ir::ReduceKind::kMax, x, sum) : kernel_.add(sum, x);
  }
  ExprId finish(ExprId sum, const Tile& tile, int64_t pixel, ExprId row) override {
    if (is_max()) return sum;
    return kernel_.binary(KOp::kDiv, sum, kernel_.broadcast(divisor(tile, pixel, row), lanes()));
  }

  ExprId divisor(const Tile& tile, int64_t pixel, ExprId row) {
    const bool padding = attrs_.count_include_pad;
    const ExprId rows = counted_tap_rows(kernel_, window_, row, padding);
    const int64_t columns = counted_tap_columns(window_, tile.sample + pixel, padding);
    return kernel_.cast(kernel_.mul(rows, columns), DType::kFloat32);
  }

  ir::PoolAttrs attrs_;
};

}  // namespace

bool is_depthwise(const Task& task) {
  if (!task.has_root(Op::kConv)) return false;
  const ir::Node& node = task.node(task.region.root);
  const ir::Node& w = task.node(node.inputs[1]);
  return are_known(task, node.inputs[1]) && w.type.shape[1] == 1 &&
         node.as<ir::ConvAttrs>().groups == w.type.shape[0] &&
         task.type(node.inputs[0]).shape[1] == w.type.shape[0] && w.type.elements() > 0;
}

bool matches_conv_depthwise(const Task& task) {
  return !task.has_images() && is_depthwise(task) && is_windowed(task);
}
bool matches_pool(const Task& task) {
  return !task.has_images() && task.has_root(Op::kPool) && is_windowed(task);
}

std::vector<Knobs> knobs_conv_depthwise(const Task& task) {
  return channel_knobs(task);
}
std::vector<Knobs> knobs_pool(const Task& task) {
  return channel_knobs(task);
}

LoweredKernel emit_conv_depthwise(const Task& task, const Knobs& knobs) {
  return Depthwise(task, knobs).emit();
}
LoweredKernel emit_pool(const Task& task, const Knobs& knobs) {
  return Pool(task, knobs).emit();
}

}  // namespace camshaft::lower
