// SPDX-License-Identifier: MIT
// The expressions of a kernel's text; the grammar is at the top of kernel_parse.cc.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_syntax.h"
#include "codegen/ir/kernel_tokens.h"

namespace camshaft::ir {

// The parsers recurse into statements and parentheses no deeper than this.
inline constexpr int kMaxNesting = 200;

// What names stand for at one place of the text.
struct KernelScope {
  std::map<std::string, ArrayId, std::less<>> arrays;
  std::map<std::string, VarId, std::less<>> vars;
  std::map<std::string, ExprId, std::less<>> aliases;  // "$3"
};

// Borrows all three; the owner changes them between expressions.
class ExprParser {
 public:
  ExprParser(TokenReader* tokens, Kernel* kernel, const KernelScope* scope)
      : tokens_(*tokens), kernel_(*kernel), scope_(*scope) {}

  // An expression of operators that bind at least as tightly as `binding`; kNoExpr if it fails.
  ExprId parse(int binding = 0);
  ArrayId find_array(std::string_view name);  // or fails

 private:
  const InfixOp* next_infix() const;
  ExprId parse_operand();
  ExprId parse_var(const std::string& name);
  ExprId parse_number(bool negative);
  ExprId float_number(const std::string& digits, DType dtype);
  ExprId int_number(const std::string& digits, DType dtype);
  ExprId parse_call(const std::string& name);
  ExprId parse_load();
  ExprId parse_texel();
  ExprId parse_op_call(const std::string& name);
  // The operands are there: derives the type, reading what they do not say.
  ExprId finish_call(Expr call);
  ExprId node(KOp op, std::pair<ExprId, ExprId> operands, bool compares);
  ExprId checked(const Expr& e);

  TokenReader& tokens_;
  Kernel& kernel_;
  const KernelScope& scope_;
  int nesting_ = 0;
};

}  // namespace camshaft::ir
