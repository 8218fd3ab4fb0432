// SPDX-License-Identifier: MIT
// Quantized networks sum products of (byte - zero point) by known weights. The zero point goes out
// of the sum, so that what is multiplied, and lies in memory, are bytes:
//   sum (x - z) * w = sum x * w - z * sum w
// where the last term is a constant for each output channel. A padded x is padded with its zero
// point first, so that the padding counts for nothing again. Signed x become unsigned, whose zero
// point is 128 more: that is one bit.
#include <algorithm>
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

// Integers that are a byte less a number.
struct Bytes {
  NodeId x = kNoNode;  // u8 or i8
  int64_t zero = 0;
  std::vector<ir::Shape> shapes = {};  // that x is given, one after the other
};

std::optional<Bytes> widened_bytes(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kCast) return std::nullopt;
  const DType dtype = graph.node(node.inputs[0]).type.dtype;
  if (dtype != DType::kUInt8 && dtype != DType::kInt8) return std::nullopt;
  return Bytes{node.inputs[0], 0};
}

std::optional<Bytes> bytes_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.type.dtype != DType::kInt32) return std::nullopt;
  if (node.op == Op::kReshape) {
    std::optional<Bytes> bytes = bytes_of(graph, node.inputs[0]);
    if (bytes) bytes->shapes.push_back(node.type.shape);
    return bytes;
  }
  if (node.op != Op::kSub && node.op != Op::kAdd) return widened_bytes(graph, id);
  const std::optional<int64_t> number = ir::splat_int(graph, node.inputs[1]);
  std::optional<Bytes> bytes = widened_bytes(graph, node.inputs[0]);
  if (!number || !bytes) return std::nullopt;
  bytes->zero = node.op == Op::kSub ? *number : -*number;
  const int64_t lowest = graph.node(bytes->x).type.dtype == DType::kInt8 ? -128 : 0;
  const bool is_zero_point = bytes->zero >= lowest && bytes->zero < lowest + 256;
  return is_zero_point ? bytes : std::nullopt;
}

// The node `id` as i8, if it is known and fits; through movement that keeps the last two axes.
NodeId narrow_weights(Graph& out, NodeId id) {
  const Node node = out.node(id);
  if (const ir::Literal* wide = ir::literal_of(out, id)) {
    ir::Literal narrow = ir::zero_literal({DType::kInt8, node.type.shape});
    for (int64_t i = 0; i < node.type.elements(); ++i) {
      const int64_t value = ir::literal_as_int(*wide, i);
      if (value < -128 || value > 127) return kNoNode;
      ir::set_literal_element_int(narrow, i, value);
    }
    return out.add_constant(std::move(narrow), node.name);
  }
  if (node.op != Op::kBroadcast && node.op != Op::kReshape) return kNoNode;
  const ir::Shape& from = out.node(node.inputs[0]).type.shape;
  const ir::Shape& to = node.type.shape;
  if (from.size() < 2 || !std::equal(to.end() - 2, to.end(), from.end() - 2)) return kNoNode;
  const NodeId narrow = narrow_weights(out, node.inputs[0]);
  return narrow == kNoNode ? kNoNode : out.add(node.op, {narrow}, node.attrs, node.name);
}

// The literal that weights are made of.
const ir::Literal& weights_literal(const Graph& graph, NodeId id) {
  while (graph.node(id).op != Op::kConstant) id = graph.node(id).inputs[0];
  return *ir::literal_of(graph, id);
}

// For each output channel -zero times the sum of its weights, which wraps like any i32.
ir::Literal corrections(const ir::Literal& w, bool is_conv, int64_t zero) {
  const int64_t channels = is_conv ? w.type.shape.front() : w.type.shape.back();
  const int64_t inner = w.type.elements() / std::max<int64_t>(channels, 1);
  ir::Literal result = ir::zero_literal({DType::kInt32, {channels}});
  for (int64_t c = 0; c < channels; ++c) {
    int64_t sum = 0;
    for (int64_t i = 0; i < inner; ++i) {
      sum += ir::literal_as_int(w, is_conv ? c * inner + i : i * channels + c);
    }
    ir::set_literal_element_int(result, c, -zero * sum);
  }
  return result;
}

// The product plus a number for each channel.
NodeId add_corrections(Graph& out, NodeId product, ir::Literal numbers, size_t axis,
                       const std::string& name) {
  const ir::Shape shape = out.node(product).type.shape;
  ir::Shape aligned(shape.size(), 1);
  aligned[axis] = shape[axis];
  numbers.type.shape = aligned;
  const NodeId constant = out.add_constant(std::move(numbers), name);
  const NodeId each = out.add(Op::kBroadcast, {constant}, ir::BroadcastAttrs{shape}, name);
  return out.add(Op::kAdd, {product, each}, {}, name);
}

NodeId as_unsigned(Graph& out, Bytes& bytes, const std::string& name) {
  NodeId x = bytes.x;
  for (const ir::Shape& shape : bytes.shapes) {
    x = out.add(Op::kReshape, {x}, ir::ReshapeAttrs{shape}, name);
  }
  const ir::TensorType type = out.node(x).type;
  if (type.dtype == DType::kUInt8) return x;
  bytes.zero += 128;
  const NodeId bits = out.add(Op::kBitcast, {x}, ir::CastAttrs{DType::kUInt8}, name);
  const NodeId sign = out.add_splat({DType::kUInt8, type.shape}, 128);
  return out.add(Op::kXor, {bits, sign}, {}, name);
}

// Takes the pads away from `attrs`.
NodeId pad_bytes(Graph& out, NodeId x, int64_t value, ir::ConvAttrs& attrs,
                 const std::string& name) {
  const auto is_none = [](int64_t pad) { return pad == 0; };
  if (value == 0 || (std::all_of(attrs.pads_begin.begin(), attrs.pads_begin.end(), is_none) &&
                     std::all_of(attrs.pads_end.begin(), attrs.pads_end.end(), is_none))) {
    return x;
  }
  ir::PadAttrs pad{{0, 0}, {0, 0}, ir::PadMode::kConstant, static_cast<double>(value)};
  pad.before.insert(pad.before.end(), attrs.pads_begin.begin(), attrs.pads_begin.end());
  pad.after.insert(pad.after.end(), attrs.pads_end.begin(), attrs.pads_end.end());
  std::fill(attrs.pads_begin.begin(), attrs.pads_begin.end(), 0);
  std::fill(attrs.pads_end.begin(), attrs.pads_end.end(), 0);
  return out.add(Op::kPad, {x}, pad, name);
}

NodeId multiply_bytes(Graph& out, const Node& node) {
  const bool is_conv = node.op == Op::kConv;
  if ((!is_conv && node.op != Op::kMatMul) || node.type.dtype != DType::kInt32) return kNoNode;
  std::optional<Bytes> bytes = bytes_of(out, node.inputs[0]);
  if (!bytes || node.type.elements() == 0) return kNoNode;
  const NodeId w = narrow_weights(out, node.inputs[1]);
  if (w == kNoNode) return kNoNode;
  const ir::Literal& numbers = weights_literal(out, w);
  // All batches share the corrections.
  if (!is_conv && numbers.type.elements() !=
                      node.type.shape.back() * out.node(node.inputs[0]).type.shape.back()) {
    return kNoNode;
  }
  NodeId x = as_unsigned(out, *bytes, node.name);
  ir::Literal correction = corrections(numbers, is_conv, bytes->zero);
  ir::Attrs attrs = node.attrs;
  if (is_conv) {
    ir::ConvAttrs conv = node.as<ir::ConvAttrs>();
    x = pad_bytes(out, x, bytes->zero, conv, node.name);
    attrs = conv;
  }
  const NodeId product = out.add(node.op, {x, w}, std::move(attrs), node.name);
  if (bytes->zero == 0) return product;
  const size_t axis = is_conv ? 1 : node.type.shape.size() - 1;
  return add_corrections(out, product, std::move(correction), axis, node.name);
}

}  // namespace

Graph byte_products(const Graph& graph) {
  return rewrite(graph, multiply_bytes);
}

}  // namespace camshaft::passes
