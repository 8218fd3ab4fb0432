// SPDX-License-Identifier: MIT
// Convolutions and pools.
#include <algorithm>
#include <numeric>
#include <utility>

#include "codegen/onnx/activations.h"
#include "codegen/onnx/format.h"
#include "codegen/onnx/op_table.h"
#include "codegen/onnx/pool_indices.h"
#include "codegen/onnx/window.h"
#include "runtime/base/bytes.h"

namespace camshaft::onnx {
namespace {

Value read_conv(NodeReader& node) {
  return add_bias(node, convolve(node, node.input(0), node.input(1)), node.input(2));
}

// Conv, then a tensor added and an activation: what onnxruntime makes of three nodes.
Value read_fused_conv(NodeReader& node) {
  const std::string name = node.string_attr("activation", "");
  const auto given = node.floats_attr("activation_params").value_or(std::vector<double>());
  Value y = read_conv(node);
  const Value added = node.input(3);
  if (y && added && added.shape() != y.shape()) {
    return node.invalid("Z must be %s as the result, not %s", shape_text(y.shape()).c_str(),
                        shape_text(added.shape()).c_str());
  }
  if (added) y = y + added;
  if (!y || name.empty()) return y;
  ActivationParameters parameters;
  if (!given.empty()) parameters.alpha = given[0];
  if (given.size() > 1) parameters.beta = given[1];
  y = activation(name, y, parameters);
  if (y || node.builder().failed()) return y;
  return node.unsupported("activation '%s' is not supported", printable(name).c_str());
}

// --- Pools ---------------------------------------------------------------------------------------

std::optional<ir::PoolAttrs> read_pool(NodeReader& node, ir::PoolKind kind) {
  const Value x = node.input(0);
  std::optional<Shape> kernel = pool_kernel(node, x);
  if (!kernel) return std::nullopt;
  const std::optional<Window> window = read_window(node, x, std::move(*kernel));
  const bool ceil_mode = node.flag_attr("ceil_mode", false);
  const bool count_include_pad =
      kind == ir::PoolKind::kAverage && node.flag_attr("count_include_pad", false);
  if (!window) return std::nullopt;
  return ir::PoolAttrs{kind,
                       window->kernel,
                       window->strides,
                       window->dilations,
                       window->pads_begin,
                       window->pads_end,
                       count_include_pad,
                       ceil_mode};
}

Value read_max_pool(NodeReader& node) {
  const bool column_major = node.flag_attr("storage_order", false);
  const std::optional<ir::PoolAttrs> attrs = read_pool(node, ir::PoolKind::kMax);
  if (!attrs) return {};
  const Value x = node.input(0);
  const Value y = pool(x, *attrs);
  if (y && node.wants_output(1)) {
    const Shape outputs(y.shape().begin() + 2, y.shape().end());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::optional<int64_t> taps = base::checked_mul(outputs[i], attrs->kernel[i]);
      if (!node.builder().may_make(taps.value_or(INT64_MAX))) return {};
    }
    node.set_output(1, max_pool_indices(x, *attrs, outputs, column_major));
  }
  return y;
}

Value read_average_pool(NodeReader& node) {
  const std::optional<ir::PoolAttrs> attrs = read_pool(node, ir::PoolKind::kAverage);
  return attrs ? pool(node.input(0), *attrs) : Value();
}

Value power(Value x, int64_t p) {
  if (p == 1) return abs(x);
  return p == 2 ? x * x : pow(abs(x), static_cast<double>(p));
}

Value root(Value x, int64_t p) {
  if (p == 1) return x;
  return p == 2 ? sqrt(x) : pow(x, 1.0 / static_cast<double>(p));
}

// Sums are depthwise convolutions with ones; padding adds nothing to them.
Value read_lp_pool(NodeReader& node) {
  const Value x = node.input(0);
  const int64_t p = node.int_attr("p", 2);
  std::optional<Shape> kernel = pool_kernel(node, x);
  if (!kernel) return {};
  std::optional<Window> window = read_window(node, x, std::move(*kernel));
  const bool ceil_mode = node.flag_attr("ceil_mode", false);
  if (!window) return {};
  for (size_t i = 0; i < window->rank() && ceil_mode; ++i) {
    const int64_t padded = x.shape()[i + 2] + window->pads_begin[i] + window->pads_end[i];
    const int64_t room = padded - window->span(i);
    if (room < 0) {  // a partial window is the only one
      if (-room < window->strides[i]) window->pads_end[i] -= room;
      continue;
    }
    const int64_t rest = room % window->strides[i];
    const int64_t next = room - rest + window->strides[i];
    const bool starts_inside = next < x.shape()[i + 2] + window->pads_begin[i];
    if (rest > 0 && starts_inside) window->pads_end[i] += window->strides[i] - rest;
  }
  Shape ones = {x.dim(1), 1};
  ones.insert(ones.end(), window->kernel.begin(), window->kernel.end());
  const Value sums = conv(power(x, p), node.builder().splat({x.dtype(), std::move(ones)}, 1),
                          conv_attrs(*window, x.dim(1)));
  return root(sums, p);
}

std::optional<std::vector<int>> spatial_axes(NodeReader& node) {
  const int rank = node.input(0).rank();
  if (rank < 3) {
    node.invalid("needs [N, C, spatial...]");
    return std::nullopt;
  }
  std::vector<int> axes(static_cast<size_t>(rank) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Value read_global_average_pool(NodeReader& node) {
  const std::optional<std::vector<int>> axes = spatial_axes(node);
  return axes ? mean(node.input(0), *axes) : Value();
}

Value read_global_max_pool(NodeReader& node) {
  const std::optional<std::vector<int>> axes = spatial_axes(node);
  return axes ? reduce(ir::ReduceKind::kMax, node.input(0), *axes) : Value();
}

Value read_global_lp_pool(NodeReader& node) {
  const std::optional<std::vector<int>> axes = spatial_axes(node);
  const int64_t p = node.int_attr("p", 2);
  return axes ? root(reduce(ir::ReduceKind::kSum, power(node.input(0), p), *axes), p) : Value();
}

constexpr OpRow kOps[] = {
    {"Conv", 7, 2, 3, read_conv},
    {"FusedConv", 1, 2, 4, read_fused_conv, kMicrosoft},
    {"MaxPool", 7, 1, 1, read_max_pool},
    {"AveragePool", 7, 1, 1, read_average_pool},
    {"LpPool", 7, 1, 1, read_lp_pool},
    {"GlobalAveragePool", 7, 1, 1, read_global_average_pool},
    {"GlobalMaxPool", 7, 1, 1, read_global_max_pool},
    {"GlobalLpPool", 7, 1, 1, read_global_lp_pool},
};

}  // namespace

OpFamily window_ops() {
  return kOps;
}

}  // namespace camshaft::onnx
