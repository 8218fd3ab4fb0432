// SPDX-License-Identifier: MIT
// What a region costs and how people read it.
#include <string>

#include "codegen/lower/lower.h"

namespace camshaft::lower {
namespace {

using ir::Op;

int64_t node_flops(const Task& task, NodeId id) {
  const ir::Node& node = task.node(id);
  const int64_t elements = node.type.elements();
  switch (node.op) {
    case Op::kConv: {
      const ir::Shape& w = task.type(node.inputs[1]).shape;
      int64_t taps = 1;
      for (size_t axis = 1; axis < w.size(); ++axis) taps *= w[axis];
      return 2 * elements * taps;
    }
    case Op::kMatMul:
      return 2 * elements * task.type(node.inputs[0]).shape.back();
    case Op::kPool: {
      int64_t taps = 1;
      for (int64_t extent : node.as<ir::PoolAttrs>().kernel) taps *= extent;
      return elements * taps;
    }
    case Op::kReduce:
    case Op::kArgReduce:
    case Op::kScan:
    case Op::kTopK:
      return task.type(node.inputs[0]).elements();
    default:
      return ir::is_elementwise(node.op) && node.op != Op::kCast ? elements : 0;
  }
}

std::string shape_text(const ir::TensorType& type) {
  std::string text;
  for (int64_t extent : type.shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

std::string shape_list(const ir::Shape& shape) {
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::string conv_text(const Task& task, const ir::Node& conv) {
  const auto& attrs = conv.as<ir::ConvAttrs>();
  const ir::Shape& w = task.type(conv.inputs[1]).shape;
  std::string text = " k" + shape_list({w.begin() + 2, w.end()}) + " s" + shape_list(attrs.strides);
  if (attrs.groups != 1) text += " g" + std::to_string(attrs.groups);
  return text;
}

// The convolution whose result the region computes a part at a time, or null.
const ir::Node* inner_conv(const Task& task) {
  for (const NodeId id : task.region.nodes) {
    if (id <= task.region.inner && task.node(id).op == Op::kConv) return &task.node(id);
  }
  return nullptr;
}

// The products of a region that has one or, with a softmax between them, two.
std::string product_text(const Task& task) {
  std::string text;
  for (const NodeId id : task.region.nodes) {
    const ir::Node& node = task.node(id);
    if (node.op != Op::kMatMul) continue;
    text += text.empty() ? shape_text(task.type(node.inputs[0])) : ", softmax,";
    text += " * " + shape_text(task.type(node.inputs[1]));
  }
  return text;
}

}  // namespace

int64_t region_flops(const Task& task) {
  int64_t flops = 0;
  for (NodeId id : task.region.nodes) flops += node_flops(task, id);
  return flops;
}

int64_t region_bytes(const Task& task) {
  int64_t bytes = task.type(task.region.output).size_bytes();
  if (task.region.pooled != ir::kNoNode) bytes += task.type(task.region.pooled).size_bytes();
  for (NodeId leaf : task.region.leaves) bytes += task.type(leaf).size_bytes();
  return bytes;
}

std::string region_description(const Task& task) {
  const ir::TensorType& output = task.type(task.region.output);
  if (task.region.root == ir::kNoNode) return shape_text(output);
  const ir::Node& root = task.node(task.region.root);
  const ir::Node* inner = task.region.inner == ir::kNoNode ? nullptr : inner_conv(task);
  std::string text = shape_text(task.type((inner != nullptr ? *inner : root).inputs[0]));
  if (root.op == Op::kMatMul) text = product_text(task);
  text += " -> " + shape_text(output);
  if (root.op == Op::kConv) {
    if (inner != nullptr) text += conv_text(task, *inner) + " +";
    text += conv_text(task, root);
    if (task.region.pooled != ir::kNoNode) text += " + reduce";
  } else if (root.op == Op::kPool) {
    const auto& attrs = root.as<ir::PoolAttrs>();
    text += " k" + shape_list(attrs.kernel) + " s" + shape_list(attrs.strides);
  }
  return text;
}

}  // namespace camshaft::lower
