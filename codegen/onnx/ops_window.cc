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

// --- ConvTranspose -------------------------------------------------------------------------------
// The gradient of a convolution is a convolution: of the input with stride - 1 zeros between its
// elements, with the kernel flipped and its channels exchanged, padded by span - 1 - pad.

Value with_zeros_between(Value x, const Shape& strides) {
  for (int axis = 2; axis < x.rank(); ++axis) {
    const int64_t stride = strides[static_cast<size_t>(axis - 2)];
    const int64_t extent = x.dim(axis);
    if (stride == 1 || extent < 2) continue;
    Shape shape = x.shape();
    ir::PadAttrs zeros{Shape(shape.size() + 1, 0), Shape(shape.size() + 1, 0)};
    zeros.after[static_cast<size_t>(axis) + 1] = stride - 1;
    const Value spread = pad(insert_axis(x, axis + 1), std::move(zeros));
    if (!spread) return {};
    shape[static_cast<size_t>(axis)] = extent * stride;
    x = slice_axis(reshape(spread, std::move(shape)), axis, 0, (extent - 1) * stride + 1);
  }
  return x;
}

// [C, O/groups, kernel...] to [O, C/groups, kernel...], flipped.
Value transposed_weights(Value w, int64_t groups) {
  Shape grouped = w.shape();
  grouped[0] /= groups;
  grouped.insert(grouped.begin(), groups);
  std::vector<int> perm(grouped.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[1], perm[2]);
  Shape shape = w.shape();
  shape[0] = w.dim(1) * groups;
  shape[1] = w.dim(0) / groups;
  Value result = reshape(transpose(reshape(w, std::move(grouped)), std::move(perm)), shape);
  for (int axis = 2; axis < result.rank(); ++axis) result = flip(result, axis);
  return result;
}

// The output's size where it is given or implied by auto_pad; else nothing, and pads count.
std::optional<Shape> transposed_size(NodeReader& node, Value x, const Window& window,
                                     const std::string& mode) {
  std::optional<Shape> size = node.ints_attr("output_shape");
  if (size) {
    if (size->size() == window.rank()) return size;
    if (static_cast<int>(size->size()) == x.rank()) return Shape(size->begin() + 2, size->end());
    node.invalid("output_shape needs one extent for each spatial axis");
    return size;
  }
  if (mode == "NOTSET" || mode == "VALID") return std::nullopt;
  size = Shape();
  for (size_t i = 0; i < window.rank(); ++i) {
    size->push_back(x.shape()[i + 2] * window.strides[i]);
  }
  return size;
}

// Sets the pads of the transposed convolution; what the output lacks to its size goes to `extra`.
bool read_transposed_pads(NodeReader& node, Value x, Window* window, Shape* extra) {
  const std::optional<std::string> mode = read_auto_pad(node);
  *extra = node.ints_attr("output_padding").value_or(Shape(window->rank(), 0));
  const auto is_sane = [](int64_t value) { return value >= 0 && value <= INT32_MAX; };
  if (extra->size() != window->rank() || !std::all_of(extra->begin(), extra->end(), is_sane)) {
    node.invalid("output_padding needs one value, not negative, for each spatial axis");
    return false;
  }
  if (!mode) return false;
  const std::optional<Shape> size = transposed_size(node, x, *window, *mode);
  if (!size) {
    if (*mode == "NOTSET") return read_explicit_pads(node, window);
    node.ignore_attr("pads");
    return true;
  }
  node.ignore_attr("pads");
  if (size->size() != window->rank() || !std::all_of(size->begin(), size->end(), is_sane)) {
    node.invalid("output_shape needs one extent, not negative, for each spatial axis");
    return false;
  }
  for (size_t i = 0; i < window->rank(); ++i) {
    const int64_t total =
        window->strides[i] * (x.shape()[i + 2] - 1) + (*extra)[i] + window->span(i) - (*size)[i];
    const int64_t pad = std::max<int64_t>(total, 0);
    window->pads_begin[i] = *mode == "SAME_UPPER" ? pad / 2 : pad - pad / 2;
    window->pads_end[i] = pad - window->pads_begin[i];
    (*extra)[i] += std::max<int64_t>(-total, 0);
  }
  return true;
}

Value read_conv_transpose(NodeReader& node) {
  Value x = node.input(0);
  const Value w = node.input(1);
  const int64_t groups = node.int_attr("group", 1);
  std::optional<Shape> kernel = weight_kernel(node, x, w);
  if (!kernel) return {};
  if (groups < 1 || w.dim(0) != x.dim(1) || w.dim(0) < groups || w.dim(0) % groups != 0) {
    return node.invalid("weights must be [C, O/groups, kernel...], C a multiple of the groups");
  }
  std::optional<Window> window = read_window_without_pads(node, x, std::move(*kernel));
  for (size_t i = 0; window && i < window->rank(); ++i) {
    if (!base::checked_mul(x.shape()[i + 2], window->strides[i])) {
      return node.invalid("the output is too large");
    }
  }
  Shape extra;
  if (!window || !read_transposed_pads(node, x, &*window, &extra)) return {};
  x = with_zeros_between(x, window->strides);
  for (size_t i = 0; i < window->rank(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const int64_t begin = window->span(i) - 1 - window->pads_begin[i];
    const int64_t end = window->span(i) - 1 - window->pads_end[i] + extra[i];
    const int64_t cut = std::max<int64_t>(-begin, 0);
    const int64_t left = x.dim(axis) - cut - std::max<int64_t>(-end, 0);
    if (left < 0) return node.invalid("pads leave nothing of the output");
    x = slice_axis(x, axis, cut, left);
    window->pads_begin[i] = std::max<int64_t>(begin, 0);
    window->pads_end[i] = std::max<int64_t>(end, 0);
    window->strides[i] = 1;
  }
  const Value y = conv(x, transposed_weights(w, groups), conv_attrs(*window, groups));
  return add_bias(node, y, node.input(2));
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
    {"ConvTranspose", 7, 2, 3, read_conv_transpose},
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
