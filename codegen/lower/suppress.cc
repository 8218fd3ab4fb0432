// SPDX-License-Identifier: MIT
// Strategy `suppress`: going down the list, each box that is kept strikes out those below it that
// overlap it. Groups are shared among threads; the striking out is a vector loop.
#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

class SuppressEmitter {
 public:
  SuppressEmitter(const Task& task, const Knobs& knobs)
      : frame_(task, "suppress", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        node_(task.node(task.region.root)),
        count_(node_.type.shape[1]) {}

  LoweredKernel emit() {
    kept_ = kernel_.add_local("kept", DType::kInt64, 1);
    const auto number = [&](int64_t value) { return kernel_.int_const(value); };
    set_thread_loop(kernel_, node_.type.shape[0], [&](ExprId group) {
      std::vector<Stmt> body = {ir::make_store(kept_, number(0), number(0))};
      append(body, loop(kernel_, "i", count_, LoopKind::kVector, [&](ExprId i) {
               return std::vector<Stmt>{
                   store(group, i, evaluator_.value(node_.inputs[1], {group, i}))};
             }));
      append(body, loop(kernel_, "i", count_, LoopKind::kSerial,
                        [&](ExprId i) { return visit(group, i); }));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  struct Box {
    ExprId y1, x1, y2, x2;
  };

  ExprId alive(ExprId group, ExprId i) {
    return kernel_.load(frame_.output, kernel_.add(kernel_.mul(group, count_), i));
  }
  Stmt store(ExprId group, ExprId i, ExprId value) {
    return evaluator_.store_output(frame_.output, {group, i}, value);
  }
  Box box(ExprId group, ExprId i) {
    const auto corner = [&](int64_t which) {
      return evaluator_.value(node_.inputs[0], {group, i, kernel_.int_const(which)});
    };
    return {corner(0), corner(1), corner(2), corner(3)};
  }
  ExprId area(const Box& box) {
    return kernel_.mul(kernel_.sub(box.y2, box.y1), kernel_.sub(box.x2, box.x1));
  }

  std::vector<Stmt> visit(ExprId group, ExprId i) {
    const ExprId zero = kernel_.int_const(0);
    std::vector<Stmt> body;
    const ExprId kept = kernel_.load(kept_, zero);
    const ExprId room =
        kernel_.binary(KOp::kLt, kept, kernel_.int_const(node_.as<ir::SuppressAttrs>().max_kept));
    const ExprId keeps =
        let(kernel_, body, "keeps", kernel_.binary(KOp::kAnd, alive(group, i), room));
    body.push_back(store(group, i, keeps));
    std::vector<Stmt> strike = {ir::make_store(kept_, zero, kernel_.add(kept, 1))};
    const Box at = box(group, i);
    const Box own = {let(kernel_, strike, "y1", at.y1), let(kernel_, strike, "x1", at.x1),
                     let(kernel_, strike, "y2", at.y2), let(kernel_, strike, "x2", at.x2)};
    const ExprId own_area = let(kernel_, strike, "area", area(own));
    const ExprId threshold =
        let(kernel_, strike, "threshold", evaluator_.value(node_.inputs[2], {}));
    append(strike, loop(kernel_, "j", count_, LoopKind::kVector, [&](ExprId j) {
             const ExprId above = kernel_.binary(KOp::kLe, j, i);
             const ExprId apart = no_overlap(own, own_area, box(group, j), threshold);
             const ExprId stays = kernel_.binary(KOp::kOr, above, apart);
             return std::vector<Stmt>{
                 store(group, j, kernel_.binary(KOp::kAnd, alive(group, j), stays))};
           }));
    body.push_back(ir::make_if(keeps, std::move(strike)));
    return body;
  }

  // Is the intersection over union not above the threshold?
  ExprId no_overlap(const Box& a, ExprId a_area, const Box& b, ExprId threshold) {
    const ExprId zero = kernel_.float_const(0);
    const ExprId height =
        kernel_.sub(kernel_.binary(KOp::kMin, a.y2, b.y2), kernel_.binary(KOp::kMax, a.y1, b.y1));
    const ExprId width =
        kernel_.sub(kernel_.binary(KOp::kMin, a.x2, b.x2), kernel_.binary(KOp::kMax, a.x1, b.x1));
    const ExprId meets = kernel_.binary(KOp::kAnd, kernel_.binary(KOp::kLt, zero, height),
                                        kernel_.binary(KOp::kLt, zero, width));
    const ExprId shared = kernel_.select(meets, kernel_.mul(height, width), zero);
    const ExprId joint = kernel_.sub(kernel_.add(a_area, area(b)), shared);
    const ExprId above =
        kernel_.binary(KOp::kLt, threshold, kernel_.binary(KOp::kDiv, shared, joint));
    return kernel_.binary(KOp::kXor, above, kernel_.int_const(1, DType::kBool));
  }

  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  const ir::Node& node_;
  int64_t count_;
  ir::ArrayId kept_ = -1;
};

}  // namespace

bool matches_suppress(const Task& task) {
  return task.has_root(Op::kSuppress);
}

std::vector<Knobs> knobs_suppress(const Task& task) {
  Knobs knobs = scalar_knobs();
  knobs.lanes = task.target.lanes(DType::kFloat32);
  return {knobs};
}

LoweredKernel emit_suppress(const Task& task, const Knobs& knobs) {
  return SuppressEmitter(task, knobs).emit();
}

}  // namespace camshaft::lower
