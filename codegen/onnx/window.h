// SPDX-License-Identifier: MIT
// The sliding windows of convolutions and pools: kernel, strides, dilations and padding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/onnx/node_reader.h"

namespace camshaft::onnx {

// One entry for each spatial axis.
struct Window {
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;

  size_t rank() const { return kernel.size(); }
  // Input elements that a window spans.
  int64_t span(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

// The kernel of a pool: attribute kernel_shape, one entry for each spatial axis of `x`.
std::optional<Shape> pool_kernel(NodeReader& node, Value x);

// The window over the spatial axes of `x` ([N, C, spatial...]), with auto_pad resolved. Entries are
// at least 1 (pads 0) and at most 2^31, so that sums and products of two don't overflow.
std::optional<Window> read_window(NodeReader& node, Value x, Shape kernel);

// The parts of it, for operators that pad in their own way.
std::optional<Window> read_window_without_pads(NodeReader& node, size_t rank, Shape kernel);
std::optional<std::string> read_auto_pad(NodeReader& node);
bool read_explicit_pads(NodeReader& node, Window* window);

// The kernel of a convolution: that of the weights, which kernel_shape must repeat.
std::optional<Shape> weight_kernel(NodeReader& node, Value x, Value w);

ir::ConvAttrs conv_attrs(const Window& window, int64_t groups);

// The convolution that the node's attributes describe, of operands that need not be its inputs.
Value convolve(NodeReader& node, Value x, Value w);

// y [N, C, spatial...] plus one value a channel; y if `bias` is absent.
Value add_bias(NodeReader& node, Value y, Value bias);

// How many positions of the window there are along spatial axes of these extents. A problem if it
// never fits.
std::optional<Shape> window_positions(NodeReader& node, const Shape& extents, const Window& window);

// The spatial extents of what a window that goes backwards (ConvTranspose, MaxUnpool) makes of x
// [N, C, spatial...], each with `extra` elements more. A problem if there is nothing.
std::optional<Shape> transposed_outputs(NodeReader& node, Value x, const Window& window,
                                        const Shape& extra);

// The extents of the spatial axes of x [N, C, spatial...].
Shape spatial_extents(Value x);

}  // namespace camshaft::onnx
