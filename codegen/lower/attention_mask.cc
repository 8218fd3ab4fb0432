// SPDX-License-Identifier: MIT
#include "codegen/lower/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "codegen/ir/graph_constants.h"
#include "codegen/lower/attention_plan.h"
#include "codegen/lower/known_tensor.h"

namespace camshaft::lower {
namespace {

using ir::Op;

// Logits before masks are at most this, and a row's largest one at least kSomeScore: both far from
// kNoScore, so that the difference makes a power of 0.
constexpr double kMostLogit = 1e27;
constexpr double kSomeScore = -1e29;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What happens to a score on its way to a logit.
struct Stage {
  enum class Kind { kAdd, kTakeIfTrue, kTakeIfFalse };  // kTake: the score, or else `number`
  Kind kind = Kind::kAdd;
  ir::Shape shape;
  Known number;
  Known condition;  // of kTake
};

// The stages from the logits up to where something else is done to a score, or is not known.
class Mask {
 public:
  Mask(const Task& task, const Attention& a) : task_(task), a_(a), of_scores_({a.scores}) {
    for (const NodeId id : task.region.nodes) {
      const std::vector<NodeId>& inputs = task.node(id).inputs;
      if (std::any_of(inputs.begin(), inputs.end(), [&](NodeId i) { return depends(i); })) {
        of_scores_.insert(id);
      }
    }
    NodeId id = a.logits;
    while (id != a.scores && add_stage(id)) {
    }
    is_bounded_ = most_of(id) <= kMostLogit;
  }

  bool is_empty() const { return stages_.empty(); }

  // Where a row of the logits begins in each literal: rows that are equal in it are alike.
  std::vector<int64_t> places(int64_t row) {
    std::vector<int64_t> result;
    for (Stage& stage : stages_) {
      const auto add = [&](const std::vector<int64_t>& steps) {
        result.push_back(row_place(steps, stage.shape, row));
        return true;
      };
      if (stage.kind != Stage::Kind::kAdd) each_literal(stage.condition, add);
      each_literal(stage.number, add);
    }
    return result;
  }

  bool is_seen(const std::vector<int64_t>& places, int64_t key) const {
    const auto [number, is_logit] = known_part(places, key);
    if (is_logit && number == -kInfinity) return false;
    return !(is_bounded_ && number <= kNoScore);
  }
  // Whether a key that is seen makes the row's largest logit one that finite masks are far from.
  bool is_something(const std::vector<int64_t>& places, int64_t key) const {
    return !is_bounded_ || known_part(places, key).first >= kSomeScore;
  }

 private:
  bool depends(NodeId id) const { return of_scores_.count(id) > 0; }

  // What is known of a logit, and whether that is all of it: something else than a score's.
  std::pair<double, bool> known_part(const std::vector<int64_t>& places, int64_t key) const {
    const int64_t* place = places.data();
    double sum = 0;
    for (const Stage& stage : stages_) {
      if (stage.kind == Stage::Kind::kAdd) {
        sum += number_at(stage.number, place, key);
        continue;
      }
      const bool is_true = number_at(stage.condition, place, key) != 0;
      const double other = number_at(stage.number, place, key);
      if (is_true != (stage.kind == Stage::Kind::kTakeIfTrue)) return {sum + other, true};
    }
    return {sum, false};
  }

  // The largest magnitude of a node's elements if those of the operands are at most kMostOperand.
  double most_of(NodeId id) const {
    if (id == a_.scores) return kMostOperand * kMostOperand * static_cast<double>(a_.depth);
    const ir::Node& node = task_.node(id);
    if (node.inputs.empty() || node.type.dtype != ir::DType::kFloat32) return kInfinity;
    const size_t of_score = depends(node.inputs[0]) ? 0 : 1;
    if (node.inputs.size() == 1) {
      const bool keeps = node.op == Op::kReshape || node.op == Op::kNeg || node.op == Op::kAbs;
      if (!keeps && node.op != Op::kTanh) return kInfinity;
      const double most = most_of(node.inputs[0]);
      return node.op == Op::kTanh && most < kInfinity ? 1 : most;
    }
    if (node.inputs.size() != 2) return kInfinity;
    const auto number = ir::splat_value(task_.graph(), node.inputs[1 - of_score]);
    const double factor = number ? std::fabs(*number) : kInfinity;
    if (!(factor > 0 && factor < kInfinity)) return kInfinity;
    if (node.op == Op::kMul) return most_of(node.inputs[of_score]) * factor;
    return node.op == Op::kDiv && of_score == 0 ? most_of(node.inputs[0]) / factor : kInfinity;
  }

  // Takes in what `id` does, and goes on to where its scores come from.
  bool add_stage(NodeId& id) {
    const ir::Node& node = task_.node(id);
    const ir::Shape& shape = node.type.shape;
    if (shape.empty() || shape.back() != a_.keys) return false;
    if (node.op == Op::kReshape || (node.op == Op::kCast && base::is_float(node.type.dtype))) {
      id = node.inputs[0];
      return true;
    }
    if (node.op == Op::kAdd) return add_sum(node, id);
    if (node.op != Op::kSelect || depends(node.inputs[0])) return false;
    const size_t taken = depends(node.inputs[1]) ? 1 : 2;
    const NodeId other = node.inputs[3 - taken];
    const std::optional<Known> condition = known(task_, node.inputs[0]);
    const std::optional<Known> number = known(task_, other);
    if (depends(other) || !condition || !number) return false;
    stages_.push_back({taken == 1 ? Stage::Kind::kTakeIfTrue : Stage::Kind::kTakeIfFalse, shape,
                       *number, *condition});
    id = node.inputs[taken];
    return true;
  }

  bool add_sum(const ir::Node& node, NodeId& id) {
    const size_t of_score = depends(node.inputs[0]) ? 0 : 1;
    const NodeId other = node.inputs[1 - of_score];
    const std::optional<Known> number = known(task_, other);
    if (depends(other) || !number) return false;
    stages_.push_back({Stage::Kind::kAdd, node.type.shape, *number, {}});
    id = node.inputs[of_score];
    return true;
  }

  static int64_t row_place(const std::vector<int64_t>& steps, const ir::Shape& shape, int64_t row) {
    int64_t place = 0;
    for (size_t axis = shape.size() - 1; axis-- > 0;) {
      place += row % shape[axis] * steps[axis];
      row /= shape[axis];
    }
    return place;
  }

  const Task& task_;
  const Attention& a_;
  std::set<NodeId> of_scores_;
  std::vector<Stage> stages_;
  bool is_bounded_ = false;  // what the stages begin with
};

KeySpan span_of(const Mask& mask, const std::vector<int64_t>& places, int64_t keys) {
  KeySpan span{0, keys};
  while (span.begin < keys && !mask.is_seen(places, span.begin)) ++span.begin;
  if (span.begin == keys || !mask.is_something(places, span.begin)) return {0, keys};
  while (!mask.is_seen(places, span.end - 1)) --span.end;
  return span;
}

}  // namespace

std::vector<KeySpan> seen_keys(const Task& task, const Attention& a) {
  Mask mask(task, a);
  if (mask.is_empty()) return {};
  std::vector<KeySpan> spans(static_cast<size_t>(a.rows), KeySpan{a.keys, 0});
  std::map<std::vector<int64_t>, KeySpan> found;
  for (int64_t number = 0; number < a.batches * a.rows; ++number) {
    std::vector<int64_t> places = mask.places(number);
    auto at = found.find(places);
    if (at == found.end()) {
      const KeySpan span = span_of(mask, places, a.keys);
      at = found.emplace(std::move(places), span).first;
    }
    KeySpan& row = spans[static_cast<size_t>(number % a.rows)];
    row = {std::min(row.begin, at->second.begin), std::max(row.end, at->second.end)};
  }
  const KeySpan all{0, a.keys};
  const bool are_all =
      std::all_of(spans.begin(), spans.end(), [&](const KeySpan& span) { return span == all; });
  return are_all ? std::vector<KeySpan>{} : spans;
}

}  // namespace camshaft::lower
