// SPDX-License-Identifier: MIT
// Rules for scalar i64: canonical sums, and div and mod through the bounds of their operands.
#include <algorithm>
#include <numeric>

#include "codegen/ir/index_sum.h"
#include "codegen/ir/kernel_facts.h"
#include "codegen/ir/kernel_simplify.h"

namespace camshaft::ir {
namespace {

Interval bounds_of(const Kernel& kernel, ExprId id) {
  Interval result;
  kernel.bounds(id, &result.lo, &result.hi);
  return result;
}

ExprId bool_const(Kernel& kernel, bool value) {
  return kernel.int_const(value, DType::kBool);
}

// Joins f*c * (x / c) + f * (x % c) into f * x. Returns whether it found such a pair.
bool join_quotient(Kernel& kernel, IndexSum& sum) {
  for (int i = 0; i < static_cast<int>(sum.terms().size()); ++i) {
    const IndexTerm rest = sum.terms()[static_cast<size_t>(i)];
    const Expr rem = kernel.expr(rest.atom);
    int64_t divisor = 0, whole = 0;
    if (rem.op != KOp::kRem || !kernel.is_int_const(rem.args[1], &divisor) || divisor <= 0 ||
        __builtin_mul_overflow(rest.coefficient, divisor, &whole)) {
      continue;
    }
    // The quotient may have become something simpler than a division, with a factor.
    const IndexSum quotient(kernel, kernel.div(rem.args[0], divisor), whole);
    if (!quotient.fits() || quotient.constant() != 0 || quotient.terms().size() != 1) continue;
    for (int j = 0; j < static_cast<int>(sum.terms().size()); ++j) {
      const IndexTerm other = sum.terms()[static_cast<size_t>(j)];
      if (other.atom != quotient.terms()[0].atom ||
          other.coefficient != quotient.terms()[0].coefficient) {
        continue;
      }
      sum.remove_term(std::max(i, j));
      sum.remove_term(std::min(i, j));
      sum.add(kernel, rem.args[0], rest.coefficient);
      return true;
    }
  }
  return false;
}

ExprId simplify_sum(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  IndexSum sum(kernel, a);
  sum.add(kernel, b, op == KOp::kAdd ? 1 : -1);
  while (sum.fits() && sum.terms().size() > 1 && join_quotient(kernel, sum)) {
  }
  return sum.fits() ? sum.build(kernel) : kNoExpr;
}

ExprId simplify_product(Kernel& kernel, ExprId a, ExprId b) {
  int64_t factor = 0;
  if (!kernel.is_int_const(b, &factor)) {
    return kernel.is_int_const(a) || a > b ? kernel.mul(b, a) : kNoExpr;
  }
  const IndexSum sum(kernel, a, factor);
  return sum.fits() ? sum.build(kernel) : kNoExpr;
}

// A sum as divisor * quotient + rest with 0 <= rest, where the bounds show that. Division and
// remainder use the same split, so that they are taken of the same rest.
struct DivisorSplit {
  ExprId quotient = kNoExpr;
  ExprId rest = kNoExpr;  // kNoExpr: there is no such split, or quotient would be 0
};

DivisorSplit split_by_divisor(Kernel& kernel, const IndexSum& sum, int64_t divisor) {
  // At first with coefficients below the divisor in the rest; if that lets the rest be negative,
  // with all terms in it that are no multiples.
  for (const bool reduces : {true, false}) {
    IndexSum quotient, rest;
    for (const IndexTerm& term : sum.terms()) {
      const bool splits = term.coefficient % divisor == 0 || (reduces && term.coefficient > 0);
      quotient.add_term(kernel, term.atom, splits ? term.coefficient / divisor : 0);
      rest.add_term(kernel, term.atom, splits ? term.coefficient % divisor : term.coefficient);
    }
    quotient.add_constant(floor_div(sum.constant(), divisor));
    rest.add_constant(floor_mod(sum.constant(), divisor));
    if (quotient.terms().empty() && quotient.constant() == 0) return {};
    const ExprId rest_id = rest.build(kernel);
    if (bounds_of(kernel, rest_id).lo >= 0) return {quotient.build(kernel), rest_id};
  }
  return {};
}

// A sum as unit * multiple + rest, where 0 <= rest < unit and unit divides a given divisor.
struct UnitSplit {
  int64_t unit = 1;  // 1: there is no such split
  ExprId multiple = kNoExpr;
  ExprId rest = kNoExpr;
};

UnitSplit split_by_unit(Kernel& kernel, const IndexSum& sum, int64_t divisor) {
  UnitSplit best;
  for (const IndexTerm& candidate : sum.terms()) {
    const int64_t unit = std::gcd(candidate.coefficient, divisor);
    if (unit <= best.unit) continue;
    IndexSum multiple, rest;
    for (const IndexTerm& term : sum.terms()) {
      if (term.coefficient % unit == 0) {
        multiple.add_term(kernel, term.atom, term.coefficient / unit);
      } else {
        rest.add_term(kernel, term.atom, term.coefficient);
      }
    }
    multiple.add_constant(floor_div(sum.constant(), unit));
    rest.add_constant(floor_mod(sum.constant(), unit));
    const ExprId rest_id = rest.build(kernel);
    const Interval range = bounds_of(kernel, rest_id);
    if (range.lo >= 0 && range.hi < unit) best = {unit, multiple.build(kernel), rest_id};
  }
  return best;
}

// (q + r / c) / divisor as (c * q + r) / (c * divisor), for the first such r >= 0. sum >= 0.
ExprId divide_once(Kernel& kernel, const IndexSum& sum, int64_t divisor) {
  for (const IndexTerm& term : sum.terms()) {
    const Expr e = kernel.expr(term.atom);
    int64_t inner = 0, product = 0;
    if (term.coefficient != 1 || e.op != KOp::kDiv || !kernel.is_int_const(e.args[1], &inner) ||
        inner <= 0 || __builtin_mul_overflow(inner, divisor, &product) ||
        bounds_of(kernel, e.args[0]).lo < 0) {
      continue;
    }
    IndexSum numerator(kernel, e.args[0]);
    for (const IndexTerm& other : sum.terms()) {
      if (other.atom == term.atom) continue;
      int64_t scaled = 0;
      if (__builtin_mul_overflow(other.coefficient, inner, &scaled)) return kNoExpr;
      numerator.add_term(kernel, other.atom, scaled);
    }
    numerator.add_constant(sum.constant(), inner);
    if (!numerator.fits()) return kNoExpr;
    const ExprId whole = numerator.build(kernel);
    const Interval range = bounds_of(kernel, whole);
    return range.lo < 0 || range.hi == INT64_MAX ? kNoExpr : kernel.div(whole, product);
  }
  return kNoExpr;
}

ExprId simplify_quotient(Kernel& kernel, ExprId a, int64_t divisor) {
  if (divisor == 1) return a;
  const Interval range = bounds_of(kernel, a);
  if (range.lo > -divisor && range.hi < divisor) return kernel.int_const(0);
  const Expr e = kernel.expr(a);
  int64_t inner = 0, product = 0;
  if (e.op == KOp::kDiv && kernel.is_int_const(e.args[1], &inner) && inner > 0 &&
      !__builtin_mul_overflow(inner, divisor, &product)) {
    return kernel.div(e.args[0], product);
  }
  // What follows rounds down, which is truncation from 0 up only. No bound may have overflowed.
  if (range.lo < 0 || range.hi == INT64_MAX) return kNoExpr;
  const IndexSum sum(kernel, a);
  if (!sum.fits()) return kNoExpr;
  if (const ExprId once = divide_once(kernel, sum, divisor); once != kNoExpr) return once;
  if (const DivisorSplit split = split_by_divisor(kernel, sum, divisor); split.rest != kNoExpr) {
    return kernel.add(split.quotient, kernel.div(split.rest, divisor));
  }
  const UnitSplit split = split_by_unit(kernel, sum, divisor);
  return split.unit == 1 ? kNoExpr : kernel.div(split.multiple, divisor / split.unit);
}

ExprId simplify_remainder(Kernel& kernel, ExprId a, int64_t divisor) {
  const Interval range = bounds_of(kernel, a);
  if (range.lo > -divisor && range.hi < divisor) return a;
  const Expr e = kernel.expr(a);
  int64_t inner = 0;
  if (e.op == KOp::kRem && kernel.is_int_const(e.args[1], &inner) && inner > 0 &&
      inner % divisor == 0) {
    return kernel.mod(e.args[0], divisor);
  }
  if (range.lo < 0 || range.hi == INT64_MAX) return kNoExpr;
  const IndexSum sum(kernel, a);
  if (!sum.fits()) return kNoExpr;
  if (const DivisorSplit split = split_by_divisor(kernel, sum, divisor); split.rest != kNoExpr) {
    return kernel.mod(split.rest, divisor);
  }
  const UnitSplit split = split_by_unit(kernel, sum, divisor);
  if (split.unit == 1) return kNoExpr;
  const ExprId units = kernel.mod(split.multiple, divisor / split.unit);
  return kernel.add(kernel.mul(units, split.unit), split.rest);
}

// Comparisons, min and max of which the bounds of a - b already decide the result.
ExprId decide_by_difference(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  const Interval left = bounds_of(kernel, a);
  const Interval right = bounds_of(kernel, b);
  const Interval unknown;
  if (left.lo == unknown.lo || left.hi == unknown.hi || right.lo == unknown.lo ||
      right.hi == unknown.hi) {
    return kNoExpr;  // a - b may wrap
  }
  const Interval difference = bounds_of(kernel, kernel.sub(a, b));
  switch (op) {
    case KOp::kMin:
      return difference.hi <= 0 ? a : difference.lo >= 0 ? b : kNoExpr;
    case KOp::kMax:
      return difference.lo >= 0 ? a : difference.hi <= 0 ? b : kNoExpr;
    case KOp::kLt:
      if (difference.hi < 0 || difference.lo >= 0) return bool_const(kernel, difference.hi < 0);
      return kNoExpr;
    case KOp::kLe:
      if (difference.hi <= 0 || difference.lo > 0) return bool_const(kernel, difference.hi <= 0);
      return kNoExpr;
    default:
      return difference.lo > 0 || difference.hi < 0 ? bool_const(kernel, false) : kNoExpr;
  }
}

ExprId put_constant_last(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  const bool left_const = kernel.is_int_const(a);
  const bool swaps = left_const != kernel.is_int_const(b) ? left_const : a > b;
  return swaps ? kernel.binary(op, b, a) : kNoExpr;
}

ExprId simplify_bits(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  int64_t value = 0;
  const bool known = kernel.is_int_const(b, &value);
  if (known && value == 0) return op == KOp::kAnd ? b : a;
  if (known && value == -1 && op == KOp::kAnd) return a;
  if (op == KOp::kShl || op == KOp::kShr) return kNoExpr;
  return put_constant_last(kernel, op, a, b);
}

}  // namespace

ExprId simplify_index(Kernel& kernel, KOp op, ExprId a, ExprId b) {
  int64_t divisor = 0;
  switch (op) {
    case KOp::kAdd:
    case KOp::kSub:
      return simplify_sum(kernel, op, a, b);
    case KOp::kMul:
      return simplify_product(kernel, a, b);
    case KOp::kDiv:
    case KOp::kRem:
      if (!kernel.is_int_const(b, &divisor) || divisor <= 0) return kNoExpr;
      return op == KOp::kDiv ? simplify_quotient(kernel, a, divisor)
                             : simplify_remainder(kernel, a, divisor);
    case KOp::kMin:
    case KOp::kMax:
    case KOp::kLt:
    case KOp::kLe:
      return decide_by_difference(kernel, op, a, b);
    case KOp::kEq: {
      const ExprId decided = decide_by_difference(kernel, op, a, b);
      return decided != kNoExpr ? decided : put_constant_last(kernel, op, a, b);
    }
    default:
      return simplify_bits(kernel, op, a, b);
  }
}

}  // namespace camshaft::ir
