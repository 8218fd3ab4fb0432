// SPDX-License-Identifier: MIT
#include "codegen/render/lane_offsets.h"

#include <utility>

namespace camshaft::render {

namespace {

using ir::Expr;
using ir::ExprId;
using ir::Kernel;
using ir::KOp;

using Lanes = std::vector<int64_t>;

// Nothing on overflow and on division by 0.
std::optional<int64_t> apply(KOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case KOp::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case KOp::kSub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case KOp::kMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case KOp::kDiv:
      return b > 0 ? std::optional(a / b) : std::nullopt;
    case KOp::kRem:
      return b > 0 ? std::optional(a % b) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The lanes of an expression that uses no variable and no memory.
std::optional<Lanes> known_lanes(const Kernel& kernel, ExprId id) {
  const Expr& e = kernel.expr(id);
  const auto lanes = static_cast<size_t>(e.type.lanes);
  int64_t first = 0, stride = 0;
  if (e.op == KOp::kBroadcast) {
    if (!kernel.is_int_const(e.args[0], &first)) return std::nullopt;
    return Lanes(lanes, first);
  }
  Lanes result(lanes);
  if (e.op == KOp::kRamp) {
    if (!kernel.is_int_const(e.args[0], &first) || !kernel.is_int_const(e.args[1], &stride)) {
      return std::nullopt;
    }
    for (size_t i = 0; i < lanes; ++i) result[i] = first + static_cast<int64_t>(i) * stride;
    return result;
  }
  if (ir::kop_arity(e.op) != 2) return std::nullopt;
  const auto a = known_lanes(kernel, e.args[0]);
  const auto b = a ? known_lanes(kernel, e.args[1]) : std::nullopt;
  if (!b) return std::nullopt;
  for (size_t i = 0; i < lanes; ++i) {
    const auto value = apply(e.op, (*a)[i], (*b)[i]);
    if (!value) return std::nullopt;
    result[i] = *value;
  }
  return result;
}

// An index as a sum of scalars, of ramps from 0 whose strides add up, and of known expressions.
struct Parts {
  LaneOffsets sum;  // of all of them
  int64_t stride = 0;
  std::vector<ExprId> known;
};

bool add_lanes(LaneOffsets& to, const Lanes& lanes) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (__builtin_add_overflow(to.offsets[i], lanes[i], &to.offsets[i])) return false;
  }
  return true;
}

bool collect(const Kernel& kernel, ExprId id, Parts& to) {
  if (const auto lanes = known_lanes(kernel, id)) {
    to.known.push_back(id);
    return add_lanes(to.sum, *lanes);
  }
  const Expr& e = kernel.expr(id);
  if (e.op == KOp::kAdd) return collect(kernel, e.args[0], to) && collect(kernel, e.args[1], to);
  int64_t stride = 0;
  if (e.op == KOp::kRamp && kernel.is_int_const(e.args[1], &stride)) {
    Lanes ramp(static_cast<size_t>(e.type.lanes));
    for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<int64_t>(i) * stride;
    to.stride += stride;
    to.sum.shared.push_back(e.args[0]);
    return add_lanes(to.sum, ramp);
  }
  if (e.op != KOp::kBroadcast) return false;
  to.sum.shared.push_back(e.args[0]);
  return true;
}

std::optional<Parts> take_apart(const Kernel& kernel, ExprId index) {
  Parts parts;
  parts.sum.offsets.resize(static_cast<size_t>(kernel.expr(index).type.lanes));
  if (!collect(kernel, index, parts)) return std::nullopt;
  return parts;
}

}  // namespace

std::optional<LaneOffsets> lane_offsets(const Kernel& kernel, ExprId index) {
  auto parts = take_apart(kernel, index);
  if (!parts) return std::nullopt;
  return std::move(parts->sum);
}

ExprId with_one_scalar(Kernel& kernel, ExprId index) {
  const auto parts = take_apart(kernel, index);
  if (!parts || parts->sum.shared.size() < 2) return index;
  const int32_t lanes = kernel.expr(index).type.lanes;
  ExprId base = kernel.int_const(0);
  for (const ExprId shared : parts->sum.shared) base = kernel.add(base, shared);
  ExprId rest = kernel.ramp(kernel.int_const(0), kernel.int_const(parts->stride), lanes);
  for (const ExprId known : parts->known) rest = kernel.add(rest, known);
  return kernel.add(rest, kernel.broadcast(base, lanes));
}

}  // namespace camshaft::render
