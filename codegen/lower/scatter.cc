// SPDX-License-Identifier: MIT
// Strategy `scatter`: the data is copied, then the updates go in one after the other. Threads share
// the rows of the result; each walks all row numbers and takes the updates that fall into its part.
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

using ir::KOp;
using ir::LoopKind;
using ir::Op;
using ir::ScatterKind;

constexpr int64_t kElementsPerPart = 1 << 14;
constexpr int64_t kMostParts = 16;

class ScatterEmitter {
 public:
  ScatterEmitter(const Task& task, const Knobs& knobs)
      : task_(task),
        frame_(task, "scatter", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        node_(task.node(task.region.root)),
        shape_(node_.type.shape) {}

  LoweredKernel emit() {
    if (node_.type.elements() == 0) {
      set_thread_loop(kernel_, 1, [](ExprId) { return std::vector<Stmt>{}; });
      return std::move(frame_.lowered);
    }
    const int64_t parts = std::clamp<int64_t>(node_.type.elements() / kElementsPerPart, 1,
                                              std::min<int64_t>(kMostParts, shape_[0]));
    const int64_t rows = (shape_[0] + parts - 1) / parts;
    set_thread_loop(kernel_, (shape_[0] + rows - 1) / rows, [&](ExprId t) {
      const ExprId begin = kernel_.mul(t, rows);
      const ExprId end =
          kernel_.binary(KOp::kMin, kernel_.add(begin, rows), kernel_.int_const(shape_[0]));
      std::vector<Stmt> body = copy_rows(begin, end);
      append(body, apply_updates(begin, end));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  ir::Shape inner_shape() const { return {shape_.begin() + 1, shape_.end()}; }
  static Index with_row(ExprId row, const Index& inner) {
    Index index = {row};
    index.insert(index.end(), inner.begin(), inner.end());
    return index;
  }

  std::vector<Stmt> copy_rows(ExprId begin, ExprId end) {
    return loop_between(kernel_, "row", begin, end, 0, shape_[0] - 1, [&](ExprId row) {
      return loop_nest(kernel_, inner_shape(), [&](const Index& inner) {
        const Index index = with_row(row, inner);
        return std::vector<Stmt>{evaluator_.store_output(frame_.output, index,
                                                         evaluator_.value(node_.inputs[0], index))};
      });
    });
  }

  std::vector<Stmt> apply_updates(ExprId begin, ExprId end) {
    const int64_t count = task_.type(node_.inputs[1]).shape[0];
    return loop(kernel_, "j", count, LoopKind::kSerial, [&](ExprId j) {
      const ExprId number = kernel_.cast(evaluator_.value(node_.inputs[1], {j}), ir::DType::kInt64);
      const ir::VarId var = kernel_.add_let_var("to", number);
      const ExprId to = kernel_.var(var);
      const ExprId here = kernel_.binary(KOp::kAnd, kernel_.binary(KOp::kLe, begin, to),
                                         kernel_.binary(KOp::kLt, to, end));
      // Inside the condition the row is in range; the clamp says so to the bounds checks.
      const ExprId row =
          kernel_.binary(KOp::kMin, kernel_.binary(KOp::kMax, to, kernel_.int_const(0)),
                         kernel_.int_const(shape_[0] - 1));
      return std::vector<Stmt>{ir::make_let(var, number), ir::make_if(here, update_row(j, row))};
    });
  }

  std::vector<Stmt> update_row(ExprId j, ExprId row) {
    return loop_nest(kernel_, inner_shape(), [&](const Index& inner) {
      const Index index = with_row(row, inner);
      const ExprId update = evaluator_.value(node_.inputs[2], with_row(j, inner));
      return std::vector<Stmt>{
          evaluator_.store_output(frame_.output, index, combined(index, update))};
    });
  }

  ExprId combined(const Index& index, ExprId update) {
    const ScatterKind kind = node_.as<ir::ScatterAttrs>().kind;
    if (kind == ScatterKind::kReplace) return update;
    const ExprId at =
        layout_offset(kernel_, shape_, task_.schedule.buffer(task_.region.output).layout, index);
    const ExprId before =
        kernel_.cast(kernel_.load(frame_.output, at), compute_dtype(node_.type.dtype));
    switch (kind) {
      case ScatterKind::kSum:
        return reduce_combine(kernel_, ir::ReduceKind::kSum, before, update);
      case ScatterKind::kProd:
        return reduce_combine(kernel_, ir::ReduceKind::kProd, before, update);
      case ScatterKind::kMax:
        return reduce_combine(kernel_, ir::ReduceKind::kMax, update, before);
      default:
        return reduce_combine(kernel_, ir::ReduceKind::kMin, update, before);
    }
  }

  const Task& task_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  const ir::Node& node_;
  const ir::Shape& shape_;
};

}  // namespace

bool matches_scatter(const Task& task) {
  return task.has_root(Op::kScatter);
}

std::vector<Knobs> knobs_scatter(const Task&) {
  return {scalar_knobs()};
}

LoweredKernel emit_scatter(const Task& task, const Knobs& knobs) {
  return ScatterEmitter(task, knobs).emit();
}

}  // namespace camshaft::lower
