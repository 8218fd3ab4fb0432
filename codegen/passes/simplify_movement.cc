// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <utility>

#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::Shape;

// --- Nodes that move nothing ---

bool moves_nothing(const Graph& graph, const Node& node) {
  const Shape& from = graph.node(node.inputs[0]).type.shape;
  switch (node.op) {
    case Op::kReshape:
    case Op::kBroadcast:
    case Op::kPad:  // amounts are not negative: no growth, no padding
      return from == node.type.shape;
    case Op::kTranspose: {
      const std::vector<int>& perm = node.as<ir::TransposeAttrs>().perm;
      return std::is_sorted(perm.begin(), perm.end());
    }
    case Op::kSlice: {
      const auto& attrs = node.as<ir::SliceAttrs>();
      if (from != node.type.shape) return false;
      // All of an axis, not backwards; the step over a single element does not matter.
      for (size_t axis = 0; axis < from.size(); ++axis) {
        if (from[axis] > 1 && attrs.step[axis] != 1) return false;
      }
      return true;
    }
    default:
      return node.inputs.size() == 1;  // a Concat of one
  }
}

// --- Two of a kind ---

NodeId merge_transposes(Graph& out, const Node& node, const Node& inner) {
  ir::TransposeAttrs attrs;
  for (const int axis : node.as<ir::TransposeAttrs>().perm) {
    attrs.perm.push_back(inner.as<ir::TransposeAttrs>().perm[static_cast<size_t>(axis)]);
  }
  return out.add(Op::kTranspose, {inner.inputs[0]}, attrs, node.name);
}

NodeId merge_slices(Graph& out, const Node& node, const Node& inner) {
  ir::SliceAttrs attrs = node.as<ir::SliceAttrs>();
  const auto& first = inner.as<ir::SliceAttrs>();
  if (node.type.elements() == 0) return kNoNode;
  for (size_t axis = 0; axis < attrs.begin.size(); ++axis) {
    attrs.begin[axis] = first.begin[axis] + attrs.begin[axis] * first.step[axis];
    // A single element has no step; the product could overflow.
    attrs.step[axis] = attrs.extent[axis] == 1 ? 1 : attrs.step[axis] * first.step[axis];
  }
  return out.add(Op::kSlice, {inner.inputs[0]}, attrs, node.name);
}

// Whether zero and friends are the same bits: 0 and -0 differ, NaN equals itself.
bool same_fill(double a, double b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

NodeId merge_pads_of_pads(Graph& out, const Node& node, const Node& inner) {
  ir::PadAttrs attrs = node.as<ir::PadAttrs>();
  const auto& first = inner.as<ir::PadAttrs>();
  if (attrs.mode != ir::PadMode::kConstant || first.mode != attrs.mode ||
      !same_fill(attrs.value, first.value)) {
    return kNoNode;
  }
  for (size_t axis = 0; axis < attrs.before.size(); ++axis) {
    attrs.before[axis] += first.before[axis];
    attrs.after[axis] += first.after[axis];
  }
  return out.add(Op::kPad, {inner.inputs[0]}, attrs, node.name);
}

NodeId flatten_concat(Graph& out, const Node& node) {
  const int axis = node.as<ir::ConcatAttrs>().axis;
  std::vector<NodeId> pieces;
  for (const NodeId id : node.inputs) {
    const Node& piece = out.node(id);
    if (piece.op == Op::kConcat && piece.as<ir::ConcatAttrs>().axis == axis) {
      pieces.insert(pieces.end(), piece.inputs.begin(), piece.inputs.end());
    } else {
      pieces.push_back(id);
    }
  }
  // Empty pieces add nothing, unless there is nothing else.
  if (node.type.elements() > 0) {
    std::erase_if(pieces, [&](NodeId id) { return out.node(id).type.elements() == 0; });
  }
  if (pieces == node.inputs) return kNoNode;
  return out.add(Op::kConcat, std::move(pieces), node.attrs, node.name);
}

NodeId merge_with_operand(Graph& out, const Node& node) {
  const Node inner = out.node(node.inputs[0]);
  if (node.op == Op::kConcat) return flatten_concat(out, node);
  if (inner.op != node.op) return kNoNode;
  switch (node.op) {
    case Op::kReshape:
    case Op::kBroadcast:
      return out.add(node.op, {inner.inputs[0]}, node.attrs, node.name);
    case Op::kTranspose:
      return merge_transposes(out, node, inner);
    case Op::kSlice:
      return merge_slices(out, node, inner);
    default:
      return merge_pads_of_pads(out, node, inner);
  }
}

// --- Other pairs ---

// A Transpose that keeps the order of all axes with more than one element.
bool moves_unit_axes_only(const Graph& graph, const Node& node) {
  const Shape& from = graph.node(node.inputs[0]).type.shape;
  int previous = -1;
  for (const int axis : node.as<ir::TransposeAttrs>().perm) {
    if (from[static_cast<size_t>(axis)] == 1) continue;
    if (axis < previous) return false;
    previous = axis;
  }
  return true;
}

// First and last index that a slice takes on an axis, in rising order.
std::pair<int64_t, int64_t> span_of(const ir::SliceAttrs& attrs, size_t axis) {
  const int64_t begin = attrs.begin[axis];
  const int64_t last = begin + (attrs.extent[axis] - 1) * attrs.step[axis];
  return std::minmax(begin, last);
}

NodeId slice_of_concat(Graph& out, const Node& node, const Node& concat) {
  ir::SliceAttrs attrs = node.as<ir::SliceAttrs>();
  const auto axis = static_cast<size_t>(concat.as<ir::ConcatAttrs>().axis);
  const auto [first, last] = span_of(attrs, axis);
  int64_t start = 0;
  for (const NodeId piece : concat.inputs) {
    const int64_t end = start + out.node(piece).type.shape[axis];
    if (first >= start && last < end) {
      attrs.begin[axis] -= start;
      return out.add(Op::kSlice, {piece}, attrs, node.name);
    }
    start = end;
  }
  return kNoNode;
}

NodeId slice_of_pad(Graph& out, const Node& node, const Node& pad) {
  ir::SliceAttrs attrs = node.as<ir::SliceAttrs>();
  const Shape& from = out.node(pad.inputs[0]).type.shape;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const int64_t before = pad.as<ir::PadAttrs>().before[axis];
    const auto [first, last] = span_of(attrs, axis);
    if (first < before || last >= before + from[axis]) return kNoNode;
    attrs.begin[axis] -= before;
  }
  return out.add(Op::kSlice, {pad.inputs[0]}, attrs, node.name);
}

NodeId simplify_pair(Graph& out, const Node& node) {
  if (node.op == Op::kTranspose && moves_unit_axes_only(out, node)) {
    return out.add(Op::kReshape, node.inputs, ir::ReshapeAttrs{node.type.shape}, node.name);
  }
  if (node.op != Op::kSlice || node.type.elements() == 0) return kNoNode;
  const Node inner = out.node(node.inputs[0]);
  if (inner.op == Op::kConcat) return slice_of_concat(out, node, inner);
  if (inner.op == Op::kPad) return slice_of_pad(out, node, inner);
  return kNoNode;
}

NodeId simplify(Graph& out, const Node& node) {
  if (!ir::is_movement(node.op)) return kNoNode;
  if (moves_nothing(out, node)) return node.inputs[0];
  const NodeId merged = merge_with_operand(out, node);
  return merged != kNoNode ? merged : simplify_pair(out, node);
}

}  // namespace

Graph simplify_movement(const Graph& graph) {
  return rewrite(graph, simplify);
}

}  // namespace camshaft::passes
