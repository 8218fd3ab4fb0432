// SPDX-License-Identifier: MIT
// Which ops are expanded; how is in math_*.cc.
#include <utility>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_rewrite.h"
#include "codegen/ir/math_builder.h"

namespace camshaft::ir {
namespace {

class Decomposer : public ExprRewriter {
 public:
  Decomposer(Kernel* kernel, const MathSupport& support)
      : ExprRewriter(kernel), support_(support) {}

  void decompose(std::vector<Stmt>& body) {
    for (Stmt& stmt : body) {
      rewrite_exprs(stmt);
      decompose(stmt.body);
    }
  }

 protected:
  bool keeps(ExprId) const override { return false; }

  ExprId replace(ExprId id, const ExprId args[3]) override {
    const Expr node = kernel().expr(id);
    if (!is_supported(node.op)) {
      // Of equal lanes everywhere, for the expansions use no value that is not.
      MathBuilder m(&kernel(), support_, node.type);
      return expand(m, node.op, args);
    }
    const bool same = std::equal(std::begin(node.args), std::end(node.args), args);
    return same ? id : rebuild_expr(kernel(), node, args);
  }

 private:
  bool is_supported(KOp op) const {
    switch (op) {
      case KOp::kFma:
        return support_.fma;
      case KOp::kFloor:
      case KOp::kCeil:
      case KOp::kRound:
        return support_.rounding;
      case KOp::kExp:
        return support_.exp;
      case KOp::kLog:
        return support_.log;
      case KOp::kSin:
      case KOp::kCos:
        return support_.sin_cos;
      case KOp::kAtan:
        return support_.atan;
      case KOp::kTanh:
        return support_.tanh;
      case KOp::kErf:
        return support_.erf;
      case KOp::kSigmoid:
        return support_.sigmoid;
      case KOp::kPow:
        return support_.pow;
      default:
        return true;
    }
  }

  static ExprId expand(MathBuilder& m, KOp op, const ExprId args[3]) {
    switch (op) {
      case KOp::kFma:
        return m.fma(args[0], args[1], args[2]);
      case KOp::kFloor:
        return m.floor(args[0]);
      case KOp::kCeil:
        return m.ceil(args[0]);
      case KOp::kRound:
        return m.round(args[0]);
      case KOp::kExp:
        return expand_exp(m, args[0]);
      case KOp::kLog:
        return expand_log(m, args[0]);
      case KOp::kSin:
        return expand_sin(m, args[0]);
      case KOp::kCos:
        return expand_cos(m, args[0]);
      case KOp::kAtan:
        return expand_atan(m, args[0]);
      case KOp::kTanh:
        return expand_tanh(m, args[0]);
      case KOp::kErf:
        return expand_erf(m, args[0]);
      case KOp::kSigmoid:
        return expand_sigmoid(m, args[0]);
      default:
        CAMSHAFT_CHECK(op == KOp::kPow);
        return expand_pow(m, args[0], args[1]);
    }
  }

  const MathSupport support_;
};

}  // namespace

Kernel decompose_math(Kernel kernel, const MathSupport& support) {
  std::vector<Stmt> body = std::move(kernel.body);
  Decomposer(&kernel, support).decompose(body);
  kernel.body = std::move(body);
  return kernel;
}

}  // namespace camshaft::ir
