// SPDX-License-Identifier: MIT
// Strategy `pool_rows`: pools whose channels don't lie in blocks, or in blocks narrower than
// vectors. Lanes run along a row: of pixels, or of pixels and the channels of each. Pooling is
// separable: the rows under the window are combined first, into a padded row of scratch, whose
// columns are then combined; so no edge is special, and a k x k window costs 2k, not k * k.
#include <algorithm>

#include "codegen/ir/literal.h"
#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/window.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

constexpr int64_t kMostRowBytes = render::kMaxLocalBytes - (4 << 10);  // the rest: accumulators
constexpr int64_t kVectors = 4;  // that are combined at a time, to hide the latency of doing so
constexpr int64_t kUnrolledTaps = 16;

// Columns of the padded row that the windows reach.
int64_t row_columns(const Window& window) {
  return (window.last.out - 1) * window.last.stride +
         (window.last.kernel - 1) * window.last.dilation + 1;
}

// Channels whose elements lie together in a row: those of the output's blocks, if vectors are whole
// blocks.
int64_t row_block(const Task& task, int64_t lanes) {
  const int64_t block = task.schedule.buffer(task.region.output).layout.channel_block;
  return block > 1 && lanes % block == 0 && !task.target.is_gpu ? block : 1;
}

// Halves as integers of the same order, so that the largest is found without widening them: that of
// -infinity is the least one, those of NaNs are the greatest, whatever their sign.
class OrderedHalves {
 public:
  explicit OrderedHalves(Kernel& kernel) : kernel_(kernel) {}

  static constexpr int64_t kLeast = INT16_MIN;

  ExprId from_half(ExprId half) {
    const DType dtype = kernel_.expr(half).type.dtype;
    return kernel_.sub(swapped(kernel_.bitcast(half, DType::kInt16)), number(nans(dtype)));
  }
  ExprId to_half(ExprId ordered, DType dtype) {
    return kernel_.bitcast(swapped(kernel_.add(ordered, number(nans(dtype)))), dtype);
  }

 private:
  // NaNs of one sign: as many as there are fractions but 0. Negative ones, which are below
  // -infinity where magnitudes alone are swapped, go round to the greatest integers.
  static int64_t nans(DType dtype) { return dtype == DType::kBFloat16 ? 0x7f : 0x3ff; }
  ExprId number(int64_t value) { return kernel_.int_const(value, DType::kInt16); }
  // The magnitude's bits inverted where the sign is set. Its own inverse.
  ExprId swapped(ExprId bits) {
    const ExprId sign = kernel_.binary(KOp::kShr, bits, number(15));
    return kernel_.binary(KOp::kXor, bits, kernel_.binary(KOp::kAnd, sign, number(0x7fff)));
  }

  Kernel& kernel_;
};

// The largest of halves that lie in memory.
bool finds_largest_half(const Task& task) {
  const ir::Node& root = task.node(task.region.root);
  return root.as<ir::PoolAttrs>().kind == ir::PoolKind::kMax && ir::is_half(root.type.dtype) &&
         task.has_buffer(root.inputs[0]) && !task.target.is_gpu;
}

class RowPool {
 public:
  RowPool(const Task& task, const Knobs& knobs)
      : task_(task),
        attrs_(task.node(task.region.root).as<ir::PoolAttrs>()),
        window_(window_of(task)),
        frame_(task, "pool_rows", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        root_(task.region.root),
        x_(task.node(root_).inputs[0]),
        is_ordered_(finds_largest_half(task)),
        dtype_(is_ordered_ ? DType::kInt16 : accumulator_dtype(task.type(root_).dtype)),
        block_(row_block(task, knobs.lanes)),
        chunk_(kVectors * knobs.lanes) {}

  LoweredKernel emit() {
    if (!is_max()) counts_ = frame_.add_constant("columns", dtype_, counted_columns());
    row_ = kernel_.add_local("row", dtype_, row_columns(window_) * block_);
    acc_ = kernel_.add_local("acc", dtype_, chunk_);
    const ir::Shape& shape = task_.type(root_).shape;
    const int64_t sets = shape[1] / block_;
    set_thread_loop(kernel_, shape[0] * sets * window_.rows(), [&](ExprId t) {
      const ExprId row = kernel_.mod(t, window_.rows());
      const ExprId plane = kernel_.div(t, window_.rows());
      const ExprId n = kernel_.div(plane, sets);
      const ExprId c = kernel_.mul(kernel_.mod(plane, sets), block_);
      std::vector<Stmt> body = combine_rows(n, c, row);
      append(body, combine_columns(n, c, row));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  bool is_max() const { return attrs_.kind == ir::PoolKind::kMax; }
  ir::ReduceKind kind() const { return is_max() ? ir::ReduceKind::kMax : ir::ReduceKind::kSum; }
  ExprId identity() {
    if (is_ordered_) return kernel_.int_const(OrderedHalves::kLeast, dtype_);
    return reduce_identity(kernel_, kind(), {dtype_, 1});
  }

  std::vector<Stmt> vector_loop(int64_t extent, const std::function<Stmt(ExprId)>& body) {
    return loop(kernel_, "v", extent, LoopKind::kVector,
                [&](ExprId v) -> std::vector<Stmt> { return {body(v)}; });
  }

  // Of element `at` of a row: its column, and its channel, of those from `c` on.
  ExprId column_of(ExprId at) { return kernel_.div(at, block_); }
  ExprId channel_of(ExprId c, ExprId at) { return kernel_.add(c, kernel_.mod(at, block_)); }

  // `body(first, count)` for all of `extent`, a chunk after the other.
  std::vector<Stmt> for_each_chunk(int64_t extent,
                                   const std::function<std::vector<Stmt>(ExprId, int64_t)>& body) {
    std::vector<Stmt> result =
        loop(kernel_, "chunk", extent / chunk_, LoopKind::kSerial,
             [&](ExprId at) { return body(kernel_.mul(at, chunk_), chunk_); });
    const int64_t rest = extent % chunk_;
    if (rest > 0) append(result, body(kernel_.int_const(extent - rest), rest));
    return result;
  }

  Stmt accumulate(ExprId v, ExprId value) {
    return ir::make_store(acc_, v, reduce_combine(kernel_, kind(), value, kernel_.load(acc_, v)));
  }
  std::vector<Stmt> clear(int64_t count) {
    return vector_loop(count, [&](ExprId v) { return ir::make_store(acc_, v, identity()); });
  }

  // The rows under the window, combined: columns of the input, with padding left and right.
  std::vector<Stmt> combine_rows(ExprId n, ExprId c, ExprId row) {
    const int64_t inside = std::min(window_.last.in, row_columns(window_) - window_.last.pad);
    const int64_t behind = std::max<int64_t>(row_columns(window_) - window_.last.pad - inside, 0);
    std::vector<Stmt> body = pad_row(0, std::min(window_.last.pad, row_columns(window_)));
    append(body, pad_row(window_.last.pad + std::max<int64_t>(inside, 0), behind));
    const int64_t elements = std::max<int64_t>(inside, 0) * block_;
    append(body, for_each_chunk(elements, [&](ExprId first, int64_t count) {
             std::vector<Stmt> inner = clear(count);
             append(inner, for_each_tap_row(kernel_, window_, row, [&](ExprId tap) {
                      return vector_loop(count, [&](ExprId v) {
                        return accumulate(v, input(n, c, row, tap, kernel_.add(first, v)));
                      });
                    }));
             append(inner, vector_loop(count, [&](ExprId v) {
                      const ExprId at =
                          kernel_.add(kernel_.add(first, v), window_.last.pad * block_);
                      return ir::make_store(row_, at, kernel_.load(acc_, v));
                    }));
             return inner;
           }));
    return body;
  }

  std::vector<Stmt> pad_row(int64_t first, int64_t count) {
    return vector_loop(count * block_, [&](ExprId v) {
      return ir::make_store(row_, kernel_.add(v, first * block_), identity());
    });
  }

  ExprId input(ExprId n, ExprId c, ExprId row, ExprId tap, ExprId at) {
    const Index index =
        input_row_index(kernel_, window_, n, channel_of(c, at), row, tap, column_of(at));
    if (!is_ordered_) return kernel_.cast(evaluator_.value(x_, index), dtype_);
    const ExprId offset =
        layout_offset(kernel_, task_.type(x_).shape, task_.schedule.buffer(x_).layout, index);
    return OrderedHalves(kernel_).from_half(kernel_.load(frame_.arrays.at(x_), offset));
  }

  std::vector<Stmt> combine_columns(ExprId n, ExprId c, ExprId row) {
    ExprId rows = ir::kNoExpr;
    if (!is_max()) {
      const bool padding = attrs_.count_include_pad;
      rows = kernel_.cast(counted_tap_rows(kernel_, window_, row, padding), dtype_);
    }
    return for_each_chunk(window_.last.out * block_, [&](ExprId first, int64_t count) {
      std::vector<Stmt> body = clear(count);
      const LoopKind taps =
          window_.last.kernel <= kUnrolledTaps ? LoopKind::kUnrolled : LoopKind::kSerial;
      append(body, loop(kernel_, "kw", window_.last.kernel, taps, [&](ExprId tap) {
               return vector_loop(count, [&](ExprId v) {
                 const ExprId at = kernel_.add(first, v);
                 const ExprId column = kernel_.add(kernel_.mul(column_of(at), window_.last.stride),
                                                   kernel_.mul(tap, window_.last.dilation));
                 const ExprId place =
                     kernel_.add(kernel_.mul(column, block_), kernel_.mod(at, block_));
                 return accumulate(v, kernel_.load(row_, place));
               });
             }));
      append(body, vector_loop(count, [&](ExprId v) {
               return store(n, c, row, kernel_.add(first, v), kernel_.load(acc_, v), rows);
             }));
      return body;
    });
  }

  Stmt store(ExprId n, ExprId c, ExprId row, ExprId at, ExprId pooled, ExprId rows) {
    const ExprId column = column_of(at);
    if (!is_max()) {
      const ExprId count = kernel_.mul(rows, kernel_.load(counts_, column));
      pooled = kernel_.binary(KOp::kDiv, pooled, count);
    }
    const Index index = output_index(kernel_, window_, n, channel_of(c, at), row, column);
    if (is_ordered_) {
      const ir::TensorType& type = task_.type(root_);
      pooled = OrderedHalves(kernel_).to_half(pooled, type.dtype);
      if (task_.region.output == root_) {
        const schedule::Layout layout = task_.schedule.buffer(root_).layout;
        return ir::make_store(frame_.output, layout_offset(kernel_, type.shape, layout, index),
                              pooled);
      }
      pooled = kernel_.cast(pooled, compute_dtype(type.dtype));
    }
    evaluator_.bind(root_, [pooled](const Index&) { return pooled; });
    const Stmt result =
        evaluator_.store_output(frame_.output, index, evaluator_.value(task_.region.output, index));
    evaluator_.unbind(root_);
    return result;
  }

  // How many taps of an average count in each output column.
  std::vector<std::byte> counted_columns() const {
    std::vector<double> counts;
    for (int64_t column = 0; column < window_.last.out; ++column) {
      const int64_t count = counted_tap_columns(window_, column, attrs_.count_include_pad);
      counts.push_back(static_cast<double>(count));
    }
    return ir::make_literal({dtype_, {window_.last.out}}, counts).bytes;
  }

  const Task& task_;
  const ir::PoolAttrs& attrs_;
  const Window window_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  NodeId root_;
  NodeId x_;
  bool is_ordered_;  // by integers, see OrderedHalves
  DType dtype_;      // of what is combined
  int64_t block_;    // of channels, of a column of a row
  int64_t chunk_;
  ir::ArrayId counts_ = -1;
  ir::ArrayId row_ = -1;
  ir::ArrayId acc_ = -1;
};

}  // namespace

bool matches_pool_rows(const Task& task) {
  if (!task.has_root(Op::kPool) || task.has_images()) return false;
  const ir::TensorType& type = task.type(task.region.root);
  const ir::TensorType& x = task.type(task.node(task.region.root).inputs[0]);
  if (type.elements() == 0 || x.elements() == 0) return false;
  const DType dtype = accumulator_dtype(type.dtype);
  return row_columns(window_of(task)) * row_block(task, task.target.lanes(dtype)) *
             base::dtype_size_bytes(dtype) <=
         kMostRowBytes;
}

std::vector<Knobs> knobs_pool_rows(const Task& task) {
  Knobs knobs;
  knobs.lanes = task.target.lanes(accumulator_dtype(task.type(task.region.root).dtype));
  knobs.pixels = knobs.vectors = knobs.unroll = 1;
  return {knobs};
}

LoweredKernel emit_pool_rows(const Task& task, const Knobs& knobs) {
  return RowPool(task, knobs).emit();
}

}  // namespace camshaft::lower
