// SPDX-License-Identifier: MIT
#include "codegen/onnx/stretching.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "codegen/onnx/builder.h"
#include "codegen/onnx/extents.h"

namespace camshaft::onnx {
namespace {

// Axis `from_last` of the result, counted from the last, in x; -1 if x has it not.
int own_axis(Value x, int from_last) {
  return x ? std::max(x.rank() - 1 - from_last, -1) : -1;
}

// What operands that may differ make of one axis of the result.
struct CommonAxis {
  int64_t most = 0;
  Value extent;  // i64[], in a run
};

// The extents that have a say: those of operands that are not known to have one element.
std::vector<CommonAxis> extents_of(const std::vector<Value>& operands, int from_last) {
  std::vector<CommonAxis> extents;
  for (const Value& x : operands) {
    const int axis = own_axis(x, from_last);
    if (axis < 0 || (x.dim(axis) == 1 && !has_count(x, axis))) continue;
    extents.push_back({x.dim(axis), extent_of(x, axis)});
  }
  return extents;
}

// Nothing if they can't differ.
std::optional<CommonAxis> common_axis(const std::vector<CommonAxis>& extents) {
  if (extents.empty()) return std::nullopt;
  CommonAxis common = extents.front();
  bool differs = false;
  for (const CommonAxis& each : extents) {
    if (each.extent.literal() != nullptr) common = each;  // all others are 1 or the same
    differs = differs || each.extent.index() != extents.front().extent.index();
  }
  if (!differs) return std::nullopt;
  if (common.extent.literal() != nullptr) return common;
  for (const CommonAxis& each : extents) {
    common.most = std::max(common.most, each.most);
    common.extent = select(equal(common.extent, 1.0), each.extent, common.extent);
  }
  return common;
}

// Has runs told in which an operand has neither one element nor as many as the result.
void watch_misfits(const std::vector<CommonAxis>& extents, const CommonAxis& common) {
  Builder& builder = *common.extent.builder();
  for (const CommonAxis& each : extents) {
    if (each.extent.literal() != nullptr) continue;  // it is the result's, or it decides that
    builder.watch_extents(
        logical_not(logical_or(equal(each.extent, 1.0), equal(each.extent, common.extent))));
  }
}

// x with its axis as the result has it: its first element everywhere if that is the only one.
Value stretched_axis(Value x, int axis, const CommonAxis& common) {
  const Shape ones(static_cast<size_t>(x.rank()), 1);
  const Value is_one = reshape(equal(extent_of(x, axis), 1.0), ones);
  std::map<int, Value> counts = x.builder()->counts(x.index());
  counts.erase(axis);
  Value all = x.builder()->with_counts(x, std::move(counts));
  const Value first = slice_axis(all, axis, 0, 1);
  all = slice_axis(all, axis, 0, std::min(x.dim(axis), common.most));
  if (x.dim(axis) < common.most) {
    ir::PadAttrs more{Shape(ones.size(), 0), Shape(ones.size(), 0)};
    more.after[static_cast<size_t>(axis)] = common.most - x.dim(axis);
    all = pad(all, std::move(more));
  }
  return with_count(select(is_one, first, all), axis, common.extent);
}

}  // namespace

bool broadcasts_inputs(std::string_view op) {
  static constexpr std::string_view kOps[] = {
      "Add",        "And",         "BitShift", "BitwiseAnd", "BitwiseOr",
      "BitwiseXor", "Div",         "Equal",    "Greater",    "GreaterOrEqual",
      "Less",       "LessOrEqual", "Max",      "Mean",       "Min",
      "Mod",        "Mul",         "Or",       "Pow",        "Sub",
      "Sum",        "Where",       "Xor",
  };
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

std::vector<Value> stretched(std::vector<Value> operands) {
  if (std::none_of(operands.begin(), operands.end(), has_counts)) return operands;
  int rank = 0;
  for (const Value& x : operands) rank = std::max(rank, x ? x.rank() : 0);
  for (int from_last = 0; from_last < rank; ++from_last) {
    const std::vector<CommonAxis> extents = extents_of(operands, from_last);
    const std::optional<CommonAxis> common = common_axis(extents);
    if (!common) continue;
    watch_misfits(extents, *common);
    for (Value& x : operands) {
      const int axis = own_axis(x, from_last);
      const bool is_counted = axis >= 0 && has_count(x, axis) && x.dim(axis) > 0;
      if (is_counted) x = stretched_axis(x, axis, *common);
    }
  }
  return operands;
}

}  // namespace camshaft::onnx
