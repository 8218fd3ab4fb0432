// SPDX-License-Identifier: MIT
#include "codegen/render/index_width.h"

#include <algorithm>

#include "codegen/ir/kernel_rewrite.h"
#include "codegen/render/walk.h"

namespace camshaft::render {

namespace {

using ir::DType;
using ir::Expr;
using ir::ExprId;
using ir::KOp;

bool makes_mask(KOp op) {
  return op == KOp::kEq || op == KOp::kLt || op == KOp::kLe || op == KOp::kSelect ||
         op == KOp::kMin || op == KOp::kMax;
}

bool fits(const ir::Kernel& kernel, ExprId id) {
  const Expr& e = kernel.expr(id);
  const auto is_i64 = [&](ExprId arg) {
    return arg != ir::kNoExpr && kernel.expr(arg).type.dtype == DType::kInt64;
  };
  const auto has_8_bytes = [&](ExprId arg) {
    return arg != ir::kNoExpr && base::dtype_size_bytes(kernel.expr(arg).type.dtype) == 8;
  };
  if (e.type.lanes > 1 && makes_mask(e.op) && (has_8_bytes(id) || has_8_bytes(e.args[0]))) {
    return false;
  }
  const bool touches_i64 = is_i64(id) || is_i64(e.args[0]);
  if (!touches_i64) return true;
  if (e.op == KOp::kBitcast) return false;
  if (!is_i64(id)) return true;
  int64_t lo = 0;
  int64_t hi = 0;
  kernel.bounds(id, &lo, &hi);
  return e.op != KOp::kLoad && lo >= INT32_MIN && hi <= INT32_MAX;
}

}  // namespace

bool fits_32_bits(const ir::Kernel& kernel) {
  const bool has_i64 =
      std::any_of(kernel.arrays().begin(), kernel.arrays().end(),
                  [](const ir::Array& array) { return array.dtype == DType::kInt64; });
  bool fit = !has_i64;
  StmtOrder order(kernel);
  for_each_stmt(kernel.body, [&](const ir::Stmt& stmt) {
    if (!fit) return;
    for (const ExprId id : order.list(ir::exprs_of(stmt))) {
      fit = fit && fits(kernel, id);
    }
  });
  return fit;
}

}  // namespace camshaft::render
