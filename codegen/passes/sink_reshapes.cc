// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "codegen/ir/graph_constants.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/reshape_groups.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::Shape;

// The Conv, MatMul or Pool that `id` follows through elementwise nodes and first operands: what its
// computation will fuse with. kNoNode if none.
NodeId fusion_root(const Graph& graph, NodeId id) {
  constexpr int kMaxSteps = 32;
  for (int step = 0; step < kMaxSteps; ++step) {
    const Node& node = graph.node(id);
    if (node.op == Op::kConv || node.op == Op::kMatMul || node.op == Op::kPool) return id;
    if (!ir::is_elementwise(node.op)) return kNoNode;
    id = node.inputs[0];
  }
  return kNoNode;
}

// Brings one operand of an elementwise node to the shape that another has before its Reshape.
class OperandReshaper {
 public:
  // `root`: fusion_root() of the other operand.
  OperandReshaper(Graph& out, Shape shape, NodeId root)
      : out_(out), shape_(std::move(shape)), root_(root) {}

  // The operand in the new shape if that costs nothing, else kNoNode.
  NodeId reshape(NodeId id) const {
    const Node node = out_.node(id);
    if (node.op == Op::kReshape && out_.node(node.inputs[0]).type.shape == shape_) {
      return node.inputs[0];
    }
    if (node.op == Op::kBroadcast) return reshape_broadcast(node);
    if (node.op == Op::kConstant || is_residual(id)) {
      return out_.add(Op::kReshape, {id}, ir::ReshapeAttrs{shape_}, node.name);
    }
    return kNoNode;
  }

 private:
  NodeId reshape_broadcast(const Node& node) const {
    const NodeId source = node.inputs[0];
    const std::optional<Shape> small =
        reshaped_source(out_.node(source).type.shape, node.type.shape, shape_);
    if (!small) return kNoNode;
    const NodeId reshaped = out_.add(Op::kReshape, {source}, ir::ReshapeAttrs{*small}, node.name);
    return out_.add(Op::kBroadcast, {reshaped}, ir::BroadcastAttrs{shape_}, node.name);
  }

  // A value made before the root, which joins its region as a second operand. It must not follow a
  // root or a Reshape of its own: two such operands would send the Reshape back and forth.
  bool is_residual(NodeId id) const {
    return root_ != kNoNode && id < root_ && out_.node(id).op != Op::kReshape &&
           fusion_root(out_, id) == kNoNode;
  }

  Graph& out_;
  const Shape shape_;
  const NodeId root_;
};

// op(Reshape(x), y, ...) -> Reshape(op(x, y in x's shape, ...)), led by operand `lead`.
NodeId sink_from(Graph& out, const Node& node, NodeId lead) {
  if (out.node(lead).op != Op::kReshape) return kNoNode;
  const NodeId source = out.node(lead).inputs[0];
  if (out.node(source).op == Op::kConstant) return kNoNode;  // fold_constants reshapes it
  const Shape shape = out.node(source).type.shape;
  const OperandReshaper reshaper(out, shape, fusion_root(out, source));
  std::vector<NodeId> operands;
  for (const NodeId operand : node.inputs) {
    operands.push_back(reshaper.reshape(operand));
    if (operands.back() == kNoNode) return kNoNode;
  }
  const NodeId moved = out.add(node.op, std::move(operands), node.attrs, node.name);
  return out.add(Op::kReshape, {moved}, ir::ReshapeAttrs{node.type.shape}, node.name);
}

// Axes of the operand of a Reshape to reduce instead of those of its result; nothing if they don't
// line up.
std::optional<std::vector<int>> axes_before_reshape(const Shape& from, const Shape& to,
                                                    const std::vector<int>& axes) {
  const auto groups = reshape_groups(from, to);
  if (!groups) return std::nullopt;
  std::vector<int> result;
  for (const ReshapeGroup& group : *groups) {
    int64_t reduced = 0;
    int64_t kept = 0;
    for (size_t axis = group.to_begin; axis < group.to_end; ++axis) {
      if (to[axis] == 1) continue;
      ++(std::count(axes.begin(), axes.end(), static_cast<int>(axis)) > 0 ? reduced : kept);
    }
    if (reduced > 0 && kept > 0) return std::nullopt;
    for (size_t axis = group.from_begin; reduced > 0 && axis < group.from_end; ++axis) {
      result.push_back(static_cast<int>(axis));
    }
  }
  return result;
}

NodeId sink_through_reduce(Graph& out, const Node& node) {
  const Node reshape = out.node(node.inputs[0]);
  if (reshape.op != Op::kReshape) return kNoNode;
  const auto& attrs = node.as<ir::ReduceAttrs>();
  const auto axes =
      axes_before_reshape(out.node(reshape.inputs[0]).type.shape, reshape.type.shape, attrs.axes);
  if (!axes) return kNoNode;
  const NodeId moved =
      out.add(Op::kReduce, reshape.inputs, ir::ReduceAttrs{attrs.kind, *axes}, node.name);
  return out.add(Op::kReshape, {moved}, ir::ReshapeAttrs{node.type.shape}, node.name);
}

NodeId sink(Graph& out, const Node& node) {
  if (node.op == Op::kReduce) return sink_through_reduce(out, node);
  if (!ir::is_elementwise(node.op)) return kNoNode;
  for (const NodeId lead : node.inputs) {
    if (const NodeId moved = sink_from(out, node, lead); moved != kNoNode) return moved;
  }
  return kNoNode;
}

}  // namespace

Graph sink_reshapes(const Graph& graph) {
  return rewrite(graph, sink);
}

}  // namespace camshaft::passes
