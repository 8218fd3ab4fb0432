// SPDX-License-Identifier: MIT
#include "codegen/onnx/interval.h"

#include <catch2/catch.hpp>
#include <optional>
#include <random>

#include "codegen/ir/oracle.h"

namespace camshaft::onnx {
namespace {

using base::DType;
using ir::Op;

LiteralPtr literal(DType dtype, const std::vector<double>& values) {
  return std::make_shared<const ir::Literal>(
      ir::make_literal({dtype, {static_cast<int64_t>(values.size())}}, values));
}

// An operand: its interval, an end of which may be unknown, and a value within.
struct Drawn {
  Interval interval;
  LiteralPtr value;
};

Drawn draw(DType dtype, bool is_known, std::mt19937* rng) {
  std::uniform_int_distribution<int> number(-9, 9);
  std::uniform_int_distribution<int> coin(0, 3);
  std::vector<double> least;
  std::vector<double> most;
  std::vector<double> value;
  const bool is_size = coin(*rng) > 1;
  for (int i = 0; i < 3; ++i) {
    int ends[] = {number(*rng), number(*rng), number(*rng)};
    if (is_size) {
      for (int& end : ends) end = std::abs(end);
    }
    std::sort(std::begin(ends), std::end(ends));
    least.push_back(ends[0]);
    value.push_back(ends[1]);
    most.push_back(ends[2]);
  }
  const LiteralPtr exact = literal(dtype, value);
  if (is_known) return {{exact, exact}, exact};
  return {{coin(*rng) > 0 ? literal(dtype, least) : nullptr,
           coin(*rng) > 0 ? literal(dtype, most) : nullptr},
          exact};
}

bool is_above(const ir::Literal& a, const ir::Literal& b) {
  for (int64_t i = 0; i < a.type.elements(); ++i) {
    if (ir::literal_as_double(a, i) > ir::literal_as_double(b, i)) return true;
  }
  return false;
}

struct Case {
  Op op;
  int operands;
  ir::Attrs attrs;
  bool takes_whole = true;
};

// How many ends of 4,000 random cases were known; fails if a value lies outside.
int check_case(const Case& test, DType dtype) {
  std::mt19937 rng(7);
  int known = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<Interval> intervals;
    std::vector<LiteralPtr> values;
    std::vector<ir::TensorType> types;
    for (int i = 0; i < test.operands; ++i) {
      Drawn drawn = draw(dtype, (round + i) % 4 == 0, &rng);
      if (test.op == Op::kSelect && i == 0) {
        drawn = {{}, literal(DType::kBool, {1, 0, static_cast<double>(round % 2)})};
      }
      if (test.op == Op::kGather && i == 1) {
        drawn.value = literal(DType::kInt64, {2, 0});
        drawn.interval = {drawn.value, drawn.value};
      }
      intervals.push_back(drawn.interval);
      values.push_back(drawn.value);
      types.push_back(drawn.value->type);
    }
    if (test.op == Op::kDiv) {
      bool has_zero = false;
      for (int64_t i = 0; i < 3; ++i) has_zero |= ir::literal_as_double(*values[1], i) == 0;
      if (has_zero) continue;
    }
    const base::Result<ir::TensorType> type = ir::infer_type(test.op, types, test.attrs);
    REQUIRE(type);
    const LiteralPtr result = fold(test.op, values, test.attrs, *type);
    REQUIRE(result != nullptr);
    const Interval found = interval_of(test.op, intervals, test.attrs, *type);
    if (found.least != nullptr) {
      ++known;
      REQUIRE(found.least->type == *type);
      REQUIRE_FALSE(is_above(*found.least, *result));
    }
    if (found.most != nullptr) {
      ++known;
      REQUIRE(found.most->type == *type);
      REQUIRE_FALSE(is_above(*result, *found.most));
    }
  }
  return known;
}

TEST_CASE("whatever the operands are within their intervals, the result is within its own") {
  const std::vector<Case> cases = {
      {Op::kAdd, 2, {}},
      {Op::kSub, 2, {}},
      {Op::kMul, 2, {}},
      {Op::kDiv, 2, {}},
      {Op::kMin, 2, {}},
      {Op::kMax, 2, {}},
      {Op::kSelect, 3, {}},
      {Op::kFloor, 1, {}, false},
      {Op::kCeil, 1, {}, false},
      {Op::kRound, 1, {}, false},
      {Op::kCast, 1, ir::CastAttrs{DType::kFloat32}},
      {Op::kCast, 1, ir::CastAttrs{DType::kInt64}},
      {Op::kReduce, 1, ir::ReduceAttrs{ir::ReduceKind::kSum, {0}}},
      {Op::kReduce, 1, ir::ReduceAttrs{ir::ReduceKind::kProd, {0}}},
      {Op::kReduce, 1, ir::ReduceAttrs{ir::ReduceKind::kMax, {0}}},
      {Op::kReduce, 1, ir::ReduceAttrs{ir::ReduceKind::kMin, {0}}},
      {Op::kGather, 2, ir::GatherAttrs{0}},
      {Op::kReshape, 1, ir::ReshapeAttrs{{3, 1}}},
      {Op::kConcat, 2, ir::ConcatAttrs{0}},
  };
  for (const Case& test : cases) {
    CAPTURE(ir::op_info(test.op).name);
    if (test.takes_whole) {
      CHECK(check_case(test, DType::kInt64) > 300);
      CHECK(check_case(test, DType::kInt32) > 300);
    }
    CHECK(check_case(test, DType::kFloat32) > 300);
  }
}

TEST_CASE("an operation that sizes are not computed with, or that wraps around, bounds nothing") {
  const Interval x{literal(DType::kInt64, {0}), literal(DType::kInt64, {4})};
  const Interval narrow{literal(DType::kUInt8, {0}), literal(DType::kUInt8, {4})};
  const auto is_unknown = [](const Interval& found) {
    return found.least == nullptr && found.most == nullptr;
  };
  CHECK(is_unknown(interval_of(Op::kAnd, {x, x}, {}, {DType::kInt64, {1}})));
  CHECK(is_unknown(interval_of(Op::kSub, {narrow, narrow}, {}, {DType::kUInt8, {1}})));
}

TEST_CASE("numbers that are no sizes bound nothing and do not wrap around") {
  const LiteralPtr huge = literal(DType::kInt64, {9e18});
  const Interval unknown_small{literal(DType::kInt64, {0}), literal(DType::kInt64, {4})};
  const ir::TensorType type{DType::kInt64, {1}};
  for (const Op op : {Op::kAdd, Op::kMul}) {
    const Interval found = interval_of(op, {{huge, huge}, unknown_small}, {}, type);
    CHECK(found.most == nullptr);
  }
  const Interval cut = interval_of(Op::kMin, {{huge, huge}, unknown_small}, {}, type);
  REQUIRE(cut.most != nullptr);
  CHECK(ir::literal_as_int(*cut.most, 0) == 4);
}

}  // namespace
}  // namespace camshaft::onnx
