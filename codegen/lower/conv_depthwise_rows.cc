// SPDX-License-Identifier: MIT
// Strategy `conv_depthwise_rows`: depthwise convolutions whose channels don't lie in blocks. Lanes
// run along a row. The input rows under the window are copied to scratch first, with zeros on both
// sides as far as whole vectors of outputs reach, so no edge is special and no vector partial.
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {
namespace {

using ir::LoopKind;
using ir::Op;

constexpr int64_t kMostRowBytes = render::kMaxLocalBytes - (4 << 10);  // the rest: accumulators
constexpr int64_t kVectors = 4;     // of outputs at a time, to hide the latency of multiply-adds
constexpr int64_t kLeastWidth = 4;  // of rows that are worth vectors

int64_t padded_width(const Window& window, int64_t lanes) {
  return (window.last.out + lanes - 1) / lanes * lanes;
}

// Columns of a padded input row that `width` outputs read.
int64_t row_columns(const Window& window, int64_t width) {
  return (width - 1) * window.last.stride + (window.last.kernel - 1) * window.last.dilation + 1;
}

class RowDepthwise {
 public:
  RowDepthwise(const Task& task, const Knobs& knobs)
      : task_(task),
        root_(task.region.root),
        x_(task.node(root_).inputs[0]),
        w_(task.node(root_).inputs[1]),
        window_(window_of(task)),
        width_(padded_width(window_, knobs.lanes)),
        columns_(row_columns(window_, width_)),
        chunk_(std::min(width_, kVectors * knobs.lanes)),
        frame_(task, "conv_depthwise_rows", knobs, {w_}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    const int64_t weights = task.type(root_).shape[1] * window_.taps();
    weights_ = PackedWeights(frame_, "w", w_, weights, [&](WeightPacker& packer) {
      for (int64_t i = 0; i < weights; ++i) packer.put(i);
    });
    dtype_ = task.type(root_).dtype;
    rows_ = kernel_.add_local("rows", dtype_, window_.tap_rows() * columns_);
    acc_ = kernel_.add_local("acc", dtype_, chunk_);
    zero_ = kernel_.splat(0, {dtype_, 1});
  }

  LoweredKernel emit() {
    const ir::Shape& shape = task_.type(root_).shape;
    set_thread_loop(kernel_, shape[0] * shape[1] * window_.rows(), [&](ExprId t) {
      row_ = kernel_.mod(t, window_.rows());
      const ExprId plane = kernel_.div(t, window_.rows());
      n_ = kernel_.div(plane, shape[1]);
      c_ = kernel_.mod(plane, shape[1]);
      std::vector<Stmt> body = copy_rows();
      append(body, loop(kernel_, "chunk", width_ / chunk_, LoopKind::kSerial,
                        [&](ExprId at) { return outputs(kernel_.mul(at, chunk_), chunk_); }));
      const int64_t rest = width_ % chunk_;
      if (rest > 0) append(body, outputs(kernel_.int_const(width_ - rest), rest));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  std::vector<Stmt> vector_loop(int64_t extent, const std::function<Stmt(ExprId)>& body) {
    return loop(kernel_, "v", extent, LoopKind::kVector,
                [&](ExprId v) -> std::vector<Stmt> { return {body(v)}; });
  }
  ExprId in_row(ExprId tap_row, ExprId column) {
    return kernel_.add(kernel_.mul(tap_row, columns_), column);
  }

  std::vector<Stmt> copy_rows() {
    const int64_t before = std::min(window_.last.pad, columns_);
    const int64_t inside = std::min(window_.last.in, columns_ - before);
    return for_each_tap_row(kernel_, window_, row_, [&](ExprId tap_row) {
      const auto zeros = [&](int64_t first, int64_t count) {
        return vector_loop(count, [&](ExprId v) {
          return ir::make_store(rows_, in_row(tap_row, kernel_.add(v, first)), zero_);
        });
      };
      std::vector<Stmt> body = zeros(0, before);
      append(body, vector_loop(inside, [&](ExprId v) {
               const Index from = input_row_index(kernel_, window_, n_, c_, row_, tap_row, v);
               return ir::make_store(rows_, in_row(tap_row, kernel_.add(v, before)),
                                     kernel_.cast(evaluator_.value(x_, from), dtype_));
             }));
      append(body, zeros(before + inside, columns_ - before - inside));
      return body;
    });
  }

  // Output columns [first, first + count), of which the last may not exist.
  std::vector<Stmt> outputs(ExprId first, int64_t count) {
    std::vector<Stmt> body =
        vector_loop(count, [&](ExprId v) { return ir::make_store(acc_, v, zero_); });
    append(body, for_each_tap_row(kernel_, window_, row_, [&](ExprId tap_row) {
             return loop(kernel_, "kw", window_.last.kernel, LoopKind::kUnrolled,
                         [&](ExprId tap) { return multiply_add_taps(first, count, tap_row, tap); });
           }));
    // The last chunk: as many columns as there are.
    const int64_t existing = window_.last.out - (width_ - count);
    const bool is_rest = count != chunk_;
    const bool are_all_whole = width_ == window_.last.out || (!is_rest && width_ % chunk_ != 0);
    if (are_all_whole || is_rest || width_ == chunk_) {
      append(body, store(first, are_all_whole ? count : existing));
      return body;
    }
    const ExprId last = kernel_.int_const(width_ - count);
    body.push_back(ir::make_if(kernel_.binary(ir::KOp::kLt, first, last), store(first, count)));
    body.push_back(ir::make_if(kernel_.binary(ir::KOp::kEq, first, last), store(first, existing)));
    return body;
  }

  std::vector<Stmt> multiply_add_taps(ExprId first, int64_t count, ExprId tap_row, ExprId tap) {
    const ExprId number = kernel_.add(kernel_.mul(tap_row, window_.last.kernel), tap);
    const ExprId at = kernel_.add(kernel_.mul(c_, window_.taps()), number);
    const ExprId w = weights_.vector(kernel_, at, 1);
    return vector_loop(count, [&](ExprId v) {
      const ExprId column = kernel_.add(kernel_.mul(kernel_.add(first, v), window_.last.stride),
                                        kernel_.mul(tap, window_.last.dilation));
      const ExprId x = kernel_.load(rows_, in_row(tap_row, column));
      return ir::make_store(acc_, v, multiply_add(kernel_, x, w, kernel_.load(acc_, v)));
    });
  }

  std::vector<Stmt> store(ExprId first, int64_t count) {
    return vector_loop(count, [&](ExprId v) {
      const Index index = output_index(kernel_, window_, n_, c_, row_, kernel_.add(first, v));
      const ExprId sum = kernel_.load(acc_, v);
      evaluator_.bind(root_, [sum](const Index&) { return sum; });
      const Stmt result = evaluator_.store_output(frame_.output, index,
                                                  evaluator_.value(task_.region.output, index));
      evaluator_.unbind(root_);
      return result;
    });
  }

  const Task& task_;
  NodeId root_, x_, w_;
  const Window window_;
  int64_t width_;    // of output rows, in whole vectors
  int64_t columns_;  // of a copied row
  int64_t chunk_;    // outputs at a time
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  PackedWeights weights_;
  ir::DType dtype_ = ir::DType::kFloat32;  // of the sums
  ir::ArrayId rows_ = -1, acc_ = -1;
  ExprId zero_ = ir::kNoExpr;
  ExprId n_ = ir::kNoExpr, c_ = ir::kNoExpr, row_ = ir::kNoExpr;
};

}  // namespace

bool matches_conv_depthwise_rows(const Task& task) {
  if (!is_depthwise(task) || task.has_images() || task.region.pooled != ir::kNoNode) return false;
  const NodeId root = task.region.root;
  const ir::TensorType& type = task.type(root);
  if (!has_tiles(type.dtype) || type.elements() == 0) return false;
  if (!task.has_buffer(task.node(root).inputs[0])) return false;
  const Window window = window_of(task);
  const int64_t columns = row_columns(window, padded_width(window, task.target.lanes(type.dtype)));
  return window.tap_rows() * columns * base::dtype_size_bytes(type.dtype) <= kMostRowBytes;
}

// Rows of blocked channels have other channels between their pixels.
bool pays_conv_depthwise_rows(const Task& task) {
  const NodeId x = task.node(task.region.root).inputs[0];
  return task.schedule.buffer(x).layout.channel_block == 1 &&
         window_of(task).last.out >= kLeastWidth;
}

std::vector<Knobs> knobs_conv_depthwise_rows(const Task& task) {
  Knobs knobs;
  knobs.lanes = task.target.lanes(task.type(task.region.root).dtype);
  knobs.pixels = knobs.vectors = knobs.unroll = 1;
  return {knobs};
}

LoweredKernel emit_conv_depthwise_rows(const Task& task, const Knobs& knobs) {
  return RowDepthwise(task, knobs).emit();
}

}  // namespace camshaft::lower
