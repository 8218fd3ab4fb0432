// SPDX-License-Identifier: MIT
// Strategy `conv_depthwise_rows`: depthwise convolutions, a strip of output rows at a time. Lanes
// run along a row: of pixels, or, where channels lie in blocks narrower than vectors, of pixels and
// the channels of each. The input rows under the strip are first copied to scratch (padded_row.h),
// in the order of the output's layout, whatever the input's is, and as what sums are computed in.
// So each input row is read, rearranged and widened once, not once for each row of taps.
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/padded_row.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/weights.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {
namespace {

using ir::LoopKind;
using ir::Op;

constexpr int64_t kMostRowBytes = render::kMaxLocalBytes - (4 << 10);  // the rest: accumulators
// Of scratch rows: half of a small first-level cache, beside what is read and written.
constexpr int64_t kStripBytes = 16 << 10;
constexpr int64_t kVectors = 4;      // of outputs at a time, to hide the latency of multiply-adds
constexpr int64_t kLeastWidth = 4;   // of rows that are worth vectors
constexpr int64_t kThreadParts = 4;  // strips for each thread, so that all threads end together

int32_t output_block(const Task& task) {
  return std::max(task.schedule.buffer(task.region.output).layout.channel_block, 1);
}

// How output rows are cut, and which rows lie in scratch.
struct Strips {
  PaddedRow row;
  int64_t width = 0;  // elements of an output row, in whole vectors
  int64_t rows = 1;   // of the output, in a strip
  // All input rows from the first to the last one under the strip; otherwise, of one output row,
  // the rows of its taps.
  bool is_dense = false;
  int64_t scratch_rows = 0;

  int64_t elements() const { return scratch_rows * row.elements(); }
};

// Input rows from the first to the last one under `rows` output rows.
int64_t rows_under(const WindowAxis& axis, int64_t rows) {
  return (rows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
}

Strips strips_of(const Task& task, const Window& window, int64_t lanes) {
  const ir::TensorType& type = task.type(task.region.root);
  const int64_t block = output_block(task);
  Strips strips;
  strips.width = ceil_div(window.last.out * block, lanes) * lanes;
  strips.row = PaddedRow(window.last, strips.width, block, lanes);
  strips.scratch_rows = window.tap_rows();
  if (window.outer.size() != 1) return strips;
  const WindowAxis& axis = window.outer[0];
  const int64_t row_bytes = strips.row.elements() * base::dtype_size_bytes(type.dtype);
  int64_t rows = axis.out;
  while (rows > 1 && rows_under(axis, rows) * row_bytes > kStripBytes) --rows;
  const int64_t planes = type.shape[0] * type.shape[1] / block;
  const int64_t parts = task.threads > 1 ? kThreadParts * task.threads : 1;
  while (rows > 1 && planes * ceil_div(axis.out, rows) < parts) --rows;
  rows = ceil_div(axis.out, ceil_div(axis.out, rows));
  // Rows that no tap reads, between those that some do, are copied too.
  if (rows_under(axis, rows) > rows * axis.kernel) return strips;
  strips.is_dense = true;
  strips.rows = rows;
  strips.scratch_rows = rows_under(axis, rows);
  return strips;
}

class RowDepthwise {
 public:
  RowDepthwise(const Task& task, const Knobs& knobs)
      : task_(task),
        root_(task.region.root),
        x_(task.node(root_).inputs[0]),
        window_(window_of(task)),
        block_(output_block(task)),
        lanes_(knobs.lanes),
        strips_(strips_of(task, window_, knobs.lanes)),
        chunk_(std::min(strips_.width, kVectors * knobs.lanes)),
        frame_(task, "conv_depthwise_rows", knobs, {task.node(root_).inputs[1]}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        dtype_(task.type(root_).dtype) {
    pack_weights();
    rows_ = kernel_.add_local("rows", dtype_, strips_.elements());
    acc_ = kernel_.add_local("acc", dtype_, chunk_);
    zero_ = kernel_.splat(0, {dtype_, 1});
  }

  LoweredKernel emit() {
    const ir::Shape& shape = task_.type(root_).shape;
    const int64_t sets = shape[1] / block_;
    const int64_t count = ceil_div(window_.rows(), strips_.rows);
    set_thread_loop(kernel_, shape[0] * sets * count, [&](ExprId t) {
      first_row_ = kernel_.mul(kernel_.mod(t, count), strips_.rows);
      const ExprId plane = kernel_.div(t, count);
      n_ = kernel_.div(plane, sets);
      set_ = kernel_.mod(plane, sets);
      std::vector<Stmt> body = copy_rows();
      append(body, for_each_row([&](ExprId row) { return row_body(row); }));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  // Single channels: a number for each tap. Blocks: a vector for each, the block's again and again.
  void pack_weights() {
    const int64_t channels = task_.type(root_).shape[1];
    const int64_t repeated = block_ == 1 ? 1 : lanes_;
    const int64_t elements = channels / block_ * window_.taps() * repeated;
    const NodeId w = task_.node(root_).inputs[1];
    weights_ = PackedWeights::widened(frame_, "w", w, elements, [&](WeightPacker& packer) {
      for (int64_t first = 0; first < channels; first += block_) {
        for (int64_t tap = 0; tap < window_.taps(); ++tap) {
          for (int64_t i = 0; i < repeated; ++i) {
            packer.put((first + i % block_) * window_.taps() + tap);
          }
        }
      }
    });
  }

  std::vector<Stmt> vector_loop(int64_t extent, const std::function<Stmt(ExprId)>& body) {
    return loop(kernel_, "v", extent, LoopKind::kVector,
                [&](ExprId v) -> std::vector<Stmt> { return {body(v)}; });
  }
  // Of element `v` of a row whose columns are a block each, or of columns and a channel.
  ExprId channel_of(ExprId v) {
    return kernel_.add(kernel_.mul(set_, block_), kernel_.mod(v, block_));
  }

  // The strip's output rows. The last strip may have fewer.
  std::vector<Stmt> for_each_row(const Body& body) {
    const Body row = [&](ExprId at) { return body(kernel_.add(first_row_, at)); };
    if (window_.rows() % strips_.rows == 0) {
      return loop(kernel_, "row", strips_.rows, LoopKind::kSerial, row);
    }
    const ExprId left = kernel_.sub(kernel_.int_const(window_.rows()), first_row_);
    const ExprId end = kernel_.binary(ir::KOp::kMin, left, kernel_.int_const(strips_.rows));
    return loop_between(kernel_, "row", kernel_.int_const(0), end, 0, strips_.rows - 1, row);
  }

  std::vector<Stmt> copy_rows() {
    if (!strips_.is_dense) {
      return for_each_tap_row(kernel_, window_, first_row_, [&](ExprId tap_row) {
        return copy_row(tap_row, [&](ExprId v, ExprId column) {
          return input_row_index(kernel_, window_, n_, channel_of(v), first_row_, tap_row, column);
        });
      });
    }
    const WindowAxis& axis = window_.outer[0];
    const ExprId above = kernel_.add(kernel_.mul(first_row_, axis.stride), -axis.pad);
    const ExprId zero = kernel_.int_const(0);
    const ExprId begin = kernel_.binary(ir::KOp::kMax, kernel_.sub(zero, above), zero);
    const ExprId end = kernel_.binary(ir::KOp::kMin, kernel_.sub(kernel_.int_const(axis.in), above),
                                      kernel_.int_const(strips_.scratch_rows));
    return loop_between(kernel_, "copy", begin, end, 0, strips_.scratch_rows - 1, [&](ExprId at) {
      return copy_row(at, [&](ExprId v, ExprId column) {
        return Index{n_, channel_of(v), kernel_.add(above, at), column};
      });
    });
  }

  // `place` gives the index of an element of the row from its number in a column's block and the
  // column.
  std::vector<Stmt> copy_row(ExprId number,
                             const std::function<Index(ExprId v, ExprId column)>& place) {
    std::vector<Stmt> body;
    const ExprId row = kernel_.mul(number, strips_.row.elements());
    const auto zeros = [&](int64_t begin, int64_t end) {
      append(body, vector_loop(end - begin, [&](ExprId v) {
               return ir::make_store(rows_, kernel_.add(row, kernel_.add(v, begin)), zero_);
             }));
    };
    for (const PaddedRow::Phase& phase : strips_.row.phases()) {
      zeros(phase.begin, phase.copied);
      zeros(phase.zeros, phase.end);
      append(body, vector_loop(phase.columns * block_, [&](ExprId v) {
               const ExprId column = kernel_.add(
                   kernel_.mul(kernel_.div(v, block_), window_.last.stride), phase.first_column);
               const ExprId x = kernel_.cast(evaluator_.value(x_, place(v, column)), dtype_);
               return ir::make_store(rows_, kernel_.add(row, kernel_.add(v, phase.copied)), x);
             }));
    }
    return body;
  }

  std::vector<Stmt> row_body(ExprId row) {
    row_ = row;
    const int64_t rest = strips_.width % chunk_;
    std::vector<Stmt> body =
        loop(kernel_, "chunk", strips_.width / chunk_, LoopKind::kSerial,
             [&](ExprId at) { return outputs(kernel_.mul(at, chunk_), chunk_); });
    if (rest > 0) append(body, outputs(kernel_.int_const(strips_.width - rest), rest));
    return body;
  }

  // Elements [first, first + count) of an output row, of which the last may not exist.
  std::vector<Stmt> outputs(ExprId first, int64_t count) {
    std::vector<Stmt> body =
        vector_loop(count, [&](ExprId v) { return ir::make_store(acc_, v, zero_); });
    append(body, for_each_tap_row(kernel_, window_, row_, [&](ExprId tap_row) {
             std::vector<Stmt> taps;
             for (int64_t tap = 0; tap < window_.last.kernel; ++tap) {
               append(taps, multiply_add_tap(first, count, tap_row, tap));
             }
             return taps;
           }));
    // The last chunk: as many elements as there are.
    const int64_t width = strips_.width;
    const int64_t exist = window_.last.out * block_;
    const int64_t existing = exist - (width - count);
    const bool is_rest = count != chunk_;
    const bool are_all_whole = width == exist || (!is_rest && width % chunk_ != 0);
    if (are_all_whole || is_rest || width == chunk_) {
      append(body, store(first, are_all_whole ? count : existing));
      return body;
    }
    const ExprId last = kernel_.int_const(width - count);
    body.push_back(ir::make_if(kernel_.binary(ir::KOp::kLt, first, last), store(first, count)));
    body.push_back(ir::make_if(kernel_.binary(ir::KOp::kEq, first, last), store(first, existing)));
    return body;
  }

  // Where a row of taps of the output row lies.
  ExprId scratch_row(ExprId tap_row) {
    if (!strips_.is_dense) return tap_row;
    const WindowAxis& axis = window_.outer[0];
    return kernel_.add(kernel_.mul(kernel_.sub(row_, first_row_), axis.stride),
                       kernel_.mul(tap_row, axis.dilation));
  }

  std::vector<Stmt> multiply_add_tap(ExprId first, int64_t count, ExprId tap_row, int64_t tap) {
    const ExprId number = kernel_.add(kernel_.mul(tap_row, window_.last.kernel), tap);
    const ExprId weight = kernel_.add(kernel_.mul(set_, window_.taps()), number);
    const ExprId from = kernel_.add(kernel_.mul(scratch_row(tap_row), strips_.row.elements()),
                                    kernel_.add(first, strips_.row.place(tap)));
    return vector_loop(count, [&](ExprId v) {
      const ExprId at =
          block_ == 1 ? weight : kernel_.add(kernel_.mul(weight, lanes_), kernel_.mod(v, lanes_));
      const ExprId w = weights_.vector(kernel_, at, 1);
      const ExprId x = kernel_.load(rows_, kernel_.add(from, v));
      return ir::make_store(acc_, v, multiply_add(kernel_, x, w, kernel_.load(acc_, v)));
    });
  }

  std::vector<Stmt> store(ExprId first, int64_t count) {
    return vector_loop(count, [&](ExprId v) {
      const ExprId at = kernel_.add(first, v);
      const Index index =
          output_index(kernel_, window_, n_, channel_of(at), row_, kernel_.div(at, block_));
      const ExprId sum = kernel_.load(acc_, v);
      evaluator_.bind(root_, [sum](const Index&) { return sum; });
      const Stmt result = evaluator_.store_output(frame_.output, index,
                                                  evaluator_.value(task_.region.output, index));
      evaluator_.unbind(root_);
      return result;
    });
  }

  const Task& task_;
  NodeId root_, x_;
  const Window window_;
  int64_t block_;  // channels whose elements lie together, in the output and in scratch
  int64_t lanes_;
  const Strips strips_;
  int64_t chunk_;  // elements of an output row at a time
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  PackedWeights weights_;
  ir::DType dtype_;  // of the sums
  ir::ArrayId rows_ = -1, acc_ = -1;
  ExprId zero_ = ir::kNoExpr;
  ExprId n_ = ir::kNoExpr, set_ = ir::kNoExpr, row_ = ir::kNoExpr;
  ExprId first_row_ = ir::kNoExpr;  // of the strip
};

}  // namespace

bool matches_conv_depthwise_rows(const Task& task) {
  if (!is_depthwise(task) || task.has_images() || task.region.pooled != ir::kNoNode) return false;
  const NodeId root = task.region.root;
  const ir::TensorType& type = task.type(root);
  if (!has_tiles(type.dtype) || type.elements() == 0) return false;
  if (!task.has_buffer(task.node(root).inputs[0])) return false;
  const int32_t lanes = task.target.lanes(type.dtype);
  if (lanes % output_block(task) != 0) return false;
  const Strips strips = strips_of(task, window_of(task), lanes);
  return strips.elements() * base::dtype_size_bytes(type.dtype) <= kMostRowBytes;
}

// Blocks that are whole vectors are read in place (conv_depthwise), where input and output have the
// same. Single channels of an input in blocks have other channels between their pixels.
bool pays_conv_depthwise_rows(const Task& task) {
  const NodeId x = task.node(task.region.root).inputs[0];
  const int32_t in_block = std::max(task.schedule.buffer(x).layout.channel_block, 1);
  const int32_t block = output_block(task);
  const Window window = window_of(task);
  if (block == 1) return in_block == 1 && window.last.out >= kLeastWidth;
  const int32_t lanes = task.target.lanes(task.type(task.region.root).dtype);
  if (in_block == block && block == lanes) return false;
  return !window.is_pointwise() && window.last.out * block >= lanes;
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
