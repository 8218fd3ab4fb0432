// SPDX-License-Identifier: MIT
// Strategy `fallback`: any region, one output element after the other, scalar. It reads every
// operand through the evaluator, so no shape, layout, dtype or constant is too odd for it.
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : task_(task),
        frame_(task, "fallback", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        root_(task.region.root),
        shape_(task.type(task.region.output).shape) {
    dtype_ = accumulator_dtype(task.type(root_).dtype);
    acc_ = kernel_.add_local("acc", dtype_, 1);
  }

  LoweredKernel emit() {
    if (task_.node(root_).op == Op::kScan) {
      emit_scan();
    } else {
      set_thread_loop(kernel_, task_.type(root_).elements(), [&](ExprId t) {
        const Index index = delinearize(kernel_, shape_, t);
        std::vector<Stmt> body = accumulate(index);
        append(body, store(index));
        return body;
      });
    }
    return std::move(frame_.lowered);
  }

 private:
  ExprId zero() { return kernel_.int_const(0); }
  ExprId acc() { return kernel_.load(acc_, zero()); }
  Stmt set_acc(ExprId value) { return ir::make_store(acc_, zero(), value); }
  ExprId constant(double value) { return kernel_.splat(value, {dtype_, 1}); }
  ExprId operand(size_t which, const Index& index) {
    return kernel_.cast(evaluator_.value(task_.node(root_).inputs[which], index), dtype_);
  }

  std::vector<Stmt> store(const Index& index) {
    const ExprId sum = acc();
    evaluator_.bind(root_, [sum](const Index&) { return sum; });
    const ExprId value = evaluator_.value(task_.region.output, index);
    evaluator_.unbind(root_);
    return {evaluator_.store_output(frame_.output, index, value)};
  }

  std::vector<Stmt> accumulate(const Index& index) {
    switch (task_.node(root_).op) {
      case Op::kConv:
        return conv(index);
      case Op::kPool:
        return pool(index);
      case Op::kMatMul:
        return matmul(index);
      case Op::kArgReduce:
        return arg_reduce(index);
      default:
        CAMSHAFT_CHECK(false && "fallback has no rule for this root");
        return {};
    }
  }

  // Input position of a tap on one spatial axis, and whether it is inside.
  ExprId tap_position(ExprId out, ExprId tap, int64_t stride, int64_t dilation, int64_t pad) {
    return kernel_.add(kernel_.add(kernel_.mul(out, stride), kernel_.mul(tap, dilation)), -pad);
  }
  ExprId in_range(ExprId at, int64_t begin, int64_t end) {
    return kernel_.binary(KOp::kAnd, kernel_.binary(KOp::kLe, kernel_.int_const(begin), at),
                          kernel_.binary(KOp::kLt, at, kernel_.int_const(end)));
  }
  ExprId clamp(ExprId at, int64_t extent) {
    return kernel_.binary(KOp::kMin, kernel_.binary(KOp::kMax, at, zero()),
                          kernel_.int_const(extent - 1));
  }

  std::vector<Stmt> conv(const Index& index) {
    const ir::Node& node = task_.node(root_);
    const auto& attrs = node.as<ir::ConvAttrs>();
    const ir::Shape& x = task_.type(node.inputs[0]).shape;
    const ir::Shape& w = task_.type(node.inputs[1]).shape;
    const ExprId group = kernel_.div(index[1], std::max<int64_t>(w[0] / attrs.groups, 1));
    std::vector<Stmt> body = {set_acc(constant(0))};
    const bool empty = task_.type(node.inputs[0]).elements() == 0;
    append(body, loop_nest(kernel_, {w.begin() + 1, w.end()}, [&](const Index& tap) {
             Index at_w = {index[1]};
             at_w.insert(at_w.end(), tap.begin(), tap.end());
             Index at_x = {index[0], kernel_.add(kernel_.mul(group, w[1]), tap[0])};
             ExprId inside = kernel_.int_const(1, DType::kBool);
             for (size_t s = 0; s + 2 < x.size(); ++s) {
               const ExprId at = tap_position(index[s + 2], tap[s + 1], attrs.strides[s],
                                              attrs.dilations[s], attrs.pads_begin[s]);
               inside = kernel_.binary(KOp::kAnd, inside, in_range(at, 0, x[s + 2]));
               at_x.push_back(clamp(at, x[s + 2]));
             }
             if (empty) return std::vector<Stmt>{};
             const ExprId product = kernel_.mul(operand(0, at_x), operand(1, at_w));
             return std::vector<Stmt>{
                 set_acc(kernel_.add(acc(), kernel_.select(inside, product, constant(0))))};
           }));
    return body;
  }

  std::vector<Stmt> pool(const Index& index) {
    const ir::Node& node = task_.node(root_);
    const auto& attrs = node.as<ir::PoolAttrs>();
    const ir::Shape& x = task_.type(node.inputs[0]).shape;
    const bool is_max = attrs.kind == ir::PoolKind::kMax;
    if (count_ < 0) count_ = kernel_.add_local("count", dtype_, 1);
    const ir::ReduceKind kind = is_max ? ir::ReduceKind::kMax : ir::ReduceKind::kSum;
    std::vector<Stmt> body = {set_acc(reduce_identity(kernel_, kind, {dtype_, 1})),
                              ir::make_store(count_, zero(), constant(0))};
    append(body, loop_nest(kernel_, attrs.kernel, [&](const Index& tap) {
             Index at_x = {index[0], index[1]};
             ExprId inside = kernel_.int_const(1, DType::kBool);
             ExprId counts = inside;
             for (size_t s = 0; s < attrs.kernel.size(); ++s) {
               const int64_t extent = x[s + 2];
               const ExprId at = tap_position(index[s + 2], tap[s], attrs.strides[s],
                                              attrs.dilations[s], attrs.pads_begin[s]);
               inside = kernel_.binary(KOp::kAnd, inside, in_range(at, 0, extent));
               counts =
                   kernel_.binary(KOp::kAnd, counts,
                                  in_range(at, -attrs.pads_begin[s], extent + attrs.pads_end[s]));
               at_x.push_back(clamp(at, extent));
             }
             const ExprId value = reduce_combine(kernel_, kind, operand(0, at_x), acc());
             const ExprId counted = attrs.count_include_pad ? counts : inside;
             return std::vector<Stmt>{
                 set_acc(kernel_.select(inside, value, acc())),
                 ir::make_store(count_, zero(),
                                kernel_.add(kernel_.load(count_, zero()),
                                            kernel_.select(counted, constant(1), constant(0))))};
           }));
    if (!is_max) {
      body.push_back(set_acc(kernel_.binary(KOp::kDiv, acc(), kernel_.load(count_, zero()))));
    }
    return body;
  }

  std::vector<Stmt> matmul(const Index& index) {
    const ir::Shape& a = task_.type(task_.node(root_).inputs[0]).shape;
    std::vector<Stmt> body = {set_acc(constant(0))};
    append(body, loop(kernel_, "k", a.back(), LoopKind::kSerial, [&](ExprId k) {
             Index left = index;
             Index right = index;
             left[left.size() - 1] = k;
             right[right.size() - 2] = k;
             const ExprId product = kernel_.mul(operand(0, left), operand(1, right));
             return std::vector<Stmt>{set_acc(kernel_.add(acc(), product))};
           }));
    return body;
  }

  std::vector<Stmt> arg_reduce(const Index& index) {
    const ir::Node& node = task_.node(root_);
    const auto& attrs = node.as<ir::ArgReduceAttrs>();
    const auto axis = static_cast<size_t>(attrs.axis);
    const DType dtype = compute_dtype(task_.type(node.inputs[0]).dtype);
    if (best_ < 0) best_ = kernel_.add_local("best", dtype, 1);
    const auto element = [&](ExprId k) {
      Index at = index;
      at[axis] = k;
      return evaluator_.value(node.inputs[0], at);
    };
    std::vector<Stmt> body = {ir::make_store(best_, zero(), element(zero())),
                              set_acc(kernel_.int_const(0))};
    append(body,
           loop(kernel_, "k", task_.type(node.inputs[0]).shape[axis], LoopKind::kSerial,
                [&](ExprId k) {
                  const ExprId best = kernel_.load(best_, zero());
                  const ExprId x = element(k);
                  const bool is_max = attrs.kind == ir::ReduceKind::kMax;
                  const KOp op = attrs.select_last ? KOp::kLe : KOp::kLt;
                  ExprId better =
                      is_max ? kernel_.binary(op, best, x) : kernel_.binary(op, x, best);
                  if (base::is_float(dtype)) {
                    // The first NaN wins: it is better than any number, and nothing is better than
                    // it.
                    const ExprId best_is_number = kernel_.binary(KOp::kEq, best, best);
                    const ExprId x_is_number = kernel_.binary(KOp::kEq, x, x);
                    better = kernel_.binary(
                        KOp::kAnd, best_is_number,
                        kernel_.select(x_is_number, better, kernel_.int_const(1, DType::kBool)));
                  }
                  return std::vector<Stmt>{
                      ir::make_if(better, {ir::make_store(best_, zero(), x), set_acc(k)})};
                }));
    return body;
  }

  void emit_scan() {
    const ir::Node& node = task_.node(root_);
    const auto& attrs = node.as<ir::ScanAttrs>();
    const auto axis = static_cast<size_t>(attrs.axis);
    ir::Shape rows = shape_;
    const int64_t extent = rows[axis];
    rows[axis] = 1;
    int64_t count = extent == 0 ? 0 : 1;
    for (int64_t e : rows) count *= e;
    set_thread_loop(kernel_, count, [&](ExprId t) {
      Index index = delinearize(kernel_, rows, t);
      std::vector<Stmt> body = {set_acc(reduce_identity(kernel_, attrs.kind, {dtype_, 1}))};
      append(body, loop(kernel_, "k", extent, LoopKind::kSerial, [&](ExprId k) {
               index[axis] = attrs.reverse ? kernel_.sub(kernel_.int_const(extent - 1), k) : k;
               const Stmt add =
                   set_acc(reduce_combine(kernel_, attrs.kind, operand(0, index), acc()));
               std::vector<Stmt> inside;
               if (!attrs.exclusive) inside.push_back(add);
               append(inside, store(index));
               if (attrs.exclusive) inside.push_back(add);
               return inside;
             }));
      return body;
    });
  }

  const Task& task_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  NodeId root_;
  ir::Shape shape_;
  DType dtype_ = DType::kFloat32;
  ir::ArrayId acc_ = -1;
  ir::ArrayId count_ = -1;
  ir::ArrayId best_ = -1;
};

}  // namespace

bool matches_fallback(const Task& task) {
  if (task.region.root == ir::kNoNode || task.region.inner != ir::kNoNode) return false;
  if (task.region.pooled != ir::kNoNode) return false;
  switch (task.node(task.region.root).op) {
    case Op::kConv:
    case Op::kPool:
    case Op::kMatMul:
    case Op::kArgReduce:
    case Op::kScan:
      return true;
    default:  // have a strategy of their own that does all cases
      return false;
  }
}

std::vector<Knobs> knobs_fallback(const Task&) {
  return {scalar_knobs()};
}

LoweredKernel emit_fallback(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
