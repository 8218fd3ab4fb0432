// SPDX-License-Identifier: MIT
// The canonical form of scalar i64 expressions: a sum of coefficient * atom, plus a constant. An
// atom is any expression that is not itself a sum or a multiple.
#pragma once

#include <array>
#include <span>

#include "codegen/ir/kernel.h"

namespace camshaft::ir {

struct IndexTerm {
  ExprId atom = kNoExpr;
  int64_t coefficient = 0;
};

class IndexSum {
 public:
  static constexpr int kMaxTerms = 32;

  IndexSum() = default;
  // What `id` is a sum of, times `factor`. If that has too many terms, or a number overflows,
  // fits() is false and nothing else holds.
  IndexSum(const Kernel& kernel, ExprId id, int64_t factor = 1) { add(kernel, id, factor); }

  void add(const Kernel& kernel, ExprId id, int64_t factor);
  void add_term(const Kernel& kernel, ExprId atom, int64_t coefficient);
  void add_constant(int64_t value, int64_t factor = 1);
  void remove_term(int i);

  bool fits() const { return fits_; }
  int64_t constant() const { return constant_; }
  // In order: variables made first come first, so that what an outer loop fixes is summed first.
  std::span<const IndexTerm> terms() const { return {terms_.data(), static_cast<size_t>(size_)}; }

  // The expression: ((t0 + t1) + t2) + constant.
  ExprId build(Kernel& kernel) const;

 private:
  std::array<IndexTerm, kMaxTerms> terms_;
  int size_ = 0;
  int64_t constant_ = 0;
  bool fits_ = true;
};

// Division rounded down, and its remainder, in [0, divisor). `divisor` > 0.
constexpr int64_t floor_div(int64_t a, int64_t divisor) {
  return a / divisor - (a % divisor < 0 ? 1 : 0);
}
constexpr int64_t floor_mod(int64_t a, int64_t divisor) {
  return a - floor_div(a, divisor) * divisor;
}

}  // namespace camshaft::ir
