// SPDX-License-Identifier: MIT
#include "codegen/ir/remove_dead_statements.h"

#include <map>
#include <utility>

#include "codegen/ir/kernel_rewrite.h"

namespace camshaft::ir {
namespace {

class Cleaner {
 public:
  explicit Cleaner(const Kernel& kernel)
      : kernel_(kernel),
        seen_(static_cast<size_t>(kernel.expr_count())),
        used_(kernel.vars().size()) {}

  // Backward, so that a Let's uses have been seen before it.
  void remove_unused(std::vector<Stmt>& body) {
    std::vector<Stmt> kept;
    for (auto stmt = body.rbegin(); stmt != body.rend(); ++stmt) {
      remove_unused(stmt->body);
      const bool block = stmt->kind == StmtKind::kFor || stmt->kind == StmtKind::kIf;
      if (block && stmt->body.empty() && stmt->loop != LoopKind::kThread) continue;
      int64_t holds = 1;
      if (stmt->kind == StmtKind::kIf && kernel_.is_int_const(stmt->condition, &holds) &&
          holds == 0) {
        continue;
      }
      if (stmt->kind == StmtKind::kLet && !used_[static_cast<size_t>(stmt->var)]) continue;
      for (const ExprId id : exprs_of(*stmt)) mark(id);
      kept.push_back(std::move(*stmt));
    }
    body.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  }

  void remove_stores(std::vector<Stmt>& body) {
    // The last store to each place that nothing has read since.
    std::map<std::pair<ArrayId, ExprId>, size_t> unread;
    std::vector<bool> dead(body.size());
    for (size_t i = 0; i < body.size(); ++i) {
      Stmt& stmt = body[i];
      remove_stores(stmt.body);
      if (stmt.kind == StmtKind::kPrefetch) continue;
      if (stmt.kind != StmtKind::kLet && stmt.kind != StmtKind::kStore) {
        unread.clear();
        continue;
      }
      dead[i] = stores_itself(stmt);
      if (dead[i]) continue;
      forget_reads(stmt, unread);
      if (stmt.kind == StmtKind::kStore) note_store(body, i, unread, dead);
    }
    size_t next = 0;
    std::erase_if(body, [&](const Stmt&) { return dead[next++]; });
  }

 private:
  using Unread = std::map<std::pair<ArrayId, ExprId>, size_t>;

  void mark(ExprId root) {
    std::vector<ExprId> pending{root};
    while (!pending.empty()) {
      const ExprId id = pending.back();
      pending.pop_back();
      if (id == kNoExpr || seen_[static_cast<size_t>(id)]) continue;
      seen_[static_cast<size_t>(id)] = true;
      const Expr& e = kernel_.expr(id);
      if (e.op == KOp::kVar) used_[static_cast<size_t>(e.int_value)] = true;
      pending.insert(pending.end(), std::begin(e.args), std::end(e.args));
    }
  }

  // store(a, i, load(a, i))
  bool stores_itself(const Stmt& stmt) const {
    if (stmt.kind != StmtKind::kStore) return false;
    const Expr& value = kernel_.expr(stmt.value);
    return value.op == KOp::kLoad && value.array == stmt.array && value.args[0] == stmt.index;
  }

  // One name for arrays that may be the same memory.
  ArrayId memory_of(ArrayId id) const {
    const ArrayId other = kernel_.array(id).may_alias;
    return other >= 0 ? other : id;
  }

  void forget_reads(const Stmt& stmt, Unread& unread) const {
    if (unread.empty()) return;
    bool reads = false;
    for (const ExprId id : exprs_of(stmt)) reads |= id != kNoExpr && kernel_.has_load(id);
    if (!reads) return;
    for (const ExprId id : reachable_exprs(kernel_, exprs_of(stmt))) {
      const Expr& e = kernel_.expr(id);
      if (e.op != KOp::kLoad && e.op != KOp::kTexel) continue;
      const ArrayId array = memory_of(e.array);
      std::erase_if(unread,
                    [&](const auto& entry) { return memory_of(entry.first.first) == array; });
    }
  }

  void note_store(const std::vector<Stmt>& body, size_t i, Unread& unread,
                  std::vector<bool>& dead) const {
    const auto [place, added] = unread.try_emplace({body[i].array, body[i].index}, i);
    if (added) return;
    const Stmt& earlier = body[place->second];
    const bool covers = kernel_.expr(earlier.value).type == kernel_.expr(body[i].value).type;
    if (covers) dead[place->second] = true;
    place->second = i;
  }

  const Kernel& kernel_;
  std::vector<bool> seen_;  // by ExprId: its variables are marked
  std::vector<bool> used_;  // by VarId
};

}  // namespace

Kernel remove_dead_statements(Kernel kernel) {
  std::vector<Stmt> body = std::move(kernel.body);
  Cleaner cleaner(kernel);
  cleaner.remove_stores(body);
  cleaner.remove_unused(body);
  kernel.body = std::move(body);
  return kernel;
}

}  // namespace camshaft::ir
