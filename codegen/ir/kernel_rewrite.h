// SPDX-License-Identifier: MIT
// Tools of the kernel passes: walking and rewriting expressions as the graphs that they are. Shared
// expressions are visited once; nothing recurses, so deep expressions are fine.
#pragma once

#include <vector>

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

// The expressions that `roots` are made of, each once, operands first. kNoExpr roots are skipped.
std::vector<ExprId> reachable_exprs(const Kernel& kernel, const std::vector<ExprId>& roots);

// The expressions that a statement itself holds (not its body), kNoExpr where it has none.
std::vector<ExprId> exprs_of(const Stmt& stmt);

// `node` with operands `args`, made by the kernel's builder, so simplified. If some operands are
// vectors and others scalar where equal types are needed, the scalars are broadcast.
ExprId rebuild_expr(Kernel& kernel, const Expr& node, const ExprId args[3]);

// Rewrites expressions bottom-up. The result of an expression is remembered until forget().
class ExprRewriter {
 public:
  explicit ExprRewriter(Kernel* kernel) : kernel_(kernel) {}
  virtual ~ExprRewriter() = default;
  ExprRewriter(const ExprRewriter&) = delete;
  ExprRewriter& operator=(const ExprRewriter&) = delete;

  ExprId rewrite(ExprId root);
  // Rewrites the expressions that a statement itself holds, in place.
  void rewrite_exprs(Stmt& stmt);
  void forget() { ++epoch_; }

 protected:
  Kernel& kernel() const { return *kernel_; }
  // Whether `id` stays as it is, with all that it is made of.
  virtual bool keeps(ExprId id) const = 0;
  // What replaces an expression whose operands have become `args`.
  virtual ExprId replace(ExprId id, const ExprId args[3]) = 0;

 private:
  struct Entry {
    uint32_t epoch = 0;
    ExprId result = kNoExpr;
  };
  bool find(ExprId id, ExprId* result) const;
  void visit(ExprId id);

  Kernel* kernel_;
  std::vector<Entry> results_;  // by ExprId; valid where the epoch is the present one
  std::vector<ExprId> pending_;
  uint32_t epoch_ = 1;
};

// Replaces variables by expressions.
class Substituter : public ExprRewriter {
 public:
  explicit Substituter(Kernel* kernel) : ExprRewriter(kernel) {}

  // `from` becomes `to` from here on. Nothing that uses `from` may have been rewritten before.
  void map(VarId from, ExprId to);
  // Forgets all variables and results. O(variables mapped).
  void clear();

 protected:
  bool keeps(ExprId id) const override;
  ExprId replace(ExprId id, const ExprId args[3]) override;

 private:
  std::vector<ExprId> to_;  // by VarId; kNoExpr where not mapped
  std::vector<VarId> mapped_;
  uint64_t mapped_bits_ = 0;
};

enum class LetPolicy : uint8_t { kKeep, kInlineIndices };

// A copy of `body` with variables replaced as `substituter` says. Every variable that the body
// defines gets a fresh copy, so that each variable of a kernel stays defined once; a Let whose
// value becomes a constant, a variable or a ramp disappears into its uses. kInlineIndices does so
// for every scalar i64 that reads no memory, for the sake of simpler indices.
std::vector<Stmt> clone_body(Kernel& kernel, const std::vector<Stmt>& body,
                             Substituter& substituter, LetPolicy policy = LetPolicy::kKeep);

}  // namespace camshaft::ir
