// SPDX-License-Identifier: MIT
#include "codegen/lower/known_tensor.h"

#include <array>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::Op;

bool has_wide_numbers(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kInt32 ||
         dtype == DType::kInt64;
}

// The operations that masks are made of, as far as doubles do what they do.
bool is_mask_arithmetic(const Task& task, const ir::Node& node) {
  const DType from = node.inputs.empty() ? node.type.dtype : task.type(node.inputs[0]).dtype;
  switch (node.op) {
    case Op::kEqual:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kSelect:
      return true;
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
      return from == DType::kBool;
    case Op::kCast:
      return node.type.dtype == DType::kBool ||
             (has_wide_numbers(node.type.dtype) && !base::is_float(from)) ||
             (base::is_float(node.type.dtype) && has_wide_numbers(node.type.dtype));
    case Op::kNeg:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
      return has_wide_numbers(node.type.dtype);
    default:
      return false;
  }
}

double number_of(const Known& of, const std::array<double, 3>& x) {
  switch (of.op) {
    case Op::kEqual:
      return x[0] == x[1];
    case Op::kLess:
      return x[0] < x[1];
    case Op::kLessEqual:
      return x[0] <= x[1];
    case Op::kSelect:
      return x[0] != 0 ? x[1] : x[2];
    case Op::kNot:
      return x[0] == 0;
    case Op::kAnd:
      return x[0] != 0 && x[1] != 0;
    case Op::kOr:
      return x[0] != 0 || x[1] != 0;
    case Op::kCast:
      return of.dtype == DType::kBool ? x[0] != 0 : x[0];
    case Op::kNeg:
      return -x[0];
    case Op::kAdd:
      return x[0] + x[1];
    case Op::kSub:
      return x[0] - x[1];
    default:
      return x[0] * x[1];
  }
}

std::vector<int64_t> row_major_steps(const ir::Shape& shape) {
  std::vector<int64_t> steps(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) steps[axis - 1] = steps[axis] * shape[axis];
  return steps;
}

// Those of a reshape that only adds or drops axes of extent 1, or of what lies row-major.
std::optional<std::vector<int64_t>> reshaped_steps(const ir::Shape& from, const ir::Shape& to,
                                                   const std::vector<int64_t>& steps) {
  if (steps == row_major_steps(from)) return row_major_steps(to);
  std::vector<int64_t> result(to.size(), 0);
  size_t f = 0;
  for (size_t t = 0; t < to.size(); ++t) {
    if (to[t] == 1) continue;
    while (f < from.size() && from[f] == 1) ++f;
    if (f == from.size() || from[f] != to[t]) return std::nullopt;
    result[t] = steps[f++];
  }
  return result;
}

// What a movement makes of its operand.
std::optional<Known> moved(const Task& task, const ir::Node& node) {
  std::optional<Known> from = known(task, node.inputs[0]);
  if (!from) return {};
  const ir::Shape& before = task.type(node.inputs[0]).shape;
  const ir::Shape& shape = node.type.shape;
  const bool is_moved = each_literal(*from, [&](std::vector<int64_t>& steps) {
    if (node.op == Op::kReshape) {
      const auto reshaped = reshaped_steps(before, shape, steps);
      if (reshaped) steps = *reshaped;
      return reshaped.has_value();
    }
    if (node.op == Op::kBroadcast) {
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (before[axis] == 1) steps[axis] = 0;
      }
      return true;
    }
    std::vector<int64_t> turned;
    for (const int axis : node.as<ir::TransposeAttrs>().perm) {
      turned.push_back(steps[static_cast<size_t>(axis)]);
    }
    steps = std::move(turned);
    return true;
  });
  return is_moved ? from : std::nullopt;
}

}  // namespace

std::optional<Known> known(const Task& task, NodeId id) {
  const ir::Node& node = task.node(id);
  if (const ir::Literal* literal = ir::literal_of(task.graph(), id)) {
    return Known{Op::kConstant, node.type.dtype, literal, row_major_steps(node.type.shape), {}};
  }
  if (node.op == Op::kBroadcast || node.op == Op::kReshape || node.op == Op::kTranspose) {
    return moved(task, node);
  }
  if (!is_mask_arithmetic(task, node)) return {};
  Known result{node.op, node.type.dtype, nullptr, {}, {}};
  for (const NodeId input : node.inputs) {
    std::optional<Known> part = known(task, input);
    if (!part) return {};
    result.parts.push_back(*std::move(part));
  }
  return result;
}

double number_at(const Known& of, const int64_t*& place, int64_t key) {
  if (of.literal != nullptr) {
    return ir::literal_as_double(*of.literal, *place++ + key * of.steps.back());
  }
  std::array<double, 3> numbers{};
  for (size_t i = 0; i < of.parts.size(); ++i) numbers[i] = number_at(of.parts[i], place, key);
  return number_of(of, numbers);
}

}  // namespace camshaft::lower
