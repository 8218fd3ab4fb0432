// SPDX-License-Identifier: MIT
#include "codegen/onnx/interval.h"

#include <cmath>
#include <utility>

#include "codegen/ir/oracle.h"

namespace camshaft::onnx {
namespace {

using ir::Op;
using Operands = std::vector<Interval>;

// Values that stand for sizes are small, in number and in value.
constexpr int64_t kBoundedElements = 256;
constexpr double kMostBound = 2147483648.0;

// Products and windows grow faster than their operands, and no shape is computed with them.
bool is_cheap(Op op) {
  return op != Op::kMatMul && op != Op::kConv && op != Op::kPool;
}

bool is_size(double x) {
  return std::abs(x) < kMostBound;
}

bool is_everywhere(const LiteralPtr& literal, auto&& holds) {
  if (literal == nullptr) return false;
  for (int64_t i = 0; i < literal->type.elements(); ++i) {
    if (!holds(ir::literal_as_double(*literal, i))) return false;
  }
  return true;
}

bool is_not_negative(const LiteralPtr& literal) {
  return is_everywhere(literal, [](double x) { return x >= 0; });
}

LiteralPtr cast(const LiteralPtr& x, base::DType dtype) {
  if (x == nullptr || x->type.dtype == dtype) return x;
  return fold(Op::kCast, {x}, ir::CastAttrs{dtype}, {dtype, x->type.shape});
}

// Whole numbers are computed as f64, in which what is no size can't wrap around into one;
// quotients, of sizes only, as i64.
class Rules {
 public:
  Rules(Op op, const Operands& operands, const ir::Attrs& attrs, const ir::TensorType& type)
      : op_(op), operands_(operands), attrs_(attrs), type_(type) {
    if (base::is_float(type.dtype) || op == Op::kCast) return;
    type_.dtype = op == Op::kDiv ? base::DType::kInt64 : base::DType::kFloat64;
    const size_t first = op == Op::kSelect ? 1 : 0;
    const size_t last = op == Op::kGather ? 1 : operands_.size();
    for (size_t i = first; i < last; ++i) {
      for (LiteralPtr* end : {&operands_[i].least, &operands_[i].most}) {
        *end = op == Op::kDiv && !is_everywhere(*end, is_size) ? nullptr : cast(*end, type_.dtype);
      }
    }
  }

  Interval apply() const {
    switch (op_) {
      case Op::kAdd:
      case Op::kCast:
      case Op::kFloor:
      case Op::kCeil:
      case Op::kRound:
        return growing();
      case Op::kReduce:
        return std::get<ir::ReduceAttrs>(attrs_).kind == ir::ReduceKind::kProd &&
                       !is_not_negative(operands_[0].least)
                   ? Interval{}
                   : growing();
      case Op::kSub:
        return {on({operands_[0].least, operands_[1].most}),
                on({operands_[0].most, operands_[1].least})};
      case Op::kMul:
        return of_corners();
      case Op::kDiv:
        return of_quotient();
      case Op::kMin:
        return {on(leasts()), either(Op::kMin, operands_[0].most, operands_[1].most)};
      case Op::kMax:
        return {either(Op::kMax, operands_[0].least, operands_[1].least), on(mosts())};
      case Op::kSelect:
        return {both(Op::kMin, operands_[1].least, operands_[2].least),
                both(Op::kMax, operands_[1].most, operands_[2].most)};
      case Op::kGather:  // of known places
        return is_known(operands_[1]) ? growing() : Interval{};
      default:
        return ir::is_movement(op_) ? growing() : Interval{};
    }
  }

 private:
  static bool is_known(const Interval& x) { return x.least != nullptr && x.least == x.most; }

  LiteralPtr on(const std::vector<LiteralPtr>& ends) const {
    return fold(op_, ends, attrs_, type_);
  }
  std::vector<LiteralPtr> leasts() const {
    std::vector<LiteralPtr> ends;
    for (const Interval& operand : operands_) ends.push_back(operand.least);
    return ends;
  }
  std::vector<LiteralPtr> mosts() const {
    std::vector<LiteralPtr> ends;
    for (const Interval& operand : operands_) ends.push_back(operand.most);
    return ends;
  }
  // Grows with each operand.
  Interval growing() const { return {on(leasts()), on(mosts())}; }

  LiteralPtr both(Op op, const LiteralPtr& a, const LiteralPtr& b) const {
    return fold(op, {a, b}, {}, type_);
  }
  LiteralPtr either(Op op, const LiteralPtr& a, const LiteralPtr& b) const {
    if (a == nullptr) return b;
    return b == nullptr ? a : both(op, a, b);
  }

  Interval of_corners() const {
    const Interval& a = operands_[0];
    const Interval& b = operands_[1];
    const LiteralPtr corners[] = {on({a.least, b.least}), on({a.least, b.most}),
                                  on({a.most, b.least}), on({a.most, b.most})};
    Interval result{corners[0], corners[0]};
    for (const LiteralPtr& corner : corners) {
      result.least = both(Op::kMin, result.least, corner);
      result.most = both(Op::kMax, result.most, corner);
    }
    return result;
  }

  // A size by a size: a divisor whose least is 0 is at least 1 wherever the quotient means
  // anything.
  Interval of_quotient() const {
    const Interval& divisor = operands_[1];
    if (is_everywhere(divisor.least, [](double x) { return x > 0; })) {
      if (divisor.most != nullptr) return of_corners();
      if (is_not_negative(operands_[0].least)) {
        return {nullptr, on({operands_[0].most, divisor.least})};
      }
    }
    const bool are_sizes = is_not_negative(operands_[0].least) && is_not_negative(divisor.least);
    return are_sizes && !base::is_float(type_.dtype) ? Interval{nullptr, operands_[0].most}
                                                     : Interval{};
  }

  Op op_;
  Operands operands_;
  const ir::Attrs& attrs_;
  ir::TensorType type_;
};

}  // namespace

LiteralPtr fold(Op op, const std::vector<LiteralPtr>& operands, const ir::Attrs& attrs,
                const ir::TensorType& type) {
  if (!is_cheap(op) || type.elements() > kFoldElements) return nullptr;
  for (const LiteralPtr& operand : operands) {
    if (operand == nullptr || operand->type.elements() > kFoldElements) return nullptr;
  }
  ir::Graph scratch;
  std::vector<ir::NodeId> nodes;
  std::vector<ir::OracleTensor> tensors;
  for (const LiteralPtr& operand : operands) {
    nodes.push_back(scratch.add_constant(operand));
    tensors.push_back(ir::to_oracle(*operand));
  }
  std::vector<const ir::OracleTensor*> borrowed;
  for (const ir::OracleTensor& tensor : tensors) borrowed.push_back(&tensor);
  const ir::NodeId result = scratch.add(op, std::move(nodes), attrs);
  base::Result<ir::OracleTensor> value = ir::evaluate_node(scratch, scratch.node(result), borrowed);
  if (!value) return nullptr;
  return std::make_shared<const ir::Literal>(ir::to_literal(*value));
}

Interval interval_of(Op op, const std::vector<Interval>& operands, const ir::Attrs& attrs,
                     const ir::TensorType& type) {
  if (type.elements() > kBoundedElements) return {};
  // Sizes are i64, sometimes i32 or floats; narrower and unsigned numbers wrap around.
  const bool is_wide = type.dtype == base::DType::kInt64 || type.dtype == base::DType::kInt32;
  if (!is_wide && !base::is_float(type.dtype)) return {};
  Interval found = Rules(op, operands, attrs, type).apply();
  for (LiteralPtr* end : {&found.least, &found.most}) {
    *end = is_everywhere(*end, is_size) ? cast(*end, type.dtype) : nullptr;
  }
  return found;
}

}  // namespace camshaft::onnx
