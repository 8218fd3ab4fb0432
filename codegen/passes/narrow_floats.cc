// SPDX-License-Identifier: MIT
// The design, in short. What lies in memory is narrow: the operands of products, known weights
// among them, and what the caller names. A value is narrowed where it is made, by a Cast behind it,
// and widened wherever it is read, by a Cast in front of each reader, so that both fuse with the
// arithmetic around them, which stays in f32. Movement and pools pass narrow values on. What the
// caller gives and gets keeps its type; convolutions of an input, which has few channels, stay as
// they are, unless the target makes something of few channels. Depthwise convolutions read each
// value for a few multiply-adds only, so that widening would cost about as much: they are narrow
// only where their operand is anyway.
#include <utility>

#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using base::DType;
using ir::Op;

// Products in a sum of a convolution of an input that is worth being narrow. Measured on Sapphire
// Rapids: with 27 (3x3 of 3 channels) as fast, narrowing the image included; with 54 twice as fast.
constexpr int64_t kLeastDepth = 32;

class Narrower {
 public:
  Narrower(const Graph& graph, DType dtype, const std::set<NodeId>& stored,
           const std::set<NodeId>& rounded, bool of_inputs)
      : graph_(graph),
        dtype_(dtype),
        rounded_(rounded),
        of_inputs_(of_inputs),
        rewriter_(graph),
        is_narrow_(static_cast<size_t>(graph.size()), false),
        narrow_(static_cast<size_t>(graph.size()), kNoNode) {
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (!is_narrow_product(id) || is_depthwise(graph, id)) continue;
      for (const NodeId operand : graph.node(id).inputs) mark(operand);
    }
    for (const NodeId id : stored) mark(id);
    while (spread()) {
    }
  }

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op != Op::kInput) add(id, node);
    }
    return rewriter_.finish();
  }

 private:
  static size_t index(NodeId id) { return static_cast<size_t>(id); }
  bool is_narrow(NodeId id) const { return is_narrow_[index(id)]; }
  // What passes its operand's elements on as they are, or the largest or the mean of some.
  static bool passes_on(Op op) { return ir::is_movement(op) || op == Op::kPool; }

  bool comes_from_input(NodeId id) const {
    while (ir::is_movement(graph_.node(id).op)) id = graph_.node(id).inputs[0];
    return graph_.node(id).op == Op::kInput;
  }

  bool is_narrow_product(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op != Op::kConv && node.op != Op::kMatMul) return false;
    if (graph_.node(node.inputs[0]).type.dtype != DType::kFloat32) return false;
    if (node.op == Op::kMatMul || !comes_from_input(node.inputs[0])) return true;
    const ir::TensorType& w = graph_.node(node.inputs[1]).type;
    return of_inputs_ && w.elements() >= kLeastDepth * w.shape[0];
  }

  bool mark(NodeId id) {
    if (is_narrow(id) || graph_.node(id).type.dtype != DType::kFloat32) return false;
    is_narrow_[index(id)] = true;
    return true;
  }

  // Movement takes narrow operands to be narrow, a pool too, and is narrow if its operand is.
  bool spread() {
    bool changed = false;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!passes_on(node.op)) continue;
      if (is_narrow(id)) {
        for (const NodeId operand : node.inputs) changed |= mark(operand);
      } else if (node.op == Op::kPool && is_narrow(node.inputs[0])) {
        changed |= mark(id);
      }
    }
    return changed;
  }

  NodeId cast(NodeId id, DType to, const std::string& name) {
    Graph& out = rewriter_.out();
    // A half that was widened before.
    const Node& node = out.node(id);
    if (node.op == Op::kCast && out.node(node.inputs[0]).type.dtype == to) return node.inputs[0];
    return out.add(Op::kCast, {id}, ir::CastAttrs{to}, name);
  }

  // The old node in the narrow dtype.
  NodeId narrow(NodeId id) {
    NodeId& result = narrow_[index(id)];
    if (result == kNoNode) result = cast(rewriter_.at(id), dtype_, graph_.node(id).name);
    return result;
  }

  // The old node as an operand of an operation in f32.
  NodeId operand(NodeId id) {
    const Op op = graph_.node(id).op;
    if (!is_narrow(id) || op == Op::kConstant || op == Op::kInput) return rewriter_.at(id);
    return rewriter_.out().add(Op::kCast, {narrow(id)}, ir::CastAttrs{DType::kFloat32},
                               graph_.node(id).name);
  }

  NodeId rounded(NodeId made, const std::string& name) {
    Graph& out = rewriter_.out();
    const NodeId narrow = out.add(Op::kCast, {made}, ir::CastAttrs{dtype_}, name);
    return out.add(Op::kCast, {narrow}, ir::CastAttrs{DType::kFloat32}, name);
  }

  void add(NodeId id, Node node) {
    const bool passes_narrow = is_narrow(id) && passes_on(node.op);
    const bool multiplies = is_narrow_product(id) &&
                            (!is_depthwise(graph_, id) || is_narrow(graph_.node(id).inputs[0]));
    const bool reads_narrow = passes_narrow || multiplies;
    for (NodeId& from : node.inputs) from = reads_narrow ? narrow(from) : operand(from);
    NodeId made = add_node(rewriter_.out(), node);
    if (rounded_.contains(id) && !is_narrow(id)) made = rounded(made, node.name);
    if (passes_narrow) narrow_[index(id)] = made;
    rewriter_.replace(id, passes_narrow ? cast(made, DType::kFloat32, node.name) : made);
  }

  const Graph& graph_;
  const DType dtype_;
  const std::set<NodeId>& rounded_;
  const bool of_inputs_;
  Rewriter rewriter_;
  std::vector<bool> is_narrow_;  // by old id
  std::vector<NodeId> narrow_;   // by old id: the narrow value, once there is one
};

}  // namespace

bool is_depthwise(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != Op::kConv) return false;
  const int64_t groups = node.as<ir::ConvAttrs>().groups;
  return groups > 1 && groups == graph.node(node.inputs[0]).type.shape[1];
}

Graph narrow_floats(const Graph& graph, base::DType dtype, const std::set<NodeId>& stored,
                    const std::set<NodeId>& rounded, bool of_inputs) {
  return fold_constants(remove_dead(Narrower(graph, dtype, stored, rounded, of_inputs).run()));
}

}  // namespace camshaft::passes
