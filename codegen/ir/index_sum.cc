// SPDX-License-Identifier: MIT
#include "codegen/ir/index_sum.h"

#include <algorithm>

namespace camshaft::ir {
namespace {

bool multiply(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_mul_overflow(a, b, result);
}

ExprId intern_binary(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  Expr node;
  node.op = op;
  node.type = {DType::kInt64, 1};
  node.args[0] = a;
  node.args[1] = b;
  return kernel.intern(node);
}

}  // namespace

void IndexSum::add(const Kernel& kernel, ExprId id, int64_t factor) {
  // Sums lean to the left, so this walks down the left operands and calls itself for right ones
  // only; the terms that fit bound the depth.
  while (fits_) {
    const Expr& e = kernel.expr(id);
    if (e.op == KOp::kIntConst) return add_constant(e.int_value, factor);
    if (e.op == KOp::kAdd) {
      add(kernel, e.args[1], factor);
      id = e.args[0];
      continue;
    }
    int64_t product = 0;
    if (e.op == KOp::kSub && multiply(factor, -1, &product)) {
      add(kernel, e.args[1], product);
      id = e.args[0];
      continue;
    }
    int64_t value = 0;
    if (e.op == KOp::kMul && kernel.is_int_const(e.args[1], &value) &&
        multiply(factor, value, &product)) {
      factor = product;
      id = e.args[0];
      continue;
    }
    return add_term(kernel, id, factor);
  }
}

void IndexSum::add_term(const Kernel& kernel, ExprId atom, int64_t coefficient) {
  if (coefficient == 0) return;
  const auto before = [&](const IndexTerm& term, ExprId id) {
    const VarId a = kernel.newest_var(term.atom);
    const VarId b = kernel.newest_var(id);
    return a != b ? a < b : term.atom < id;
  };
  IndexTerm* const end = terms_.data() + size_;
  IndexTerm* const place = std::lower_bound(terms_.data(), end, atom, before);
  if (place != end && place->atom == atom) {
    if (__builtin_add_overflow(place->coefficient, coefficient, &place->coefficient)) fits_ = false;
    if (place->coefficient == 0) remove_term(static_cast<int>(place - terms_.data()));
  } else if (size_ == kMaxTerms) {
    fits_ = false;
  } else {
    std::move_backward(place, end, end + 1);
    *place = {atom, coefficient};
    ++size_;
  }
}

void IndexSum::add_constant(int64_t value, int64_t factor) {
  int64_t product = 0;
  if (!multiply(value, factor, &product) ||
      __builtin_add_overflow(constant_, product, &constant_)) {
    fits_ = false;
  }
}

void IndexSum::remove_term(int i) {
  std::move(terms_.data() + i + 1, terms_.data() + size_, terms_.data() + i);
  --size_;
}

ExprId IndexSum::build(Kernel& kernel) const {
  CAMSHAFT_CHECK(fits_);
  ExprId sum = kNoExpr;
  for (const IndexTerm& term : terms()) {
    const ExprId product =
        term.coefficient == 1
            ? term.atom
            : intern_binary(kernel, KOp::kMul, term.atom, kernel.int_const(term.coefficient));
    sum = sum == kNoExpr ? product : intern_binary(kernel, KOp::kAdd, sum, product);
  }
  if (sum == kNoExpr) return kernel.int_const(constant_);
  return constant_ == 0 ? sum : intern_binary(kernel, KOp::kAdd, sum, kernel.int_const(constant_));
}

}  // namespace camshaft::ir
