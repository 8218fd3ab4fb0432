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
  const ChannelWindow::Sink sink = {task.region.output, [&](const Index& index, ExprId value) {
                                      return evaluator.store_output(frame.output, index, value);
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

}  // namespace

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
  const NodeId root = task.region.root;
  Frame frame(task, "conv_depthwise", knobs, {task.node(root).inputs[1]});
  Evaluator evaluator(frame.kernel(), task, frame.arrays);
  DepthwiseWindow window(frame, evaluator, root, knobs);
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
