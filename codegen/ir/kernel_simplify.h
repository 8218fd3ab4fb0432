// SPDX-License-Identifier: MIT
// The rules that Kernel::binary applies before it makes a new expression.
#pragma once

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

// Something equal to `op(a, b)` and simpler or more canonical, or kNoExpr where no rule applies.
// The operands have equal types.
ExprId simplify_binary(Kernel& kernel, KOp op, ExprId a, ExprId b);

// The same for scalar i64, where sums are canonical and div and mod use bounds (kernel_index.cc).
ExprId simplify_index(Kernel& kernel, KOp op, ExprId a, ExprId b);

// The constant that all lanes of `id` are, or null: a constant or a broadcast of one. The pointer
// lives until the next expression is made.
const Expr* constant_of(const Kernel& kernel, ExprId id);

}  // namespace camshaft::ir
