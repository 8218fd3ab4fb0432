// SPDX-License-Identifier: MIT
// Which regions are attentions.
#include <algorithm>
#include <set>

#include "codegen/lower/attention_plan.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::Op;

// The nodes of a region that are computed from one of them, and how.
class Dependents {
 public:
  Dependents(const Task& task, NodeId from) : task_(task), members_({from}) {
    for (const NodeId id : task.region.nodes) {
      const std::vector<NodeId>& inputs = task.node(id).inputs;
      const bool depends = std::any_of(inputs.begin(), inputs.end(),
                                       [&](NodeId input) { return members_.count(input) > 0; });
      if (depends) members_.insert(id);
    }
  }

  bool has(NodeId id) const { return members_.count(id) > 0; }

  // Whether all ways from `from` to `to` pass through one of `by`, if at all, and lie over nodes
  // that `allows` allows otherwise.
  template <typename Allows>
  bool leads(NodeId to, const std::set<NodeId>& by, const Allows& allows) const {
    if (!has(to) || by.count(to) > 0) return true;
    if (!allows(task_.node(to))) return false;
    const std::vector<NodeId>& inputs = task_.node(to).inputs;
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](NodeId input) { return leads(input, by, allows); });
  }

 private:
  const Task& task_;
  std::set<NodeId> members_;
};

// The only structured nodes of a region: two products and two reductions between them.
bool find_structured(const Task& task, Attention& a) {
  std::vector<NodeId> found;
  for (const NodeId id : task.region.nodes) {
    const Op op = task.node(id).op;
    if (ir::is_structured(op) && op != Op::kGather) found.push_back(id);
  }
  if (found.size() != 4) return false;
  const auto is_reduce = [&](NodeId id, ir::ReduceKind kind) {
    const ir::Node& node = task.node(id);
    if (node.op != Op::kReduce || node.type.rank() == 0) return false;
    const auto& attrs = node.as<ir::ReduceAttrs>();
    return attrs.kind == kind && attrs.axes == std::vector<int>{node.type.rank() - 1};
  };
  a.scores = found[0];
  a.maximum = found[1];
  a.sum = found[2];
  a.product = found[3];
  return task.node(a.scores).op == Op::kMatMul && is_reduce(a.maximum, ir::ReduceKind::kMax) &&
         is_reduce(a.sum, ir::ReduceKind::kSum) && a.product == task.region.root &&
         task.node(a.product).op == Op::kMatMul;
}

bool is_f32(const Task& task, NodeId id) {
  return task.type(id).dtype == DType::kFloat32;
}

// Of probabilities that need not be rounded as they have no memory.
bool only_rounds(const ir::Node& node) {
  return node.op == Op::kCast && ir::is_half(node.type.dtype);
}

NodeId without_rounding(const Task& task, NodeId id) {
  while (only_rounds(task.node(id))) id = task.node(id).inputs[0];
  return id;
}

// exp(logits - maximum), where a maximum that is infinite may be another number.
bool are_exponentials(const Task& task, const Attention& a) {
  const ir::Node& power = task.node(a.powers);
  if (power.op != Op::kExp) return false;
  const ir::Node& difference = task.node(power.inputs[0]);
  if (difference.op != Op::kSub || difference.inputs[0] != a.logits) return false;
  const ir::Node& broadcast = task.node(difference.inputs[1]);
  if (broadcast.op != Op::kBroadcast) return false;
  const NodeId from = broadcast.inputs[0];
  const ir::Node& number = task.node(from);
  return from == a.maximum || (number.op == Op::kSelect && number.inputs[2] == a.maximum);
}

// Whether the region's nodes are those of an attention, and nothing else.
bool has_form(const Task& task, const Attention& a) {
  const Dependents of_scores(task, a.scores);
  const auto keeps_order = [](const ir::Node& node) {
    return ir::is_elementwise(node.op) || node.op == Op::kReshape;
  };
  const auto is_of_row = [&](const ir::Node& node) {
    const bool is_full = node.type.shape == task.type(a.logits).shape;
    const bool is_number = node.type.shape == task.type(a.maximum).shape;
    return (is_full || is_number) && (ir::is_elementwise(node.op) || node.op == Op::kBroadcast);
  };
  const auto passes_on = [](const ir::Node& node) {
    return node.op == Op::kReshape || only_rounds(node);
  };
  return !of_scores.has(a.v) && are_exponentials(task, a) &&
         of_scores.leads(a.logits, {a.scores}, keeps_order) &&
         of_scores.leads(a.powers, {a.logits, a.maximum}, is_of_row) &&
         of_scores.leads(a.probabilities, {a.powers, a.maximum, a.sum}, is_of_row) &&
         of_scores.leads(task.node(a.product).inputs[0], {a.probabilities}, passes_on);
}

// The number that exponentials of a row are divided by.
NodeId divisor_of(const Task& task, const Attention& a) {
  const ir::Node& quotient = task.node(a.probabilities);
  if (quotient.op != Op::kDiv || quotient.inputs[0] != a.powers) return ir::kNoNode;
  const ir::Node& broadcast = task.node(quotient.inputs[1]);
  if (broadcast.op != Op::kBroadcast) return ir::kNoNode;
  const NodeId divisor = broadcast.inputs[0];
  return task.type(divisor).shape == task.type(a.sum).shape ? divisor : ir::kNoNode;
}

// The transposes and reshapes that the region ends with.
std::vector<NodeId> moved_at_the_end(const Task& task) {
  std::vector<NodeId> moved;
  NodeId id = task.region.output;
  for (; task.node(id).op == Op::kTranspose || task.node(id).op == Op::kReshape;
       id = task.node(id).inputs[0]) {
    moved.insert(moved.begin(), id);
  }
  return moved;
}

void measure(const Task& task, Attention& a) {
  const ir::Shape& q = task.type(a.q).shape;
  a.batch_shape.assign(q.begin(), q.end() - 2);
  for (const int64_t extent : a.batch_shape) a.batches *= extent;
  const ir::Shape& full = task.type(a.logits).shape;
  a.row_shape.assign(full.begin(), full.end() - 1);
  a.rows = q[q.size() - 2];
  a.depth = q.back();
  a.keys = task.type(a.scores).shape.back();
  a.columns = task.type(a.product).shape.back();
  a.lanes = 1;
  const int64_t widest = task.target.lanes(DType::kFloat32);
  while (a.lanes < widest && a.lanes < std::max(a.keys, a.columns)) a.lanes *= 2;
}
}  // namespace

std::optional<Attention> find_attention(const Task& task) {
  const Region& region = task.region;
  if (region.inner == ir::kNoNode || region.pooled != ir::kNoNode || !task.has_root(Op::kMatMul) ||
      task.target.is_gpu || task.has_images()) {
    return std::nullopt;
  }
  Attention a;
  if (!find_structured(task, a)) return std::nullopt;
  a.q = task.node(a.scores).inputs[0];
  a.k = task.node(a.scores).inputs[1];
  a.v = task.node(a.product).inputs[1];
  a.logits = task.node(a.maximum).inputs[0];
  a.powers = task.node(a.sum).inputs[0];
  a.probabilities = without_rounding(task, region.inner);
  const std::vector<NodeId> floats = {a.scores, a.product, a.logits, a.powers, a.probabilities};
  const bool are_floats =
      std::all_of(floats.begin(), floats.end(), [&](NodeId id) { return is_f32(task, id); });
  const ir::Shape& full = task.type(a.logits).shape;
  const bool have_shapes =
      task.type(a.powers).shape == full && task.type(a.probabilities).shape == full &&
      task.type(a.scores).shape == task.type(task.node(a.product).inputs[0]).shape &&
      full.back() == task.type(a.scores).shape.back() && task.type(a.product).elements() > 0 &&
      task.type(a.q).elements() > 0 && task.type(a.scores).elements() > 0;
  if (!are_floats || !have_shapes || !has_form(task, a)) return std::nullopt;
  a.exponents = task.node(a.powers).inputs[0];
  a.divisor = divisor_of(task, a);
  a.moved = moved_at_the_end(task);
  measure(task, a);
  if (a.divisor != ir::kNoNode) a.seen = seen_keys(task, a);
  return a;
}
}  // namespace camshaft::lower
