// SPDX-License-Identifier: MIT
#include "codegen/render/walk.h"

#include <algorithm>

namespace camshaft::render {

namespace {

using ir::Expr;
using ir::ExprId;
using ir::Kernel;
using ir::KOp;
using ir::Stmt;

constexpr int64_t kLargestMultiple = kArrayAlignment;

int64_t power_of_two_in(int64_t value) {
  if (value == 0) return kLargestMultiple;
  return std::min<int64_t>(kLargestMultiple, value & -value);
}

// A power of two, at most kLargestMultiple, that divides the scalar index in every execution.
int64_t index_multiple(const Kernel& kernel, ExprId index) {
  const Expr& expr = kernel.expr(index);
  switch (expr.op) {
    case KOp::kIntConst:
      return power_of_two_in(expr.int_value);
    case KOp::kAdd:
    case KOp::kSub:
      return std::min(index_multiple(kernel, expr.args[0]), index_multiple(kernel, expr.args[1]));
    case KOp::kMul:
      return std::min(kLargestMultiple,
                      index_multiple(kernel, expr.args[0]) * index_multiple(kernel, expr.args[1]));
    default:
      return 1;
  }
}

}  // namespace

void for_each_stmt(const std::vector<Stmt>& body, const std::function<void(const Stmt&)>& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    for_each_stmt(stmt.body, visit);
  }
}

bool has_thread_loop(const Kernel& kernel) {
  return std::any_of(kernel.body.begin(), kernel.body.end(), [](const Stmt& stmt) {
    return stmt.kind == ir::StmtKind::kFor && stmt.loop == ir::LoopKind::kThread;
  });
}

const std::vector<ExprId>& StmtOrder::list(const std::vector<ExprId>& roots) {
  stamps_.resize(static_cast<size_t>(kernel_.expr_count()));
  ++stamp_;
  order_.clear();
  const auto push = [&](ExprId id) {
    if (id == ir::kNoExpr || stamps_[static_cast<size_t>(id)] == stamp_) return;
    stamps_[static_cast<size_t>(id)] = stamp_;
    order_.push_back(id);
  };
  for (const ExprId root : roots) push(root);
  for (size_t i = 0; i < order_.size(); ++i) {
    const Expr& expr = kernel_.expr(order_[i]);
    for (const ExprId arg : expr.args) push(arg);
  }
  // An operand's id is smaller than its user's.
  std::sort(order_.begin(), order_.end());
  return order_;
}

int64_t access_alignment(const Kernel& kernel, ExprId index, ir::ValueType type) {
  const int64_t element = base::dtype_size_bytes(type.dtype);
  return std::min({element * index_multiple(kernel, index), element * type.lanes, kArrayAlignment});
}

}  // namespace camshaft::render
