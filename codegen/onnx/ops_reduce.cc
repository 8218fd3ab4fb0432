// SPDX-License-Identifier: MIT
// Reductions, arguments of extremes, cumulative sums.
#include <limits>
#include <numeric>
#include <utility>

#include "codegen/onnx/op_table.h"

namespace camshaft::onnx {
namespace {

using ir::ReduceKind;
using Axes = std::vector<int>;

// What a Reduce operator is told: the axes it reduces, and whether they stay with extent 1.
struct Reduction {
  Axes axes;
  bool keep = true;
};

// `axes` became an input in opset 13 (ReduceSum) and 18 (the others). None given means all, or with
// noop_with_empty_axes none.
std::optional<Reduction> read_reduction(NodeReader& node, int input_since) {
  const int rank = node.input(0).rank();
  const bool from_input = node.opset() >= input_since;
  if (from_input && node.input(1) && !node.known_ints(1, "axes")) return std::nullopt;
  const std::optional<Shape> given =
      from_input ? node.input(1).known_ints() : node.ints_attr("axes");
  const bool noop = node.flag_attr("noop_with_empty_axes", false);
  std::optional<Axes> axes = node.axes(given.value_or(Shape()), rank);
  if (!axes) return std::nullopt;
  if (axes->empty() && !noop) {
    axes->resize(static_cast<size_t>(rank));
    std::iota(axes->begin(), axes->end(), 0);
  }
  return Reduction{std::move(*axes), node.flag_attr("keepdims", true)};
}

Value read_reduce_since(NodeReader& node, int input_since,
                        Value (*reduce_axes)(Value, const Axes&)) {
  const std::optional<Reduction> reduction = read_reduction(node, input_since);
  if (!reduction) return {};
  const Value y = reduce_axes(node.input(0), reduction->axes);
  return reduction->keep ? y : drop_axes(y, reduction->axes);
}

Value read_reduce(NodeReader& node, Value (*reduce_axes)(Value, const Axes&)) {
  return read_reduce_since(node, 18, reduce_axes);
}

Value sum(Value x, const Axes& axes) {
  return reduce(ReduceKind::kSum, x, axes);
}

// On bool, false < true.
Value extreme(ReduceKind kind, Value x, const Axes& axes) {
  if (x.dtype() != DType::kBool) return reduce(kind, x, axes);
  return cast(reduce(kind, cast(x, DType::kUInt8), axes), DType::kBool);
}

// Functions that only floats have are computed in a float dtype; integers then truncate.
Value in_float(Value x, const Axes& axes, Value (*function)(Value, const Axes&)) {
  if (base::is_float(x.dtype())) return function(x, axes);
  return cast(function(cast(x, DType::kFloat64), axes), x.dtype());
}

// Shifted by the largest element, so that the exponential doesn't overflow. An infinite one can't
// be subtracted from itself.
Value log_sum_exp(Value x, const Axes& axes) {
  const Value largest = reduce(ReduceKind::kMax, x, axes);
  const Value is_infinite = equal(abs(largest), std::numeric_limits<double>::infinity());
  const Value shift = select(is_infinite, scalar_like(x, 0), largest);
  return log(sum(exp(x - shift), axes)) + shift;
}

Value read_reduce_sum(NodeReader& node) {
  return read_reduce_since(node, 13, sum);
}
Value read_reduce_mean(NodeReader& node) {
  return read_reduce(node, mean);
}
Value read_reduce_prod(NodeReader& node) {
  return read_reduce(node,
                     [](Value x, const Axes& axes) { return reduce(ReduceKind::kProd, x, axes); });
}
Value read_reduce_max(NodeReader& node) {
  return read_reduce(node,
                     [](Value x, const Axes& axes) { return extreme(ReduceKind::kMax, x, axes); });
}
Value read_reduce_min(NodeReader& node) {
  return read_reduce(node,
                     [](Value x, const Axes& axes) { return extreme(ReduceKind::kMin, x, axes); });
}
Value read_reduce_l1(NodeReader& node) {
  return read_reduce(node, [](Value x, const Axes& axes) { return sum(abs(x), axes); });
}
Value read_reduce_l2(NodeReader& node) {
  return read_reduce(node, [](Value x, const Axes& axes) {
    return in_float(x, axes, [](Value f, const Axes& over) { return sqrt(sum(f * f, over)); });
  });
}
Value read_reduce_sum_square(NodeReader& node) {
  return read_reduce(node, [](Value x, const Axes& axes) { return sum(x * x, axes); });
}
Value read_reduce_log_sum(NodeReader& node) {
  return read_reduce(node, [](Value x, const Axes& axes) {
    return in_float(x, axes, [](Value f, const Axes& over) { return log(sum(f, over)); });
  });
}
Value read_reduce_log_sum_exp(NodeReader& node) {
  return read_reduce(node,
                     [](Value x, const Axes& axes) { return in_float(x, axes, log_sum_exp); });
}

Value read_arg(NodeReader& node, ReduceKind kind) {
  const Value x = node.input(0);
  if (x.rank() == 0) return node.invalid("needs an axis");
  const int axis = node.axis(node.int_attr("axis", 0), x.rank());
  const bool keep = node.flag_attr("keepdims", true);
  const Value y = arg_reduce(x, {kind, axis, node.flag_attr("select_last_index", false)});
  return keep ? y : drop_axes(y, {axis});
}

Value read_arg_max(NodeReader& node) {
  return read_arg(node, ReduceKind::kMax);
}
Value read_arg_min(NodeReader& node) {
  return read_arg(node, ReduceKind::kMin);
}

Value read_scan(NodeReader& node, ReduceKind kind) {
  const Value x = node.input(0);
  const std::optional<double> axis = node.known_scalar(1, "axis");
  const bool exclusive = node.flag_attr("exclusive", false);
  const bool reverse = node.flag_attr("reverse", false);
  if (!axis) return {};
  const auto given = node.input(1).known_ints()->front();
  return scan(x, {kind, node.axis(given, x.rank()), exclusive, reverse});
}

Value read_cum_sum(NodeReader& node) {
  return read_scan(node, ReduceKind::kSum);
}
Value read_cum_prod(NodeReader& node) {
  return read_scan(node, ReduceKind::kProd);
}

constexpr OpRow kOps[] = {
    {"ReduceSum", 7, 1, 2, read_reduce_sum},
    {"ReduceMean", 7, 1, 2, read_reduce_mean},
    {"ReduceProd", 7, 1, 2, read_reduce_prod},
    {"ReduceMax", 7, 1, 2, read_reduce_max},
    {"ReduceMin", 7, 1, 2, read_reduce_min},
    {"ReduceL1", 7, 1, 2, read_reduce_l1},
    {"ReduceL2", 7, 1, 2, read_reduce_l2},
    {"ReduceSumSquare", 7, 1, 2, read_reduce_sum_square},
    {"ReduceLogSum", 7, 1, 2, read_reduce_log_sum},
    {"ReduceLogSumExp", 7, 1, 2, read_reduce_log_sum_exp},
    {"ArgMax", 7, 1, 1, read_arg_max},
    {"ArgMin", 7, 1, 1, read_arg_min},
    {"CumSum", 11, 2, 2, read_cum_sum},
    {"CumProd", 26, 2, 2, read_cum_prod},
};

}  // namespace

OpFamily reduce_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
