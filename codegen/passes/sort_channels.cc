// SPDX-License-Identifier: MIT
// The design, in short. Channels of a tensor may lie in any order, if all that reads and writes the
// tensor follows it: a convolution of one group can, on both sides, by the order of its weights; a
// depthwise one, elementwise nodes, pools and reductions over other axes keep whatever order there
// is. So values that these connect form a class of one order. A shuffle, by whatever movement,
// reads channels of some classes for another one. Channels that are made by a convolution are
// ordered by who reads them, and those that a shuffle brings together by where they come from; then
// it takes few whole runs of channels where it took one at a time. What anything else reads, and
// what is an output, stays in its order.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include "codegen/ir/graph_constants.h"
#include "codegen/ir/literal.h"
#include "codegen/passes/channel_classes.h"
#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"

namespace camshaft::passes {
namespace {

using ir::Op;
using ir::Shape;

// The old channel at each new place.
using Order = std::vector<int64_t>;

bool is_identity(const Order& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// A run of neighbouring channels of one value.
struct Run {
  NodeId source;
  int64_t begin;
  int64_t count;
};

std::vector<Run> runs_of(const std::vector<Channel>& channels) {
  std::vector<Run> runs;
  for (const Channel& channel : channels) {
    const bool follows = !runs.empty() && runs.back().source == channel.source &&
                         runs.back().begin + runs.back().count == channel.number;
    if (follows) {
      ++runs.back().count;
    } else {
      runs.push_back({channel.source, channel.number, 1});
    }
  }
  return runs;
}

// --- The orders ---

class Orders {
 public:
  Orders(const Graph& graph, const ChannelClasses& classes)
      : graph_(graph), classes_(classes), gathered_(classes.gathered()) {
    for (const NodeId id : gathered_) {
      gathered_of_.emplace(classes.class_of(id), id);
      for (const Channel& channel : maps().channels(id)) {
        std::vector<NodeId>& readers = readers_[class_channel(channel)];
        if (readers.empty() || readers.back() != id) readers.push_back(id);
      }
    }
    for (const NodeId id : gathered_) {
      for (const Channel& channel : maps().channels(id)) choose(channel.source);
      choose(id);
    }
    drop_useless();
  }

  bool is_empty() const { return orders_.empty(); }

  // Of the channels of a node; null: they stay.
  const Order* of(NodeId id) const {
    const auto found = orders_.find(classes_.class_of(id));
    return found == orders_.end() ? nullptr : &found->second;
  }

  // A movement node's new runs, of the new order of what it reads; empty where it stays.
  std::vector<Run> runs(NodeId id) const {
    const bool is_gathered = std::binary_search(gathered_.begin(), gathered_.end(), id);
    return is_gathered && of(id) != nullptr ? runs_of(new_channels(id)) : std::vector<Run>();
  }

 private:
  const ChannelMaps& maps() const { return classes_.maps(); }
  std::pair<NodeId, int64_t> class_channel(const Channel& channel) const {
    return {classes_.class_of(channel.source), channel.number};
  }

  // Where a channel of its source lies now.
  int64_t place_of(const Channel& channel) const {
    const auto found = places_.find(classes_.class_of(channel.source));
    return found == places_.end() ? channel.number
                                  : found->second[static_cast<size_t>(channel.number)];
  }

  std::vector<Channel> new_channels(NodeId id) const {
    const std::vector<Channel>& old = maps().channels(id);
    std::vector<Channel> result;
    for (const int64_t i : *of(id)) {
      const Channel& channel = old[static_cast<size_t>(i)];
      result.push_back({channel.source, place_of(channel)});
    }
    return result;
  }

  // By where its channels come from, if movement makes them, the latest first; otherwise by who
  // reads them first. So the first channels of the value before, some behind these of the one
  // before that, and so on keep their numbers, and with them their places in blocks.
  void choose(NodeId id) {
    const NodeId set = classes_.class_of(id);
    if (classes_.is_fixed(set) || orders_.count(set) > 0) return;
    Order order(static_cast<size_t>(graph_.node(id).type.shape[1]));
    std::iota(order.begin(), order.end(), 0);
    const auto gathered = gathered_of_.find(set);
    if (gathered != gathered_of_.end()) {
      const std::vector<Channel>& channels = maps().channels(gathered->second);
      sort_by(order, [&](int64_t i) {
        const Channel& channel = channels[static_cast<size_t>(i)];
        return std::pair(-channel.source, place_of(channel));
      });
    } else {
      sort_by(order, [&](int64_t i) {
        const auto found = readers_.find({set, i});
        return found == readers_.end() ? std::vector<NodeId>() : found->second;
      });
    }
    Order places(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    orders_.emplace(set, std::move(order));
    places_.emplace(set, std::move(places));
  }

  template <typename Key>
  static void sort_by(Order& order, const Key& key) {
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return std::pair(key(a), a) < std::pair(key(b), b); });
  }

  // Classes that shuffles connect change together, if that at least halves the runs that are read.
  // So what needs no sorting, splits and concatenations, stays as it is.
  void drop_useless() {
    DisjointSets together(graph_.size());
    for (const NodeId id : gathered_) {
      for (const Channel& channel : maps().channels(id)) {
        together.join(classes_.class_of(id), classes_.class_of(channel.source));
      }
    }
    std::map<NodeId, size_t> before, after;
    for (const NodeId id : gathered_) {
      const NodeId all = together.find(classes_.class_of(id));
      before[all] += runs_of(maps().channels(id)).size();
      after[all] += runs_of(new_channels(id)).size();
    }
    const auto is_useless = [&](const auto& entry) {
      const NodeId all = together.find(entry.first);
      return 2 * after[all] > before[all];
    };
    std::erase_if(orders_, is_useless);
    std::erase_if(places_, is_useless);
  }

  const Graph& graph_;
  const ChannelClasses& classes_;
  const std::vector<NodeId> gathered_;                                 // ascending
  std::map<NodeId, NodeId> gathered_of_;                               // by class
  std::map<std::pair<NodeId, int64_t>, std::vector<NodeId>> readers_;  // by class and channel
  std::map<NodeId, Order> orders_;                                     // by class
  std::map<NodeId, Order> places_;  // by class: the new place of each old channel
};

// --- Rebuilding ---

// The literal with axis `axis` in the given order.
ir::Literal reordered(const ir::Literal& literal, size_t axis, const Order& order) {
  const Shape& shape = literal.type.shape;
  ir::Literal result = ir::zero_literal(literal.type);
  const auto count = static_cast<size_t>(shape[axis]);
  size_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(shape[i]);
  const size_t inner = literal.bytes.size() / outer / count;
  for (size_t i = 0; i < outer; ++i) {
    for (size_t c = 0; c < count; ++c) {
      const size_t from = (i * count + static_cast<size_t>(order[c])) * inner;
      std::memcpy(&result.bytes[(i * count + c) * inner], &literal.bytes[from], inner);
    }
  }
  return result;
}

class Sorter {
 public:
  Sorter(const Graph& graph, const Orders& orders)
      : graph_(graph), orders_(orders), rewriter_(graph) {}

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.op == Op::kInput) continue;
      const std::vector<Run> runs = orders_.runs(id);
      if (!runs.empty()) {
        rewriter_.replace(id, gather(node, runs));
      } else if (node.op == Op::kConv) {
        rewriter_.replace(id, add_conv(id));
      } else if (ir::is_elementwise(node.op) && orders_.of(id) != nullptr) {
        rewriter_.replace(id, add_elementwise(id, *orders_.of(id)));
      } else {
        rewriter_.keep(id);
      }
    }
    return rewriter_.finish();
  }

 private:
  NodeId reorder(NodeId constant, size_t axis, const Order* order) {
    const ir::Literal* literal = ir::literal_of(rewriter_.out(), constant);  // null: of one number
    if (order == nullptr || is_identity(*order) || literal == nullptr) return constant;
    if (literal->type.shape[axis] == 1) return constant;
    const std::string name = rewriter_.out().node(constant).name;
    return rewriter_.out().add_constant(reordered(*literal, axis, *order), name);
  }

  NodeId gather(const Node& node, const std::vector<Run>& runs) {
    Graph& out = rewriter_.out();
    std::vector<NodeId> pieces;
    for (const Run& run : runs) {
      const Shape shape = graph_.node(run.source).type.shape;
      ir::SliceAttrs slice{Shape(shape.size(), 0), shape, Shape(shape.size(), 1)};
      slice.begin[1] = run.begin;
      slice.extent[1] = run.count;
      const NodeId source = rewriter_.at(run.source);
      pieces.push_back(run.count == shape[1] ? source
                                             : out.add(Op::kSlice, {source}, slice, node.name));
    }
    if (pieces.size() == 1) return pieces[0];
    return out.add(Op::kConcat, std::move(pieces), ir::ConcatAttrs{1}, node.name);
  }

  NodeId add_conv(NodeId id) {
    Node node = rewriter_.translated(id);
    if (is_known_tensor(graph_, graph_.node(id).inputs[1])) {
      NodeId& weights = node.inputs[1];
      weights = reorder(weights, 0, orders_.of(id));
      const NodeId x = graph_.node(id).inputs[0];
      if (node.as<ir::ConvAttrs>().groups == 1) weights = reorder(weights, 1, orders_.of(x));
    }
    return add_node(rewriter_.out(), node);
  }

  NodeId add_elementwise(NodeId id, const Order& order) {
    Node node = rewriter_.translated(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId old = graph_.node(id).inputs[i];
      if (!is_known_operand(graph_, old) || ir::splat_value(graph_, old).has_value()) continue;
      const Node operand = rewriter_.out().node(node.inputs[i]);
      if (operand.op == Op::kConstant) {
        node.inputs[i] = reorder(node.inputs[i], 1, &order);
      } else {
        const NodeId constant = reorder(operand.inputs[0], 1, &order);
        node.inputs[i] =
            rewriter_.out().add(Op::kBroadcast, {constant}, operand.attrs, operand.name);
      }
    }
    return add_node(rewriter_.out(), node);
  }

  const Graph& graph_;
  const Orders& orders_;
  Rewriter rewriter_;
};

bool is_shuffle(const Node& node) {
  if (node.op == Op::kTranspose) return true;
  if (node.op != Op::kSlice) return false;
  const Shape& step = node.as<ir::SliceAttrs>().step;
  return std::any_of(step.begin(), step.end(), [](int64_t s) { return s != 1; });
}

}  // namespace

Graph sort_channels(const Graph& whole) {
  Graph graph = remove_dead(whole);  // a dead reader is none
  const std::vector<Node>& nodes = graph.nodes();
  const auto is_conv = [](const Node& node) { return node.op == Op::kConv; };
  if (std::none_of(nodes.begin(), nodes.end(), is_shuffle) ||
      std::none_of(nodes.begin(), nodes.end(), is_conv)) {
    return graph;
  }
  const ChannelClasses classes(graph);
  const Orders orders(graph, classes);
  if (orders.is_empty()) return graph;
  return remove_dead(Sorter(graph, orders).run());
}

}  // namespace camshaft::passes
