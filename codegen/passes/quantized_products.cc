// SPDX-License-Identifier: MIT
// Quantizing tools write a product of bytes as one of floats between QuantizeLinear and
// DequantizeLinear. Its operands are numbers times a scale:
//   sum (x - z) * a * w = a * b * sum (x - z) * k, where w = b * k
// with integers k, which are found in the weights, whatever they were made of.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::Op;

constexpr int64_t kLargest = 127;  // of an i8
// The roundings of a weight that was scaled, once more by another pass, stay below this.
constexpr double kRounding = 0x1p-22;

// (x - zero) * scale, in f32.
struct Dequantized {
  NodeId x = kNoNode;  // u8 or i8
  int64_t zero = 0;
  double scale = 1;
};

std::optional<Dequantized> widened(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kCast) return std::nullopt;
  const DType dtype = graph.node(node.inputs[0]).type.dtype;
  if (dtype != DType::kUInt8 && dtype != DType::kInt8) return std::nullopt;
  return Dequantized{node.inputs[0]};
}

std::optional<Dequantized> shifted(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kSub && node.op != Op::kAdd) return widened(graph, id);
  const std::optional<double> number = ir::splat_value(graph, node.inputs[1]);
  std::optional<Dequantized> found = widened(graph, node.inputs[0]);
  if (!number || !found || *number != std::round(*number) || std::abs(*number) > 255) {
    return std::nullopt;
  }
  found->zero = static_cast<int64_t>(node.op == Op::kSub ? *number : -*number);
  const int64_t lowest = graph.node(found->x).type.dtype == DType::kInt8 ? -128 : 0;
  const bool is_zero_point = found->zero >= lowest && found->zero < lowest + 256;
  return is_zero_point ? found : std::nullopt;
}

std::optional<Dequantized> dequantized(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.type.dtype != DType::kFloat32) return std::nullopt;
  if (node.op != Op::kMul) return shifted(graph, id);
  const std::optional<double> scale = ir::splat_value(graph, node.inputs[1]);
  std::optional<Dequantized> found = shifted(graph, node.inputs[0]);
  if (!scale || !found || !std::isfinite(*scale)) return std::nullopt;
  found->scale = *scale;
  return found;
}

// The weights of one output channel: `count` of them, `stride` apart.
struct Channel {
  const ir::Literal& weights;
  int64_t first, stride, count;
  double at(int64_t i) const { return ir::literal_as_double(weights, first + i * stride); }
};

// The scale by which all weights are integers up to kLargest.
std::optional<double> scale_of(const Channel& channel) {
  double largest = 0;
  for (int64_t i = 0; i < channel.count; ++i) largest = std::max(largest, std::abs(channel.at(i)));
  if (!std::isfinite(largest)) return std::nullopt;
  if (largest == 0) return 1.0;
  for (int64_t steps = kLargest + 1; steps > 0; --steps) {
    const double scale = largest / static_cast<double>(steps);
    const auto is_integer = [&](int64_t i) {
      const double w = channel.at(i);
      const double k = std::round(w / scale);
      return k <= kLargest && std::abs(w - k * scale) <= kRounding * std::abs(w);
    };
    int64_t i = 0;
    while (i < channel.count && is_integer(i)) ++i;
    if (i == channel.count) return scale;
  }
  return std::nullopt;
}

// Weights as integers times a scale for each output channel.
struct Integers {
  ir::Literal values;          // i32
  std::vector<double> scales;  // by channel
};

std::optional<Integers> integers_of(const ir::Literal& w, bool is_conv) {
  const int64_t channels = is_conv ? w.type.shape.front() : w.type.shape.back();
  if (w.type.elements() == 0) return std::nullopt;
  const int64_t count = w.type.elements() / channels;
  Integers result{ir::zero_literal({DType::kInt32, w.type.shape}), {}};
  for (int64_t c = 0; c < channels; ++c) {
    const Channel channel{w, is_conv ? c * count : c, is_conv ? 1 : channels, count};
    const std::optional<double> scale = scale_of(channel);
    if (!scale) return std::nullopt;
    result.scales.push_back(*scale);
    for (int64_t i = 0; i < count; ++i) {
      ir::set_literal_element_int(result.values, channel.first + i * channel.stride,
                                  std::llround(channel.at(i) / *scale));
    }
  }
  return result;
}

// (x - zero) in i32.
NodeId difference(Graph& out, const Dequantized& from, const std::string& name) {
  const NodeId wide = out.add(Op::kCast, {from.x}, ir::CastAttrs{DType::kInt32}, name);
  if (from.zero == 0) return wide;
  const NodeId zero = out.add_splat(out.node(wide).type, static_cast<double>(from.zero));
  return out.add(Op::kSub, {wide, zero}, {}, name);
}

NodeId multiply_integers(Graph& out, const Node& node) {
  const bool is_conv = node.op == Op::kConv;
  if ((!is_conv && node.op != Op::kMatMul) || node.type.dtype != DType::kFloat32) return kNoNode;
  const std::optional<Dequantized> x = dequantized(out, node.inputs[0]);
  const ir::Literal* w = x ? ir::literal_of(out, node.inputs[1]) : nullptr;
  if (w == nullptr || (!is_conv && w->type.rank() != 2)) return kNoNode;
  const int64_t channels = is_conv ? w->type.shape.front() : w->type.shape.back();
  // The sums must fit.
  if (w->type.elements() / std::max<int64_t>(channels, 1) > INT32_MAX / (255 * 128)) return kNoNode;
  std::optional<Integers> integers = integers_of(*w, is_conv);
  if (!integers) return kNoNode;
  const size_t axis = is_conv ? 1 : node.type.shape.size() - 1;
  ir::Shape aligned(node.type.shape.size(), 1);
  aligned[axis] = channels;
  ir::Literal factors = ir::zero_literal({DType::kFloat32, aligned});
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = x->scale * integers->scales[static_cast<size_t>(c)];
    // Beyond f32's range the sum times its factor is not the sum of products that are in it.
    if (!std::isnormal(static_cast<float>(factor))) return kNoNode;
    ir::set_literal_element(factors, c, factor);
  }
  const NodeId left = difference(out, *x, node.name);
  const NodeId right = out.add_constant(std::move(integers->values), node.name);
  const NodeId sum = out.add(node.op, {left, right}, node.attrs, node.name);
  const NodeId wide = out.add(Op::kCast, {sum}, ir::CastAttrs{DType::kFloat32}, node.name);
  const NodeId constant = out.add_constant(std::move(factors), node.name);
  const NodeId each =
      out.add(Op::kBroadcast, {constant}, ir::BroadcastAttrs{node.type.shape}, node.name);
  return out.add(Op::kMul, {wide, each}, {}, node.name);
}

}  // namespace

Graph quantized_products(const Graph& graph) {
  return rewrite(graph, multiply_integers);
}

}  // namespace camshaft::passes
