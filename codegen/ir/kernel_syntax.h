// SPDX-License-Identifier: MIT
// What the printer and the parser of kernels must agree on.
#pragma once

#include <string>
#include <string_view>

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

struct InfixOp {
  KOp op;
  const char* symbol;
  int binding;  // higher binds tighter; all lean to the left
};
inline constexpr InfixOp kInfixOps[] = {
    {KOp::kOr, "|", 1},  {KOp::kXor, "^", 2},  {KOp::kAnd, "&", 3},  {KOp::kEq, "==", 4},
    {KOp::kLe, "<=", 4}, {KOp::kShl, "<<", 5}, {KOp::kShr, ">>", 5}, {KOp::kLt, "<", 4},
    {KOp::kAdd, "+", 6}, {KOp::kSub, "-", 6},  {KOp::kMul, "*", 7},  {KOp::kDiv, "/", 7},
    {KOp::kRem, "%", 7},
};

constexpr const InfixOp* infix_of(KOp op) {
  for (const InfixOp& infix : kInfixOps) {
    if (infix.op == op) return &infix;
  }
  return nullptr;
}

inline constexpr const char* kLoopKindNames[] = {"serial", "unrolled", "vector", "thread", "item"};
constexpr const char* loop_kind_name(LoopKind kind) {
  return kLoopKindNames[static_cast<int>(kind)];
}

inline constexpr const char* kMatrixOpNames[] = {"clear_matrix", "load_matrix", "store_matrix",
                                                 "multiply_matrices"};

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_name_char(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Words that an expression or a statement may start with and that are no names.
constexpr bool is_reserved_word(std::string_view word) {
  for (const char* reserved :
       {"true", "false", "inf", "nan", "inf_f64", "nan_f64", "for", "if", "let", "store", "barrier",
        "prefetch", "param", "local", "shared", "matrix", "store_texel"}) {
    if (word == reserved) return true;
  }
  for (const char* op : kMatrixOpNames) {
    if (word == op) return true;
  }
  return false;
}

// "f32", "i64x8".
inline std::string type_text(ValueType type) {
  std::string text = base::dtype_name(type.dtype);
  return type.lanes == 1 ? text : text + "x" + std::to_string(type.lanes);
}

// The range that the bounds of a loop imply for its variable, where none is written.
struct LoopRange {
  int64_t lo = INT64_MIN;
  int64_t hi = INT64_MAX;
};
inline LoopRange loop_range(const Kernel& kernel, ExprId begin, ExprId end) {
  LoopRange range;
  int64_t unused = 0;
  kernel.bounds(begin, &range.lo, &unused);
  kernel.bounds(end, &unused, &range.hi);
  if (range.hi != INT64_MAX) --range.hi;
  return range;
}

}  // namespace camshaft::ir
