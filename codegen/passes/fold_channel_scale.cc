// SPDX-License-Identifier: MIT
// Follows the chain of single readers behind each Conv and MatMul, gathers what it does to each
// output channel as scale and shift, and rebuilds it where that leaves less to compute.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/reshape_groups.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::Shape;
using Channels = std::vector<double>;  // a number for each output channel

// --- Constants by channel ---

// The elements of a constant along `axis`, if it depends on nothing else; after Broadcast, too.
std::optional<Channels> channel_constant(const Graph& graph, NodeId id, size_t axis) {
  const Node& node = graph.node(id);
  const auto channels = static_cast<size_t>(node.type.shape[axis]);
  if (const std::optional<double> value = ir::splat_value(graph, id)) {
    return Channels(channels, *value);
  }
  const NodeId source = node.op == Op::kBroadcast ? node.inputs[0] : id;
  const ir::Literal* literal = ir::literal_of(graph, source);
  if (literal == nullptr || literal->type.elements() != node.type.shape[axis]) return std::nullopt;
  if (literal->type.shape[axis] != node.type.shape[axis]) return std::nullopt;
  Channels values(channels);
  for (size_t i = 0; i < channels; ++i) {
    values[i] = ir::literal_as_double(*literal, static_cast<int64_t>(i));
  }
  return values;
}

// --- The weights ---

// Which operand holds the weights, and which of its axes and of the result's is the output channel.
struct Weights {
  int operand = 1;
  size_t axis = 0;
  size_t result_axis = 1;
};

// The constant weights of a root and the Broadcast over them, which may stretch batch axes only.
const ir::Literal* weights_literal(const Graph& graph, NodeId root, const Weights& weights) {
  const NodeId id = graph.node(root).inputs[static_cast<size_t>(weights.operand)];
  const Node& node = graph.node(id);
  const ir::Literal* literal =
      ir::literal_of(graph, node.op == Op::kBroadcast ? node.inputs[0] : id);
  if (literal == nullptr || literal->type.shape[weights.axis] != node.type.shape[weights.axis]) {
    return nullptr;
  }
  return literal;
}

std::optional<Weights> find_weights(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!base::is_float(node.type.dtype)) return std::nullopt;
  std::vector<Weights> candidates;
  if (node.op == Op::kConv) {
    candidates = {{1, 0, 1}};
  } else if (node.op == Op::kMatMul) {
    const size_t rank = node.type.shape.size();
    candidates = {{1, rank - 1, rank - 1}, {0, rank - 2, rank - 2}};
  }
  for (const Weights& weights : candidates) {
    if (weights_literal(graph, id, weights) != nullptr) return weights;
  }
  return std::nullopt;
}

// What numbers of a dtype are computed with.
struct Precision {
  double smallest;  // that is not flushed to zero; narrow floats are widened before
  double epsilon;
};

Precision precision_of(base::DType dtype) {
  switch (dtype) {
    case base::DType::kFloat64:
      return {0x1p-1022, 0x1p-52};
    case base::DType::kFloat16:
      return {0x1p-24, 0x1p-10};
    case base::DType::kBFloat16:
      return {0x1p-126, 0x1p-7};
    default:
      return {0x1p-126, 0x1p-23};
  }
}

// Scaled weights of one output channel.
class ScaledChannel {
 public:
  explicit ScaledChannel(Precision precision) : precision_(precision) {}

  // `scaled` is what is left of weight * scale.
  void add(double weight, double scale, double scaled) {
    const long double exact = static_cast<long double>(weight) * scale;
    is_finite_ = is_finite_ && (std::isfinite(scaled) || !std::isfinite(weight));
    if (!std::isfinite(scaled)) return;
    const double used = std::abs(scaled) < precision_.smallest ? 0 : scaled;
    largest_ = std::max(largest_, std::abs(exact));
    // A weight that was flushed before is none that was lost.
    if (std::abs(weight) < precision_.smallest) return;
    lost_ = std::max(lost_, std::abs(exact - used));
  }

  // Whether all weights are in range, and what is lost of the smallest is little beside the others.
  bool is_precise() const { return is_finite_ && lost_ <= precision_.epsilon * largest_; }

 private:
  Precision precision_;
  bool is_finite_ = true;
  long double largest_ = 0;
  long double lost_ = 0;
};

// Each weight times the scale of its output channel, rounded once; nothing if one leaves the range
// of its dtype.
std::optional<ir::Literal> scale_weights(const ir::Literal& literal, size_t axis,
                                         const Channels& scale) {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < literal.type.shape.size(); ++i) inner *= literal.type.shape[i];
  ir::Literal result = ir::zero_literal(literal.type);
  std::vector<ScaledChannel> channels(scale.size(),
                                      ScaledChannel(precision_of(literal.type.dtype)));
  const int64_t count = literal.type.elements();
  int64_t at = 0;
  while (at < count) {
    for (size_t c = 0; c < scale.size(); ++c) {
      for (const int64_t end = at + inner; at < end; ++at) {
        const double weight = ir::literal_as_double(literal, at);
        ir::set_literal_element(result, at, weight * scale[c]);
        channels[c].add(weight, scale[c], ir::literal_as_double(result, at));
      }
    }
  }
  const bool is_precise =
      std::all_of(channels.begin(), channels.end(),
                  [](const ScaledChannel& channel) { return channel.is_precise(); });
  return is_precise ? std::optional(std::move(result)) : std::nullopt;
}

// --- The chain ---

// What the nodes from a root to `end` do to the root's result: y[channel] * scale + shift, moved by
// `moves` (old Reshape and Transpose nodes, in order).
struct Chain {
  NodeId root = kNoNode;
  NodeId end = kNoNode;
  Weights weights;
  Channels scale;
  Channels shift;
  bool scales = false;
  int shifts = 0;
  std::vector<NodeId> moves;

  bool is_worth_folding() const { return scales || shifts > 1; }
};

// The position of `axis` behind a Reshape or Transpose that keeps it apart from the other axes.
std::optional<size_t> moved_axis(const Graph& graph, const Node& move, size_t axis) {
  if (move.op == Op::kTranspose) {
    const std::vector<int>& perm = move.as<ir::TransposeAttrs>().perm;
    const auto found = std::find(perm.begin(), perm.end(), static_cast<int>(axis));
    return static_cast<size_t>(found - perm.begin());
  }
  const Shape& from = graph.node(move.inputs[0]).type.shape;
  const Shape& to = move.type.shape;
  const auto groups = reshape_groups(from, to);
  if (!groups) return std::nullopt;
  for (const ReshapeGroup& group : *groups) {
    if (axis < group.from_begin || axis >= group.from_end) continue;
    for (size_t i = group.to_begin; i < group.to_end; ++i) {
      // All of the group's elements lie on both axes: then they are the same one.
      int64_t elements = 1;
      for (size_t j = group.from_begin; j < group.from_end; ++j) elements *= from[j];
      if (from[axis] == elements && to[i] == elements) return i;
    }
  }
  return std::nullopt;
}

class ChainFinder {
 public:
  explicit ChainFinder(const Graph& graph)
      : graph_(graph),
        consumers_(ir::consumers_of(graph)),
        is_output_(static_cast<size_t>(graph.size()), false) {
    for (const ir::GraphOutput& output : graph.outputs) {
      is_output_[static_cast<size_t>(output.node)] = true;
    }
  }

  // The longest chain from `root` that ends in arithmetic.
  std::optional<Chain> find(NodeId root) const {
    const std::optional<Weights> weights = find_weights(graph_, root);
    if (!weights) return std::nullopt;
    const auto channels = static_cast<size_t>(graph_.node(root).type.shape[weights->result_axis]);
    Chain chain;
    chain.root = chain.end = root;
    chain.weights = *weights;
    chain.scale.assign(channels, 1);
    chain.shift.assign(channels, 0);
    Chain best = chain;
    size_t axis = weights->result_axis;
    for (NodeId id = root; extend(chain, id, axis);) {
      if (ir::is_elementwise(graph_.node(id).op)) {
        chain.end = id;
        best = chain;
      }
    }
    return best;
  }

 private:
  // Moves `id` on to its only reader and takes that in; false where the chain ends.
  bool extend(Chain& chain, NodeId& id, size_t& axis) const {
    const std::vector<NodeId>& readers = consumers_[static_cast<size_t>(id)];
    if (readers.size() != 1 || is_output_[static_cast<size_t>(id)]) return false;
    const Node& reader = graph_.node(readers[0]);
    if (reader.op == Op::kReshape || reader.op == Op::kTranspose) {
      const std::optional<size_t> moved = moved_axis(graph_, reader, axis);
      if (!moved) return false;
      axis = *moved;
      chain.moves.push_back(readers[0]);
    } else if (!take_arithmetic(chain, reader, id, axis)) {
      return false;
    }
    id = readers[0];
    return true;
  }

  bool take_arithmetic(Chain& chain, const Node& node, NodeId id, size_t axis) const {
    if (node.op == Op::kNeg) return take_scale(chain, Channels(chain.scale.size(), -1));
    if (!ir::is_elementwise(node.op) || node.inputs.size() != 2) return false;
    const bool value_first = node.inputs[0] == id;
    auto constant = channel_constant(graph_, node.inputs[value_first ? 1 : 0], axis);
    if (!constant) return false;
    switch (node.op) {
      case Op::kMul:
        return take_scale(chain, *constant);
      case Op::kDiv:
        for (double& value : *constant) value = 1 / value;
        return value_first && take_scale(chain, *constant);
      case Op::kAdd:
        return take_shift(chain, *constant);
      case Op::kSub:
        if (!value_first) {
          return take_scale(chain, Channels(chain.scale.size(), -1)) &&
                 take_shift(chain, *constant);
        }
        for (double& value : *constant) value = -value;
        return take_shift(chain, *constant);
      default:
        return false;
    }
  }

  static bool take_scale(Chain& chain, const Channels& factor) {
    for (size_t i = 0; i < factor.size(); ++i) {
      if (!std::isfinite(factor[i])) return false;
      const bool is_zero = chain.scale[i] == 0 || factor[i] == 0;
      chain.scale[i] *= factor[i];
      chain.shift[i] *= factor[i];
      if (!is_zero && !std::isnormal(chain.scale[i])) return false;
    }
    chain.scales = true;
    return true;
  }

  static bool take_shift(Chain& chain, const Channels& term) {
    for (size_t i = 0; i < term.size(); ++i) chain.shift[i] += term[i];
    ++chain.shifts;
    return true;
  }

  const Graph& graph_;
  const std::vector<std::vector<NodeId>> consumers_;
  std::vector<bool> is_output_;
};

// --- Rebuilding ---

NodeId add_scaled_root(Rewriter& rewriter, const Chain& chain, ir::Literal weights) {
  Graph& out = rewriter.out();
  Node root = rewriter.translated(chain.root);
  NodeId& operand = root.inputs[static_cast<size_t>(chain.weights.operand)];
  const Node old_weights = out.node(operand);
  const bool stretched = old_weights.op == Op::kBroadcast;
  const std::string name = out.node(stretched ? old_weights.inputs[0] : operand).name;
  operand = out.add_constant(std::move(weights), name);
  if (stretched) operand = out.add(Op::kBroadcast, {operand}, old_weights.attrs, old_weights.name);
  return add_node(out, root);
}

// root + shift, with the shift as a Broadcast of one number a channel.
NodeId add_shift(Graph& out, NodeId root, size_t axis, ir::Literal shift, const std::string& name) {
  const Shape full = out.node(root).type.shape;
  shift.type.shape.assign(full.size(), 1);
  shift.type.shape[axis] = full[axis];
  const NodeId constant = out.add_constant(std::move(shift), name);
  const NodeId stretched = out.add(Op::kBroadcast, {constant}, ir::BroadcastAttrs{full}, name);
  return out.add(Op::kAdd, {root, stretched}, {}, name);
}

// Rebuilds a chain at its end; false, with nothing changed, if a number would leave its range.
bool rebuild(Rewriter& rewriter, const Chain& chain) {
  const Graph& old = rewriter.old();
  const base::DType dtype = old.node(chain.root).type.dtype;
  const ir::Literal* literal = weights_literal(old, chain.root, chain.weights);
  std::optional<ir::Literal> weights = scale_weights(*literal, chain.weights.axis, chain.scale);
  ir::Literal shift =
      ir::make_literal({dtype, {static_cast<int64_t>(chain.shift.size())}}, chain.shift);
  bool is_zero = true;
  for (int64_t i = 0; i < shift.type.elements(); ++i) {
    const double value = ir::literal_as_double(shift, i);
    if (!std::isfinite(value)) return false;
    is_zero = is_zero && value == 0;
  }
  if (!weights) return false;
  NodeId value = add_scaled_root(rewriter, chain, std::move(*weights));
  if (!is_zero) {
    value = add_shift(rewriter.out(), value, chain.weights.result_axis, std::move(shift),
                      old.node(chain.end).name);
  }
  for (const NodeId move : chain.moves) {
    const Node& node = old.node(move);
    value = rewriter.out().add(node.op, {value}, node.attrs, node.name);
  }
  rewriter.replace(chain.end, value);
  return true;
}

}  // namespace

Graph fold_channel_scale(const Graph& whole) {
  const Graph graph = remove_dead(whole);  // a dead reader is none
  const ChainFinder finder(graph);
  std::map<NodeId, Chain> chain_at_end;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::optional<Chain> chain = finder.find(id);
    if (chain && chain->is_worth_folding()) chain_at_end.emplace(chain->end, *chain);
  }
  Rewriter rewriter(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op == Op::kInput) continue;
    const auto found = chain_at_end.find(id);
    if (found == chain_at_end.end() || !rebuild(rewriter, found->second)) rewriter.keep(id);
  }
  return remove_dead(rewriter.finish());
}

}  // namespace camshaft::passes
