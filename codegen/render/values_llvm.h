// SPDX-License-Identifier: MIT
// Expressions of a legalised kernel as LLVM values. Included only by files that are left out of
// builds without LLVM.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"
#include "codegen/render/strided.h"
#include "codegen/render/walk.h"

namespace camshaft::render {

// The type of an array's elements.
llvm::Type* memory_type(llvm::LLVMContext& context, ir::DType dtype);

// Builds the values of one kernel at the builder's place, a statement at a time. f16 is half, bf16
// is i16, bool is i1 (in memory i8).
class ValueBuilder {
 public:
  // `arrays` holds a pointer to each of the kernel's arrays.
  ValueBuilder(const ir::Kernel& kernel, const CpuTarget& target, llvm::IRBuilder<>& builder,
               std::vector<llvm::Value*> arrays);

  // Builds what a statement evaluates. Values of the statement before are forgotten, since its
  // loads may be stale.
  void begin_stmt(const std::vector<ir::ExprId>& roots);
  // The value of an expression of the statement begun.
  llvm::Value* value(ir::ExprId id) const { return values_[static_cast<size_t>(id)]; }

  void set_var(ir::VarId var, llvm::Value* value) { vars_[static_cast<size_t>(var)] = value; }
  // Stores lanes at a scalar index, or scatters.
  void store(ir::ArrayId array, ir::ExprId index, ir::ExprId value);
  void prefetch(ir::ArrayId array, ir::ExprId index);
  // Of an element.
  llvm::Value* address(ir::ArrayId array, ir::ExprId index) { return address(array, value(index)); }

  llvm::Type* type_of(ir::ValueType type) const;
  llvm::Type* memory_type_of(ir::ValueType type) const;

 private:
  const ir::Expr& expr(ir::ExprId id) const { return kernel_.expr(id); }
  llvm::Value* arg(const ir::Expr& e, int i) const { return value(e.args[i]); }
  llvm::Value* address(ir::ArrayId array, llvm::Value* index);
  llvm::Value* from_memory(llvm::Value* loaded, ir::ValueType type);

  llvm::Value* build(const ir::Expr& e);
  llvm::Value* build_const(const ir::Expr& e);
  llvm::Value* build_load(const ir::Expr& e);
  llvm::Value* build_strided(const ir::Expr& e, const StridedLoad& load);
  llvm::Value* build_gather(const ir::Expr& e);
  llvm::Value* build_ramp(const ir::Expr& e);
  llvm::Value* build_reduce(const ir::Expr& e);
  llvm::Value* build_arithmetic(const ir::Expr& e);
  llvm::Value* build_compare(ir::KOp op, ir::DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* build_min_max(bool is_max, ir::DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* build_cast(const ir::Expr& e);
  llvm::Value* build_dot(const ir::Expr& e);
  llvm::Value* build_math(const ir::Expr& e);

  const ir::Kernel& kernel_;
  const CpuTarget& target_;
  llvm::IRBuilder<>& builder_;
  StmtOrder order_;
  std::vector<llvm::Value*> arrays_;
  std::vector<llvm::Value*> vars_;
  std::vector<llvm::Value*> values_;  // by ExprId
};

}  // namespace camshaft::render
