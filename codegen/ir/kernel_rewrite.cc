// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_rewrite.h"

#include <algorithm>
#include <utility>

namespace camshaft::ir {

std::vector<ExprId> reachable_exprs(const Kernel& kernel, const std::vector<ExprId>& roots) {
  // Operands have smaller ids than their users: marking downward from the largest id sees every
  // user before its operands, and ascending order is operands first.
  std::vector<ExprId> found;
  std::vector<ExprId> pending;
  std::vector<bool> seen(static_cast<size_t>(kernel.expr_count()));
  const auto push = [&](ExprId id) {
    if (id == kNoExpr || seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    pending.push_back(id);
  };
  for (const ExprId root : roots) push(root);
  while (!pending.empty()) {
    const ExprId id = pending.back();
    pending.pop_back();
    found.push_back(id);
    for (const ExprId arg : kernel.expr(id).args) push(arg);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<ExprId> exprs_of(const Stmt& stmt) {
  return {stmt.begin, stmt.end, stmt.condition, stmt.index, stmt.row, stmt.value};
}

ExprId rebuild_expr(Kernel& kernel, const Expr& node, const ExprId args[3]) {
  const int arity = kop_arity(node.op);
  ExprId a[3] = {args[0], args[1], args[2]};
  switch (node.op) {
    case KOp::kIntConst:
    case KOp::kFloatConst:
    case KOp::kVar:
      return kernel.intern(node);
    case KOp::kLoad:
      return kernel.load(node.array, a[0], node.type.lanes);
    case KOp::kTexel:
      return kernel.texel(node.array, a[0], a[1], a[2]);
    case KOp::kBroadcast:
      return kernel.broadcast(a[0], node.type.lanes);
    case KOp::kRamp:
      return kernel.ramp(a[0], a[1], node.type.lanes);
    case KOp::kCast:
      return kernel.cast(a[0], node.type.dtype);
    case KOp::kBitcast:
      return kernel.bitcast(a[0], node.type.dtype);
    default:
      break;
  }
  int32_t lanes = 1;
  for (int i = 0; i < arity; ++i) lanes = std::max(lanes, kernel.expr(a[i]).type.lanes);
  for (int i = 0; i < arity; ++i) {
    if (kernel.expr(a[i]).type.lanes == 1) a[i] = kernel.broadcast(a[i], lanes);
  }
  if (node.op == KOp::kFma) return kernel.fma(a[0], a[1], a[2]);
  if (node.op == KOp::kDot) return kernel.dot(a[0], a[1], a[2]);
  if (node.op == KOp::kSelect) return kernel.select(a[0], a[1], a[2]);
  return arity == 1 ? kernel.unary(node.op, a[0]) : kernel.binary(node.op, a[0], a[1]);
}

bool ExprRewriter::find(ExprId id, ExprId* result) const {
  if (keeps(id)) {
    *result = id;
    return true;
  }
  const auto i = static_cast<size_t>(id);
  if (i >= results_.size() || results_[i].epoch != epoch_) return false;
  *result = results_[i].result;
  return true;
}

// Replaces `id` if its operands are done, or else puts them before it.
void ExprRewriter::visit(ExprId id) {
  const Expr node = kernel_->expr(id);
  ExprId args[3] = {kNoExpr, kNoExpr, kNoExpr};
  bool ready = true;
  for (int i = 0; i < kop_arity(node.op); ++i) {
    if (find(node.args[i], &args[i])) continue;
    pending_.push_back(node.args[i]);
    ready = false;
  }
  if (!ready) return;
  const ExprId result = replace(id, args);
  const auto slot = static_cast<size_t>(id);
  if (slot >= results_.size()) results_.resize(static_cast<size_t>(kernel_->expr_count()));
  results_[slot] = {epoch_, result};
}

ExprId ExprRewriter::rewrite(ExprId root) {
  ExprId result = kNoExpr;
  if (root == kNoExpr || find(root, &result)) return root == kNoExpr ? kNoExpr : result;
  pending_.assign(1, root);
  while (!pending_.empty()) {
    const ExprId id = pending_.back();
    if (find(id, &result)) {
      pending_.pop_back();
    } else {
      visit(id);
    }
  }
  const bool found = find(root, &result);
  CAMSHAFT_CHECK(found);
  return result;
}

void ExprRewriter::rewrite_exprs(Stmt& stmt) {
  for (ExprId* id :
       {&stmt.begin, &stmt.end, &stmt.condition, &stmt.index, &stmt.row, &stmt.value}) {
    *id = rewrite(*id);
  }
}

void Substituter::map(VarId from, ExprId to) {
  if (static_cast<size_t>(from) >= to_.size()) to_.resize(kernel().vars().size(), kNoExpr);
  to_[static_cast<size_t>(from)] = to;
  mapped_.push_back(from);
  mapped_bits_ |= Kernel::var_bit(from);
}

void Substituter::clear() {
  for (const VarId id : mapped_) to_[static_cast<size_t>(id)] = kNoExpr;
  mapped_.clear();
  mapped_bits_ = 0;
  forget();
}

bool Substituter::keeps(ExprId id) const {
  return (kernel().var_bits(id) & mapped_bits_) == 0;
}

ExprId Substituter::replace(ExprId id, const ExprId args[3]) {
  const Expr node = kernel().expr(id);
  if (node.op == KOp::kVar) {
    const auto var = static_cast<size_t>(node.int_value);
    return var < to_.size() && to_[var] != kNoExpr ? to_[var] : id;
  }
  if (std::equal(std::begin(node.args), std::end(node.args), args)) return id;
  return rebuild_expr(kernel(), node, args);
}

namespace {

// Whether a Let of this value may disappear into its uses for nothing.
bool is_leaf(const Kernel& kernel, ExprId id) {
  const Expr& e = kernel.expr(id);
  if (e.op == KOp::kBroadcast) return is_leaf(kernel, e.args[0]);
  if (e.op == KOp::kRamp) return !kernel.has_load(id);
  return e.op == KOp::kIntConst || e.op == KOp::kFloatConst || e.op == KOp::kVar;
}

Stmt without_body(const Stmt& stmt) {
  Stmt copy;
  copy.kind = stmt.kind;
  copy.loop = stmt.loop;
  copy.var = stmt.var;
  copy.begin = stmt.begin;
  copy.end = stmt.end;
  copy.condition = stmt.condition;
  copy.array = stmt.array;
  copy.index = stmt.index;
  copy.row = stmt.row;
  copy.value = stmt.value;
  copy.matrix = stmt.matrix;
  return copy;
}

bool is_index(const Kernel& kernel, ExprId id) {
  return kernel.expr(id).type == ValueType{DType::kInt64, 1} && !kernel.has_load(id);
}

}  // namespace

std::vector<Stmt> clone_body(Kernel& kernel, const std::vector<Stmt>& body,
                             Substituter& substituter, LetPolicy policy) {
  std::vector<Stmt> result;
  result.reserve(body.size());
  for (const Stmt& original : body) {
    Stmt copy = without_body(original);
    substituter.rewrite_exprs(copy);
    if (copy.kind == StmtKind::kLet) {
      if (is_leaf(kernel, copy.value) ||
          (policy == LetPolicy::kInlineIndices && is_index(kernel, copy.value))) {
        substituter.map(original.var, copy.value);
        continue;
      }
      const std::string name = kernel.var_info(original.var).name;
      copy.var = kernel.add_let_var(name, copy.value);
      substituter.map(original.var, kernel.var(copy.var));
    } else if (copy.kind == StmtKind::kFor) {
      const Var info = kernel.var_info(original.var);
      copy.var = kernel.add_loop_var(info.name, info.lo, info.hi);
      substituter.map(original.var, kernel.var(copy.var));
    }
    copy.body = clone_body(kernel, original.body, substituter, policy);
    result.push_back(std::move(copy));
  }
  return result;
}

}  // namespace camshaft::ir
