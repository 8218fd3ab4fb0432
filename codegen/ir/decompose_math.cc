// SPDX-License-Identifier: MIT
// Which ops are expanded; how is in math_*.cc.
#include <cmath>
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
      if (stmt.kind == StmtKind::kStore) stmt.value = narrow_store(stmt.value);
      rewrite_exprs(stmt);
      decompose(stmt.body);
    }
  }

 protected:
  bool keeps(ExprId) const override { return false; }

  ExprId replace(ExprId id, const ExprId args[3]) override {
    const Expr node = kernel().expr(id);
    const ExprId of_erf = operand_of_one_plus_erf(node);
    if (of_erf != kNoExpr) {
      MathBuilder m(&kernel(), support_, node.type);
      return one_plus_erf(m, by_product(m, of_erf));
    }
    if (!is_supported(node.op)) {
      // Of equal lanes everywhere, for the expansions use no value that is not.
      MathBuilder m(&kernel(), support_, node.type);
      return expand(m, node.op, args);
    }
    const bool same = std::equal(std::begin(node.args), std::end(node.args), args);
    return same ? id : rebuild_expr(kernel(), node, args);
  }

 private:
  // Operations between a function and the store, at most, that are looked through.
  static constexpr int kMostFactors = 8;

  // A value to store that is rounded to bf16, and may become f32 again.
  ExprId narrow_store(ExprId value) {
    const auto is_cast = [&](ExprId id, DType from, DType to) {
      const Expr& expr = kernel().expr(id);
      return expr.op == KOp::kCast && expr.type.dtype == to &&
             kernel().expr(expr.args[0]).type.dtype == from;
    };
    const bool widens = is_cast(value, DType::kBFloat16, DType::kFloat32);
    const ExprId half = widens ? kernel().expr(value).args[0] : value;
    if (is_supported(KOp::kSigmoid) || !is_cast(half, DType::kFloat32, DType::kBFloat16)) {
      return value;
    }
    const ExprId narrowed = narrow(kernel().expr(half).args[0], kMostFactors);
    if (widens && !support_.rounds_wide) return narrowed;
    const ExprId rounded = kernel().cast(narrowed, DType::kBFloat16);
    return widens ? kernel().cast(rounded, DType::kFloat32) : rounded;
  }

  // `id`, in f32, as exact as bf16. An operation whose result is relatively as exact as its
  // operands passes that on to them; any other is as exact as it always is.
  ExprId narrow(ExprId id, int depth) {
    const Expr node = kernel().expr(id);
    MathBuilder m(&kernel(), support_, node.type);
    if (node.op == KOp::kSigmoid) return narrow_sigmoid(m, rewrite(node.args[0]));
    const ExprId x = silu_operand(node);
    if (x != kNoExpr) return narrow_silu(m, rewrite(x));
    if (depth == 0 || !passes_on(node.op)) return rewrite(id);
    ExprId args[3] = {kNoExpr, kNoExpr, kNoExpr};
    for (int i = 0; i < kop_arity(node.op); ++i) {
      const bool is_factor = kernel().expr(node.args[i]).type.dtype == DType::kFloat32;
      args[i] = is_factor ? narrow(node.args[i], depth - 1) : rewrite(node.args[i]);
    }
    return rebuild_expr(kernel(), node, args);
  }

  // x, of x * sigmoid(x).
  ExprId silu_operand(const Expr& node) const {
    if (node.op != KOp::kMul) return kNoExpr;
    for (const auto [x, factor] :
         {std::pair{node.args[0], node.args[1]}, std::pair{node.args[1], node.args[0]}}) {
      const Expr& sigmoid = kernel().expr(factor);
      if (sigmoid.op == KOp::kSigmoid && sigmoid.args[0] == x) return x;
    }
    return kNoExpr;
  }

  // x, of 1 + erf(x) in f32, as GELU has it.
  ExprId operand_of_one_plus_erf(const Expr& node) const {
    const bool is_sum = node.op == KOp::kAdd && node.type.dtype == DType::kFloat32;
    if (!is_sum || is_supported(KOp::kErf)) return kNoExpr;
    for (const auto [one, other] :
         {std::pair{node.args[0], node.args[1]}, std::pair{node.args[1], node.args[0]}}) {
      const Expr& erf = kernel().expr(other);
      if (erf.op == KOp::kErf && constant(one) == 1) return erf.args[0];
    }
    return kNoExpr;
  }

  // The constant that all lanes are, or NaN.
  double constant(ExprId id) const {
    const Expr& expr = kernel().expr(id);
    if (expr.op == KOp::kBroadcast) return constant(expr.args[0]);
    return expr.op == KOp::kFloatConst ? expr.float_value : std::nan("");
  }

  // A quotient by a constant as a product, which is as exact as erf's operand need be.
  ExprId by_product(MathBuilder& m, ExprId id) {
    const Expr node = kernel().expr(id);
    const double divisor = node.op == KOp::kDiv ? constant(node.args[1]) : 0;
    const bool is_moderate = std::fabs(divisor) > 1e-30 && std::fabs(divisor) < 1e30;
    if (!is_moderate) return rewrite(id);
    return m.mul(rewrite(node.args[0]), m.real(1 / divisor));
  }

  static bool passes_on(KOp op) {
    return op == KOp::kMul || op == KOp::kNeg || op == KOp::kAbs || op == KOp::kSelect ||
           op == KOp::kBroadcast;
  }

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
