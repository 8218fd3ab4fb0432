// SPDX-License-Identifier: MIT
// The simplifier against brute force: random expressions, evaluated by their definition beside what
// the builder made of them, over the whole range of their variables.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_rewrite.h"
#include "codegen/ir/kernel_scalar.h"

using namespace camshaft::ir;

namespace {

// A random expression as it was asked for.
struct Tree {
  KOp op = KOp::kIntConst;
  int64_t value = 0;  // a constant, or the number of a variable
  std::vector<Tree> operands;
};

class TreeMaker {
 public:
  TreeMaker(uint32_t seed, int variables) : random_(seed), variables_(variables) {}

  Tree make(int depth) {
    if (depth == 0 || pick(5) == 0) {
      if (pick(3) == 0) return {KOp::kIntConst, pick(41) - 12, {}};
      return {KOp::kVar, pick(variables_), {}};
    }
    const KOp ops[] = {KOp::kAdd, KOp::kAdd, KOp::kSub, KOp::kMul,    KOp::kDiv,
                       KOp::kRem, KOp::kMin, KOp::kMax, KOp::kSelect, KOp::kAnd,
                       KOp::kOr,  KOp::kXor, KOp::kShl, KOp::kShr};
    Tree tree{ops[pick(static_cast<int64_t>(std::size(ops)))], 0, {make(depth - 1)}};
    if (tree.op == KOp::kSelect) {
      Tree condition{pick(2) == 0   ? KOp::kLt
                     : pick(2) == 0 ? KOp::kLe
                                    : KOp::kEq,
                     0,
                     {make(depth - 1), make(depth - 1)}};
      return {KOp::kSelect, 0, {std::move(condition), make(depth - 1), make(depth - 1)}};
    }
    const bool constant = tree.op == KOp::kDiv || tree.op == KOp::kRem || tree.op == KOp::kMul;
    const bool shift = tree.op == KOp::kShl || tree.op == KOp::kShr;
    if (constant) {
      const int64_t nice[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 5};
      tree.operands.push_back({KOp::kIntConst, nice[pick(10)], {}});
    } else if (shift) {
      tree.operands.push_back({KOp::kIntConst, pick(5), {}});
    } else {
      tree.operands.push_back(make(depth - 1));
    }
    return tree;
  }
  int64_t pick(int64_t count) { return static_cast<int64_t>(random_()) % count; }

 private:
  std::mt19937 random_;
  int64_t variables_;
};

ExprId build(Kernel& kernel, const Tree& tree, const std::vector<VarId>& variables) {
  if (tree.op == KOp::kIntConst) return kernel.int_const(tree.value);
  if (tree.op == KOp::kVar) return kernel.var(variables[static_cast<size_t>(tree.value)]);
  std::vector<ExprId> operands;
  for (const Tree& operand : tree.operands) operands.push_back(build(kernel, operand, variables));
  if (tree.op == KOp::kSelect) return kernel.select(operands[0], operands[1], operands[2]);
  return kernel.binary(tree.op, operands[0], operands[1]);
}

int64_t by_definition(const Tree& tree, const std::vector<int64_t>& values) {
  if (tree.op == KOp::kIntConst) return tree.value;
  if (tree.op == KOp::kVar) return values[static_cast<size_t>(tree.value)];
  LaneBits args[3] = {};
  for (size_t i = 0; i < tree.operands.size(); ++i) {
    args[i] = static_cast<LaneBits>(by_definition(tree.operands[i], values));
  }
  return static_cast<int64_t>(evaluate_op(tree.op, DType::kInt64, args[0], args[1], args[2]));
}

// What the builder made, computed operands first.
class Evaluator {
 public:
  Evaluator(const Kernel& kernel, ExprId root)
      : kernel_(kernel),
        order_(reachable_exprs(kernel, {root})),
        results_(static_cast<size_t>(kernel.expr_count())) {}

  int64_t operator()(const std::vector<int64_t>& values) {
    for (const ExprId id : order_) {
      const Expr& e = kernel_.expr(id);
      LaneBits args[3] = {};
      for (int i = 0; i < kop_arity(e.op); ++i) args[i] = results_[static_cast<size_t>(e.args[i])];
      LaneBits& result = results_[static_cast<size_t>(id)];
      if (e.op == KOp::kIntConst) {
        result = static_cast<LaneBits>(e.int_value);
      } else if (e.op == KOp::kVar) {
        result = static_cast<LaneBits>(values[static_cast<size_t>(e.int_value)]);
      } else {
        result = evaluate_op(e.op, DType::kInt64, args[0], args[1], args[2]);
      }
    }
    return static_cast<int64_t>(results_[static_cast<size_t>(order_.back())]);
  }

 private:
  const Kernel& kernel_;
  std::vector<ExprId> order_;
  std::vector<LaneBits> results_;
};

struct Range {
  int64_t lo, hi;
};

// Every value of every variable, `check` each time.
template <typename Check>
void for_all(const std::vector<Range>& ranges, const Check& check) {
  std::vector<int64_t> values;
  for (const Range& range : ranges) values.push_back(range.lo);
  while (true) {
    check(values);
    size_t i = 0;
    while (i < ranges.size() && ++values[i] > ranges[i].hi) {
      values[i] = ranges[i].lo;
      ++i;
    }
    if (i == ranges.size()) return;
  }
}

}  // namespace

TEST_CASE("random index expressions keep their value, inside their bounds") {
  int simpler = 0;
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    TreeMaker maker(seed, 3);
    const Tree tree = maker.make(4);
    Kernel kernel;
    std::vector<Range> ranges;
    std::vector<VarId> variables;
    for (int i = 0; i < 3; ++i) {
      const int64_t lo = maker.pick(3) == 0 ? maker.pick(9) - 8 : maker.pick(3);
      ranges.push_back({lo, lo + maker.pick(9)});
      variables.push_back(kernel.add_loop_var("v", ranges.back().lo, ranges.back().hi));
    }
    const ExprId made = build(kernel, tree, variables);
    int64_t lo = 0, hi = 0;
    kernel.bounds(made, &lo, &hi);
    simpler += kernel.is_int_const(made);
    Evaluator evaluate(kernel, made);
    for_all(ranges, [&](const std::vector<int64_t>& values) {
      const int64_t expected = by_definition(tree, values);
      const int64_t got = evaluate(values);
      if (got != expected || got < lo || got > hi) {
        INFO("seed " << seed << ": " << got << " instead of " << expected << ", bounds " << lo
                     << ".." << hi);
        REQUIRE(got == expected);
        REQUIRE(got >= lo);
        REQUIRE(got <= hi);
      }
    });
  }
  REQUIRE(simpler > 100);  // or else nothing was simplified
}

TEST_CASE("the evaluation by definition notices a wrong rule") {
  // i / 8 of i in [0, 9] is not 0: what a rule with a wrong range would make of it.
  const Tree tree{KOp::kDiv, 0, {{KOp::kVar, 0, {}}, {KOp::kIntConst, 8, {}}}};
  int differences = 0;
  for_all({{0, 9}}, [&](const std::vector<int64_t>& values) {
    differences += by_definition(tree, values) != 0;
  });
  REQUIRE(differences == 2);
}

TEST_CASE("substitution gives the value at that place") {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    TreeMaker maker(seed, 2);
    const Tree tree = maker.make(4);
    Kernel kernel;
    const std::vector<VarId> variables = {kernel.add_loop_var("x", 0, 11),
                                          kernel.add_loop_var("y", -3, 5)};
    const ExprId made = build(kernel, tree, variables);
    for (int64_t x = 0; x <= 11; x += 5) {
      const ExprId at_x = kernel.substitute(made, variables[0], kernel.int_const(x));
      REQUIRE(!kernel.may_use_var(at_x, variables[0]));
      for (int64_t y = -3; y <= 5; ++y) {
        int64_t value = 0;
        const ExprId at_y = kernel.substitute(at_x, variables[1], kernel.int_const(y));
        REQUIRE(kernel.is_int_const(at_y, &value));
        REQUIRE(value == by_definition(tree, {x, y}));
      }
    }
  }
}

TEST_CASE("sums that wrap are not rewritten by bounds") {
  Kernel kernel;
  const ArrayId n = kernel.add_param("n", DType::kInt64, 4, false);
  const ExprId x = kernel.load(n, kernel.int_const(0));
  // x may be any i64, so x + 8 may wrap.
  REQUIRE(kernel.expr(kernel.binary(KOp::kLt, x, kernel.add(x, 8))).op == KOp::kLt);
  REQUIRE(kernel.expr(kernel.div(kernel.mul(x, 8), 8)).op == KOp::kDiv);
  REQUIRE(kernel.expr(kernel.mod(kernel.mul(x, 8), 8)).op == KOp::kRem);
  REQUIRE(kernel.sub(kernel.add(x, 8), x) == kernel.int_const(8));
}

TEST_CASE("sums beyond the canonical size are still right") {
  Kernel kernel;
  std::vector<int64_t> values;
  ExprId sum = kernel.int_const(0);
  int64_t expected = 0;
  for (int64_t i = 0; i < 100; ++i) {
    sum = kernel.add(sum, kernel.mul(kernel.var(kernel.add_loop_var("v", 0, 9)), i + 1));
    values.push_back(i % 10);
    expected += (i + 1) * (i % 10);
  }
  REQUIRE(Evaluator(kernel, sum)(values) == expected);
}
