// SPDX-License-Identifier: MIT
#include "codegen/onnx/tree_ensemble.h"

#include <algorithm>
#include <cmath>
#include <vector>


namespace camshaft::onnx {
namespace {

enum class Mode : uint8_t {
  kLessEqual,
  kLess,
  kGreaterEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember
};
enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };
enum class Transform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// The trees as the attributes give them. Places are nodes [0, nodes) and leaves from there on.
struct Trees {
  size_t nodes = 0;
  Shape features;
  std::vector<double> modes;
  std::vector<double> splits;
  std::vector<double> members;
  Shape missing_is_true;
  Shape when_true;
  Shape when_false;
  Shape leaf_targets;
  std::vector<double> leaf_weights;
  Shape roots;
  int64_t targets = 0;
};

std::vector<double> doubles_attr(NodeReader& node, const char* name) {
  return node.tensor_attr(name).known_doubles().value_or(std::vector<double>());
}

// The places that branches lead to; false if one leads nowhere.
bool read_branches(NodeReader& node, const std::string& which, const Trees& trees, Shape* to) {
  const Shape ids = node.ints_attr("nodes_" + which + "nodeids").value_or(Shape());
  const Shape are_leaves = node.ints_attr("nodes_" + which + "leafs").value_or(Shape());
  const auto leaves = static_cast<int64_t>(trees.leaf_weights.size());
  if (ids.size() != trees.nodes || are_leaves.size() != trees.nodes) return false;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t most = are_leaves[i] != 0 ? leaves : static_cast<int64_t>(trees.nodes);
    if (ids[i] < 0 || ids[i] >= most) return false;
    to->push_back(are_leaves[i] != 0 ? ids[i] + static_cast<int64_t>(trees.nodes) : ids[i]);
  }
  return true;
}

bool read_trees(NodeReader& node, Trees* trees) {
  node.ignore_attr("nodes_hitrates");
  trees->features = node.ints_attr("nodes_featureids").value_or(Shape());
  trees->nodes = trees->features.size();
  trees->modes = doubles_attr(node, "nodes_modes");
  trees->splits = doubles_attr(node, "nodes_splits");
  if (node.has_attr("membership_values")) trees->members = doubles_attr(node, "membership_values");
  trees->missing_is_true =
      node.ints_attr("nodes_missing_value_tracks_true").value_or(Shape(trees->nodes, 0));
  trees->leaf_targets = node.ints_attr("leaf_targetids").value_or(Shape());
  trees->leaf_weights = doubles_attr(node, "leaf_weights");
  trees->roots = node.ints_attr("tree_roots").value_or(Shape());
  trees->targets = node.int_attr("n_targets", 1);
  const auto is_place = [&](int64_t root) {
    return root >= 0 && root < static_cast<int64_t>(trees->nodes);
  };
  const auto is_target = [&](int64_t target) { return target >= 0 && target < trees->targets; };
  const bool fits =
      trees->modes.size() == trees->nodes && trees->splits.size() == trees->nodes &&
      trees->missing_is_true.size() == trees->nodes && trees->nodes > 0 &&
      trees->leaf_targets.size() == trees->leaf_weights.size() && !trees->roots.empty() &&
      std::all_of(trees->roots.begin(), trees->roots.end(), is_place) &&
      std::all_of(trees->leaf_targets.begin(), trees->leaf_targets.end(), is_target) &&
      read_branches(node, "true", *trees, &trees->when_true) &&
      read_branches(node, "false", *trees, &trees->when_false);
  if (!fits) node.corrupt("its nodes, leaves and roots don't fit each other");
  return fits;
}

// The most steps from a root to a leaf; 0 with a problem if a walk never ends.
int64_t depth_of(NodeReader& node, const Trees& trees) {
  std::vector<int64_t> level = trees.roots;
  const auto nodes = static_cast<int64_t>(trees.nodes);
  for (int64_t depth = 0; depth <= nodes; ++depth) {
    std::vector<int64_t> next;
    for (const int64_t place : level) {
      for (const Shape* branches : {&trees.when_true, &trees.when_false}) {
        const int64_t to = (*branches)[static_cast<size_t>(place)];
        if (to < nodes) next.push_back(to);
      }
    }
    if (next.empty()) return depth + 1;
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    level = std::move(next);
  }
  node.corrupt("its branches lead in a circle");
  return 0;
}

// Is x[n, i], the feature of node i, one of the members that are listed for it? [n, nodes]
Value is_member(NodeReader& node, const Trees& trees, Value x) {
  Value member;
  auto next = trees.members.begin();
  std::vector<std::vector<double>>
      by_rank;  // the k-th member of each node, NaN where there is none
  for (size_t i = 0; i < trees.nodes; ++i) {
    if (static_cast<Mode>(trees.modes[i]) != Mode::kMember) continue;
    for (size_t rank = 0; next != trees.members.end() && !std::isnan(*next); ++next, ++rank) {
      if (by_rank.size() <= rank) by_rank.emplace_back(trees.nodes, std::nan(""));
      by_rank[rank][i] = *next;
    }
    if (next != trees.members.end()) ++next;
  }
  for (const std::vector<double>& members : by_rank) {
    const Value here = equal(x, node.builder().vector(x.dtype(), members));
    member = member ? logical_or(member, here) : here;
  }
  return member ? member : node.builder().scalar(DType::kBool, 0);
}

// Which branch each node takes: bool [n, nodes].
Value decide(NodeReader& node, const Trees& trees, Value x) {
  Builder& builder = node.builder();
  const Value feature = gather(x, builder.ints(trees.features), 1);
  const Value split = builder.vector(x.dtype(), trees.splits);
  const auto has = [&](Mode mode) {
    std::vector<double> flags;
    for (const double each : trees.modes) flags.push_back(static_cast<Mode>(each) == mode ? 1 : 0);
    const bool any = std::count(flags.begin(), flags.end(), 1) > 0;
    return any ? builder.vector(DType::kBool, flags) : Value();
  };
  Value taken = builder.scalar(DType::kBool, 0);
  const auto add = [&](Mode mode, Value condition) {
    if (const Value flags = has(mode)) taken = select(flags, condition, taken);
  };
  add(Mode::kLessEqual, less_equal(feature, split));
  add(Mode::kLess, less(feature, split));
  add(Mode::kGreaterEqual, less_equal(split, feature));
  add(Mode::kGreater, less(split, feature));
  add(Mode::kEqual, equal(feature, split));
  add(Mode::kNotEqual, logical_not(equal(feature, split)));
  add(Mode::kMember, is_member(node, trees, feature));
  std::vector<double> missing(trees.missing_is_true.begin(), trees.missing_is_true.end());
  return logical_or(taken, logical_and(is_nan(feature), builder.vector(DType::kBool, missing)));
}

// The leaf that each sample reaches in each tree: i64 [n, trees].
Value reach_leaves(NodeReader& node, const Trees& trees, Value x, int64_t depth) {
  Builder& builder = node.builder();
  const int64_t samples = x.dim(0);
  const auto nodes = static_cast<int64_t>(trees.nodes);
  const Value next = select(decide(node, trees, x), builder.ints(trees.when_true),
                            builder.ints(trees.when_false));  // [n, nodes]
  const Value flat = reshape(next, {samples * nodes});
  const Value row = place_axes(builder.iota(samples), {0}, 2) * static_cast<double>(nodes);
  const auto roots = static_cast<int64_t>(trees.roots.size());
  Value place = broadcast_to(builder.ints(trees.roots), {samples, roots});
  for (int64_t step = 0; step < depth; ++step) {
    const Value inner = min(place, static_cast<double>(nodes - 1));
    const Value to = gather(flat, row + inner, 0);
    place = select(less(place, static_cast<double>(nodes)), to, place);
  }
  return place - static_cast<double>(nodes);
}

// Sums, or takes the largest of, what the leaves say of each target: [n, targets].
Value aggregate(NodeReader& node, const Trees& trees, Value leaf, DType dtype) {
  Builder& builder = node.builder();
  const auto kind = static_cast<Aggregate>(node.int_attr("aggregate_function", 1));
  const Value weight = insert_axis(gather(builder.vector(dtype, trees.leaf_weights), leaf, 0), 2);
  const Value target = insert_axis(gather(builder.ints(trees.leaf_targets), leaf, 0), 2);
  const Value is_own = equal(target, builder.iota(trees.targets));
  const auto reduced = [&](ir::ReduceKind reduce_kind, double otherwise) {
    const Value terms = select(is_own, weight, scalar_like(weight, otherwise));
    return drop_axes(reduce(reduce_kind, terms, {1}), {1});
  };
  const double largest = dtype == DType::kFloat64 ? std::numeric_limits<double>::max()
                                                  : std::numeric_limits<float>::max();
  switch (kind) {
    case Aggregate::kAverage:
      return reduced(ir::ReduceKind::kSum, 0) / static_cast<double>(trees.roots.size());
    case Aggregate::kSum:
      return reduced(ir::ReduceKind::kSum, 0);
    case Aggregate::kMin:
      return reduced(ir::ReduceKind::kMin, largest);
    case Aggregate::kMax:
      return reduced(ir::ReduceKind::kMax, -largest);
  }
  return node.corrupt("aggregate_function must be 0 to 3");
}

}  // namespace

Value read_tree_ensemble(NodeReader& node) {
  const Value x = node.input(0);
  Trees trees;
  if (x.rank() != 2 || !base::is_float(x.dtype()))
    return node.invalid("needs floats [N, features]");
  if (!read_trees(node, &trees)) return {};
  for (const int64_t feature : trees.features) {
    if (feature < 0 || feature >= x.dim(1)) return node.invalid("a node's feature does not exist");
  }
  const int64_t depth = depth_of(node, trees);
  if (depth == 0) return {};
  const Value scores = aggregate(node, trees, reach_leaves(node, trees, x, depth), x.dtype());
  switch (static_cast<Transform>(node.int_attr("post_transform", 0))) {
    case Transform::kNone:
      return scores;
    case Transform::kSoftmax: {
      const Value e = exp(scores - reduce(ir::ReduceKind::kMax, scores, {1}));
      return e / reduce(ir::ReduceKind::kSum, e, {1});
    }
    case Transform::kLogistic:
      return sigmoid(scores);
    default:
      return node.unsupported("post_transform must be NONE, SOFTMAX or LOGISTIC");
  }
}

}  // namespace camshaft::onnx
