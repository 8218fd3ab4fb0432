// SPDX-License-Identifier: MIT
// Strategies `conv_depthwise` and `pool`: windows in which every channel stands alone, of channels
// that lie in blocks; see channel_window.h.
#include <algorithm>
#include <set>

#include "codegen/lower/channel_window.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::Op;

// Of a hundred vectors of channels that threads would do if all did as many as the busiest one, so
// many exist at least. (Reading what was written again costs a few parts of a hundred.)
constexpr int64_t kSetsOfHundred = 96;

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
  const int64_t lanes = std::min<int64_t>(common_block(task), task.target.lanes(DType::kFloat32));
  const int64_t width = task.node(task.region.root).type.shape.back();
  return channel_window_knobs(task.target, lanes, width);
}

class Pool final : public ChannelWindow {
 public:
  Pool(Frame& frame, Evaluator& evaluator, NodeId root, const Knobs& knobs)
      : ChannelWindow(frame, evaluator, root, knobs),
        attrs_(task_.node(root).as<ir::PoolAttrs>()) {}

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

// All rows of all vectors of channels are dealt out.
LoweredKernel emit_rows(const Task& task, Frame& frame, Evaluator& evaluator,
                        ChannelWindow& window) {
  Kernel& kernel = frame.kernel();
  window.add_sums();
  const ir::Shape& x = task.type(task.node(task.region.root).inputs[0]).shape;
  const int64_t sets = x[1] / window.lanes();
  const int64_t rows = window.window().rows();
  const ChannelWindow::Sink sink = {
      task.region.output, [&](const Index& index, ExprId value) {
        return std::vector<Stmt>{evaluator.store_output(frame.output, index, value)};
      }};
  set_thread_loop(kernel, x[0] * sets * rows, [&](ExprId t) {
    const ExprId row = kernel.mod(t, rows);
    const ExprId rest = kernel.div(t, rows);
    const ExprId n = kernel.div(rest, sets);
    const ExprId c = kernel.mul(kernel.mod(rest, sets), window.lanes());
    return window.row(n, c, row, sink);
  });
  return std::move(frame.lowered);
}

// The reduction of what the region writes over all spatial axes, alone or with elementwise nodes
// that make `pooled` of it; kNoNode if there is none that the kernel can compute in passing.
NodeId pool_of(const Task& task) {
  NodeId reduce = ir::kNoNode;
  for (const NodeId id : task.region.nodes) {
    const ir::Node& node = task.node(id);
    if (node.op == Op::kReduce) {
      if (reduce != ir::kNoNode || node.inputs[0] != task.region.output) return ir::kNoNode;
      reduce = id;
    } else if (reduce != ir::kNoNode) {
      // Each element of the same place. (A number is stretched to the shape.)
      const bool is_known = ir::is_elementwise(node.op) || node.op == Op::kBroadcast;
      if (!is_known || node.type.shape != task.type(reduce).shape) return ir::kNoNode;
    }
  }
  if (reduce == ir::kNoNode || task.type(task.region.output).dtype != DType::kFloat32 ||
      task.type(task.region.pooled).dtype != DType::kFloat32) {
    return ir::kNoNode;
  }
  std::vector<int> spatial;
  for (int axis = 2; axis < task.type(task.region.output).rank(); ++axis) spatial.push_back(axis);
  return task.node(reduce).as<ir::ReduceAttrs>().axes == spatial ? reduce : ir::kNoNode;
}

// As above, with what the pixels of each channel are reduced to: by rows, then over these, so that
// sums lose little. All rows of a vector of channels are one iteration.
class PooledRows {
 public:
  PooledRows(const Task& task, Frame& frame, Evaluator& evaluator, ChannelWindow& window)
      : task_(task),
        frame_(frame),
        kernel_(frame.kernel()),
        evaluator_(evaluator),
        window_(window),
        reduce_(pool_of(task)),
        kind_(task.node(reduce_).as<ir::ReduceAttrs>().kind) {
    window.add_sums();
    row_ = kernel_.add_local("row", DType::kFloat32, window.lanes());
    all_ = kernel_.add_local("all", DType::kFloat32, window.lanes());
  }

  LoweredKernel emit() {
    const ir::Shape& shape = task_.type(task_.region.output).shape;
    const int64_t sets = shape[1] / window_.lanes();
    set_thread_loop(kernel_, shape[0] * sets, [&](ExprId t) {
      n_ = kernel_.div(t, sets);
      c_ = kernel_.mul(kernel_.mod(t, sets), window_.lanes());
      std::vector<Stmt> body = {clear(all_)};
      append(body, loop(kernel_, "row", window_.window().rows(), ir::LoopKind::kSerial,
                        [&](ExprId row) { return row_body(row); }));
      append(body, store());
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  ExprId zero() { return kernel_.int_const(0); }
  Stmt clear(ir::ArrayId sums) {
    const ir::ValueType type = {DType::kFloat32, window_.lanes()};
    return ir::make_store(sums, zero(), reduce_identity(kernel_, kind_, type));
  }

  std::vector<Stmt> row_body(ExprId row) {
    std::vector<Stmt> body = {clear(row_)};
    append(body, window_.row(n_, c_, row, {task_.region.output, [&](const Index& at, ExprId value) {
                                             return add(at, value);
                                           }}));
    const ExprId sum = kernel_.load(row_, zero(), window_.lanes());
    const ExprId sums = kernel_.load(all_, zero(), window_.lanes());
    body.push_back(ir::make_store(all_, zero(), reduce_combine(kernel_, kind_, sum, sums)));
    return body;
  }

  std::vector<Stmt> add(const Index& index, ExprId value) {
    std::vector<Stmt> body;
    const ExprId y = let(kernel_, body, "y", value);
    const ExprId lane = kernel_.mod(index[1], window_.lanes());
    body.push_back(evaluator_.store_output(frame_.output, index, y));
    const ExprId sum = reduce_combine(kernel_, kind_, y, kernel_.load(row_, lane));
    body.push_back(ir::make_store(row_, lane, sum));
    return body;
  }

  std::vector<Stmt> store() {
    const NodeId pooled = task_.region.pooled;
    auto body = loop(kernel_, "lane", window_.lanes(), ir::LoopKind::kVector, [&](ExprId lane) {
      Index index(task_.type(pooled).shape.size(), zero());
      index[0] = n_;
      index[1] = kernel_.add(c_, lane);
      const ExprId sum = kernel_.load(all_, lane);
      evaluator_.bind(reduce_, [sum](const Index&) { return sum; });
      const ExprId value = evaluator_.value(pooled, index);
      return std::vector<Stmt>{evaluator_.store_node(pooled, frame_.pooled, index, value)};
    });
    evaluator_.unbind(reduce_);
    return body;
  }

  const Task& task_;
  Frame& frame_;
  Kernel& kernel_;
  Evaluator& evaluator_;
  ChannelWindow& window_;
  NodeId reduce_;
  ir::ReduceKind kind_;
  ir::ArrayId row_ = -1, all_ = -1;
  ExprId n_ = ir::kNoExpr, c_ = ir::kNoExpr;
};

}  // namespace

// All threads must have vectors of channels enough: rows are not dealt out then.
bool pays_to_pool(const Task& joined) {
  if (joined.target.is_gpu || !matches_conv_depthwise(joined)) return false;
  const ir::TensorType& type = joined.type(joined.region.output);
  const int64_t sets = type.shape[0] * type.shape[1] / channel_knobs(joined).front().lanes;
  const int64_t busiest = (sets + joined.threads - 1) / joined.threads;
  return busiest * joined.threads * kSetsOfHundred <= sets * 100;
}

bool is_depthwise(const Task& task, NodeId id) {
  const ir::Node& node = task.node(id);
  if (node.op != Op::kConv) return false;
  const ir::Node& w = task.node(node.inputs[1]);
  return are_known(task, node.inputs[1]) && w.type.shape[1] == 1 &&
         node.as<ir::ConvAttrs>().groups == w.type.shape[0] &&
         task.type(node.inputs[0]).shape[1] == w.type.shape[0] && w.type.elements() > 0;
}

bool is_depthwise(const Task& task) {
  return task.region.root != ir::kNoNode && is_depthwise(task, task.region.root);
}

bool matches_conv_depthwise(const Task& task) {
  if (task.region.pooled != ir::kNoNode && pool_of(task) == ir::kNoNode) return false;
  return !task.has_images() && is_depthwise(task) && is_windowed(task);
}
bool matches_pool(const Task& task) {
  return !task.has_images() && task.has_root(Op::kPool) && is_windowed(task);
}

// Windows that overlap, of narrow blocks, are better combined row by row (pool_rows), which takes
// whole vectors, of neighbouring pixels too.
bool pays_pool(const Task& task) {
  const WindowAxis axis = window_of(task).last;
  const int64_t block = common_block(task);
  const int64_t lanes = task.target.lanes(DType::kFloat32);
  return block >= lanes || lanes % block != 0 || axis.kernel < 3 || axis.kernel <= axis.stride ||
         axis.out * block < lanes;
}

std::vector<Knobs> knobs_conv_depthwise(const Task& task) {
  return channel_knobs(task);
}
std::vector<Knobs> knobs_pool(const Task& task) {
  return channel_knobs(task);
}

LoweredKernel emit_conv_depthwise(const Task& task, const Knobs& knobs) {
  const NodeId root = task.region.root;
  Frame frame(task, "conv_depthwise", knobs, {task.node(root).inputs[1]});
  Evaluator evaluator(frame.kernel(), task, frame.arrays);
  DepthwiseWindow window(frame, evaluator, root, knobs);
  if (task.region.pooled != ir::kNoNode) return PooledRows(task, frame, evaluator, window).emit();
  if (window.window().is_pointwise()) window.flatten();
  return emit_rows(task, frame, evaluator, window);
}
LoweredKernel emit_pool(const Task& task, const Knobs& knobs) {
  Frame frame(task, "pool", knobs);
  Evaluator evaluator(frame.kernel(), task, frame.arrays);
  Pool window(frame, evaluator, task.region.root, knobs);
  return emit_rows(task, frame, evaluator, window);
}

}  // namespace camshaft::lower
