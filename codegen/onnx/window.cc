// SPDX-License-Identifier: MIT
#include "codegen/onnx/window.h"
#include "runtime/base/bytes.h"

#include <algorithm>
#include <utility>

namespace camshaft::onnx {
namespace {

bool within(const Shape& values, int64_t low) {
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t value) { return value >= low && value <= INT32_MAX; });
}

// SAME: as many positions as strides fit in the input; the odd element of the padding goes to the
// end (UPPER) or the beginning (LOWER).
void pad_same(Value x, bool upper, Window* window) {
  for (size_t i = 0; i < window->rank(); ++i) {
    const int64_t input = x.shape()[i + 2];
    const int64_t stride = window->strides[i];
    const int64_t output = (input + stride - 1) / stride;
    const int64_t total = std::max<int64_t>((output - 1) * stride + window->span(i) - input, 0);
    window->pads_begin[i] = upper ? total / 2 : total - total / 2;
    window->pads_end[i] = total - window->pads_begin[i];
  }
}

}  // namespace

std::optional<Shape> pool_kernel(NodeReader& node, Value x) {
  std::optional<Shape> kernel = node.ints_attr("kernel_shape");
  if (!kernel) node.corrupt("attribute 'kernel_shape' is missing");
  if (kernel && static_cast<int>(kernel->size()) == x.rank() - 2) return kernel;
  node.invalid("needs [N, C, spatial...] and one kernel extent for each spatial axis");
  return std::nullopt;
}

std::optional<Window> read_window_without_pads(NodeReader& node, size_t rank, Shape kernel) {
  Window window;
  window.strides = node.ints_attr("strides").value_or(Shape(rank, 1));
  window.dilations = node.ints_attr("dilations").value_or(Shape(rank, 1));
  window.pads_begin = window.pads_end = Shape(rank, 0);
  window.kernel = std::move(kernel);
  const bool complete = rank >= 1 && window.kernel.size() == rank &&
                        window.strides.size() == rank && window.dilations.size() == rank;
  if (complete && within(window.kernel, 1) && within(window.strides, 1) &&
      within(window.dilations, 1)) {
    return window;
  }
  node.invalid(
      "kernel %s, strides %s and dilations %s must be positive, one for each of the %zu "
      "spatial axes",
      shape_text(window.kernel).c_str(), shape_text(window.strides).c_str(),
      shape_text(window.dilations).c_str(), rank);
  return std::nullopt;
}

std::optional<std::string> read_auto_pad(NodeReader& node) {
  std::string mode = node.string_attr("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode == "VALID" || mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    return mode;
  }
  node.unsupported("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  return std::nullopt;
}

bool read_explicit_pads(NodeReader& node, Window* window) {
  const std::optional<Shape> pads = node.ints_attr("pads");
  if (!pads) return true;
  if (pads->size() != 2 * window->rank() || !within(*pads, 0)) {
    node.invalid("pads must be a begin and an end, not negative, for each spatial axis");
    return false;
  }
  const auto middle = pads->begin() + static_cast<std::ptrdiff_t>(window->rank());
  window->pads_begin.assign(pads->begin(), middle);
  window->pads_end.assign(middle, pads->end());
  return true;
}

std::optional<Window> read_window(NodeReader& node, Value x, Shape kernel) {
  std::optional<Window> window =
      read_window_without_pads(node, spatial_extents(x).size(), std::move(kernel));
  const std::optional<std::string> mode = read_auto_pad(node);
  if (!window || !mode) return std::nullopt;
  if (*mode == "NOTSET") {
    if (!read_explicit_pads(node, &*window)) return std::nullopt;
    return window;
  }
  node.ignore_attr("pads");
  if (*mode != "VALID") pad_same(x, *mode == "SAME_UPPER", &*window);
  return window;
}

std::optional<Shape> weight_kernel(NodeReader& node, Value x, Value w) {
  if (x.rank() < 3 || w.rank() != x.rank()) {
    node.invalid("needs [N, C, spatial...] and weights of the same rank");
    return std::nullopt;
  }
  Shape kernel(w.shape().begin() + 2, w.shape().end());
  const std::optional<Shape> given = node.ints_attr("kernel_shape");
  if (!given || *given == kernel) return kernel;
  node.invalid("kernel_shape is %s, but the weights are %s", shape_text(*given).c_str(),
               shape_text(w.shape()).c_str());
  return std::nullopt;
}

ir::ConvAttrs conv_attrs(const Window& window, int64_t groups) {
  return {window.strides, window.dilations, window.pads_begin, window.pads_end, groups};
}

Value convolve(NodeReader& node, Value x, Value w) {
  const int64_t groups = node.int_attr("group", 1);
  std::optional<Shape> kernel = weight_kernel(node, x, w);
  if (!kernel) return {};
  const std::optional<Window> window = read_window(node, x, std::move(*kernel));
  if (!window) return {};
  return conv(x, w, conv_attrs(*window, groups));
}

Value add_bias(NodeReader& node, Value y, Value bias) {
  if (!y || !bias) return y;
  if (bias.rank() != 1 || bias.dim(0) != y.dim(1)) {
    return node.invalid("the bias must be one value for each of the %lld output channels",
                        static_cast<long long>(y.dim(1)));
  }
  return y + place_axes(bias, {1}, y.rank());
}

std::optional<Shape> window_positions(NodeReader& node, const Shape& extents,
                                      const Window& window) {
  Shape positions;
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t padded = extents[i] + window.pads_begin[i] + window.pads_end[i];
    if (padded < window.span(i)) {
      node.invalid("spatial axis %zu: the window of %lld is larger than the padded input %lld", i,
                   static_cast<long long>(window.span(i)), static_cast<long long>(padded));
      return std::nullopt;
    }
    positions.push_back((padded - window.span(i)) / window.strides[i] + 1);
  }
  return positions;
}

Shape spatial_extents(Value x) {
  return x.rank() < 2 ? Shape() : Shape(x.shape().begin() + 2, x.shape().end());
}

std::optional<Shape> transposed_outputs(NodeReader& node, Value x, const Window& window,
                                        const Shape& extra) {
  Shape outputs;
  for (size_t i = 0; i < window.rank(); ++i) {
    const std::optional<int64_t> spread =
        base::checked_mul(std::max<int64_t>(x.shape()[i + 2] - 1, 0), window.strides[i]);
    if (!spread || *spread > (int64_t{1} << 46)) {
      node.invalid("the output is too large");
      return std::nullopt;
    }
    outputs.push_back(*spread + window.span(i) + extra[i] - window.pads_begin[i] -
                      window.pads_end[i]);
    if (outputs[i] >= 1 && x.shape()[i + 2] >= 1) continue;
    node.invalid("pads leave nothing of the output");
    return std::nullopt;
  }
  return outputs;
}

}  // namespace camshaft::onnx
