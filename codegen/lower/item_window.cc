// SPDX-License-Identifier: MIT
// Strategy `item_window`, for GPUs: depthwise convolutions and pools. An item computes one output
// pixel of a vector of channels, those that lie together in memory; neighbouring items do
// neighbouring pixels.
#include "codegen/lower/frame.h"
#include "codegen/lower/pixel_window.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

// Channels that lie together in the input, and in the output where that has as many or none.
int32_t channel_lanes(const Task& task) {
  const NodeId x = task.node(task.region.root).inputs[0];
  if (!task.has_buffer(x) && !task.is_image(task.region.output)) return 1;
  if (task.is_image(task.region.output)) return base::kTexelElements;
  const int32_t in = task.schedule.buffer(x).layout.channel_block;
  const int32_t out = task.schedule.buffer(task.region.output).layout.channel_block;
  return in == out || out == 1 ? in : 1;
}

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : task_(task),
        node_(task.node(task.region.root)),
        lanes_(knobs.lanes),
        is_conv_(node_.op == Op::kConv),
        frame_(task, "item_window", knobs,
               is_conv_ ? std::set<NodeId>{node_.inputs[1]} : std::set<NodeId>{}),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        window_(window_of(task)),
        is_bordered_(is_max() ? std::vector<bool>() : is_bordered(task, node_.inputs[0])),
        pixels_(kernel_, window_, is_bordered_) {
    if (is_conv_) pack_weights();
    acc_ = kernel_.add_local("acc", dtype(), lanes_);
  }

  LoweredKernel emit() {
    const int64_t sets = this->sets();
    const int64_t batch = task_.type(node_.inputs[0]).shape[0];
    set_thread_loop(kernel_, batch * sets * pixels_.pixels(), [&](ExprId t) {
      std::vector<Stmt> body;
      const ExprId rest = kernel_.div(t, pixels_.pixels());
      set_ = let(kernel_, body, "set", kernel_.mod(rest, sets));
      channel_ = kernel_.mul(set_, lanes_);
      const ExprId number = kernel_.add(kernel_.mod(t, pixels_.pixels()),
                                        kernel_.mul(kernel_.div(rest, sets), pixels_.pixels()));
      pixel_ = pixels_.pixel(number, body);
      append(body, vector([&](ExprId v) -> std::vector<Stmt> {
               return {ir::make_store(acc_, v, initial())};
             }));
      append(body, loop(kernel_, "tap", window_.taps(), LoopKind::kSerial,
                        [&](ExprId tap) { return tap_body(tap); }));
      append(body, leftover() == 0 ? vector([&](ExprId v) { return store(v); }) : store_texels());
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  DType dtype() const { return compute_dtype(node_.type.dtype); }
  int64_t channels() const { return node_.type.shape[1]; }
  int64_t sets() const { return (channels() + lanes_ - 1) / lanes_; }
  // Channels of the last set, an image's padded texel; 0: all.
  int64_t leftover() const { return channels() % lanes_; }
  const ir::PoolAttrs& pool() const { return node_.as<ir::PoolAttrs>(); }
  bool is_max() const { return !is_conv_ && pool().kind == ir::PoolKind::kMax; }

  // [vector of channels][tap][lane]
  void pack_weights() {
    const int64_t taps = window_.taps();
    tiles_ = weight_tiles(task_, node_.inputs[1], sets(), taps * lanes_);
    weights_ = PackedWeights(frame_, "w", node_.inputs[1], tiles_, [&](WeightPacker& packer) {
      for (int64_t first = 0; first < channels(); first += lanes_) {
        packer.go_to(tiles_.place(first / lanes_));
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t lane = 0; lane < lanes_; ++lane) {
            first + lane < channels() ? packer.put((first + lane) * taps + tap) : packer.skip();
          }
        }
      }
    });
  }

  std::vector<Stmt> vector(const Body& body) {
    return loop(kernel_, "v", lanes_, LoopKind::kVector, body);
  }

  ExprId initial() {
    if (!is_max()) return kernel_.splat(0, {dtype(), 1});
    return reduce_identity(kernel_, ir::ReduceKind::kMax, {dtype(), 1});
  }

  std::vector<Stmt> tap_body(ExprId number) {
    std::vector<Stmt> body;
    const PixelWindow::Tap tap = pixels_.tap(pixel_, number, body);
    append(body, vector([&](ExprId v) -> std::vector<Stmt> {
             const NodeId from = node_.inputs[0];
             ExprId channel = kernel_.add(channel_, v);
             if (leftover() > 0 && !task_.is_image(from)) {
               channel = kernel_.binary(KOp::kMin, channel, kernel_.int_const(channels() - 1));
             }
             const Index at = channel_index(pixel_.n, channel, tap.place);
             ExprId x = is_bordered_.empty() ? evaluator_.value(from, at)
                                             : bordered_texel(kernel_, frame_.arrays.at(from),
                                                              task_.type(from).shape, at);
             if (tap.inside != ir::kNoExpr) x = kernel_.select(tap.inside, x, initial());
             const ExprId sum = kernel_.load(acc_, v);
             return {ir::make_store(acc_, v, combine(sum, x, number, v))};
           }));
    return body;
  }

  ExprId combine(ExprId sum, ExprId x, ExprId tap, ExprId v) {
    if (is_max()) return reduce_combine(kernel_, ir::ReduceKind::kMax, x, sum);
    if (!is_conv_) return kernel_.add(sum, x);
    const ExprId at = kernel_.add(tiles_.place(kernel_, set_), kernel_.mul(tap, lanes_));
    return multiply_add(kernel_, x, weights_.vector(kernel_, kernel_.add(at, v), 1), sum);
  }

  // Whole texels, and the last one, in which zeros stand for the channels that are missing.
  std::vector<Stmt> store_texels() {
    const ExprId is_last = kernel_.binary(KOp::kEq, set_, kernel_.int_const(sets() - 1));
    const ExprId is_whole = kernel_.binary(KOp::kLt, set_, kernel_.int_const(sets() - 1));
    std::vector<Stmt> body;
    body.push_back(ir::make_if(is_whole, vector([&](ExprId v) { return store(v); })));
    body.push_back(ir::make_if(
        is_last, vector([&](ExprId v) -> std::vector<Stmt> {
          const ExprId first = kernel_.int_const(channels() - leftover());
          const ExprId there = kernel_.binary(KOp::kMin, v, kernel_.int_const(leftover() - 1));
          const ExprId value =
              result(v, channel_index(pixel_.n, kernel_.add(first, there), pixel_.out));
          const ExprId zero = kernel_.splat(0, {kernel_.expr(value).type.dtype, 1});
          const ExprId is_there = kernel_.binary(KOp::kLt, v, kernel_.int_const(leftover()));
          return {evaluator_.store_output(
              frame_.output, channel_index(pixel_.n, kernel_.add(first, v), pixel_.out),
              kernel_.select(is_there, value, zero))};
        })));
    return body;
  }

  std::vector<Stmt> store(ExprId v) {
    const Index index = channel_index(pixel_.n, kernel_.add(channel_, v), pixel_.out);
    return {evaluator_.store_output(frame_.output, index, result(v, index))};
  }

  // Of lane v, as element `index` of the region's output.
  ExprId result(ExprId v, const Index& index) {
    ExprId result = kernel_.load(acc_, v);
    if (!is_conv_ && !is_max()) {
      const ExprId taps = pixels_.counted_taps(pixel_, pool().count_include_pad);
      result = kernel_.binary(KOp::kDiv, result, kernel_.cast(taps, dtype()));
    }
    evaluator_.bind(task_.region.root, [result](const Index&) { return result; });
    const ExprId value = evaluator_.value(task_.region.output, index);
    evaluator_.unbind(task_.region.root);
    return value;
  }

  const Task& task_;
  const ir::Node& node_;
  const int64_t lanes_;
  const bool is_conv_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  const Window window_;
  const std::vector<bool> is_bordered_;
  const PixelWindow pixels_;
  WeightTiles tiles_;
  PackedWeights weights_;
  ir::ArrayId acc_ = -1;
  ExprId set_ = ir::kNoExpr;  // of channels
  ExprId channel_ = ir::kNoExpr;
  PixelWindow::Pixel pixel_;
};

}  // namespace

bool matches_item_window(const Task& task) {
  if (!task.target.is_gpu) return false;
  const bool is_pool = task.has_root(Op::kPool);
  if (!is_pool && !is_depthwise(task)) return false;
  const ir::Node& node = task.node(task.region.root);
  return node.type.elements() > 0 && task.type(node.inputs[0]).elements() > 0 &&
         task.type(task.region.output).shape == node.type.shape &&
         (!is_pool || base::is_float(node.type.dtype) ||
          node.as<ir::PoolAttrs>().kind == ir::PoolKind::kMax);
}

std::vector<Knobs> knobs_item_window(const Task& task) {
  Knobs knobs = scalar_knobs();
  knobs.lanes = channel_lanes(task);
  return {knobs};
}

LoweredKernel emit_item_window(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
