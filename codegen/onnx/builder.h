// SPDX-License-Identifier: MIT
// Builds the graph that a model becomes: checks every operation, computes small constants at once,
// and adds constants to the graph only when an operation that stays needs them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "codegen/ir/graph.h"
#include "codegen/onnx/interval.h"
#include "codegen/onnx/problem.h"
#include "codegen/onnx/value.h"

namespace camshaft::onnx {

// Not for several threads. Values point to it, so it neither copies nor moves.
class Builder {
 public:
  // Data that a formula may make (index tables and the like) in one literal, and in all of them. A
  // model of a few bytes could ask for terabytes.
  static constexpr int64_t kMadeElements = 1 << 24;
  static constexpr int64_t kAllMadeElements = 1 << 27;

  // Iterations that a loop may be unrolled into.
  static constexpr int64_t kMostIterations = 1 << 16;

  explicit Builder(ir::Graph* graph) : graph_(graph) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // The name that new graph nodes get.
  void set_node_name(std::string_view name) { node_name_ = name; }

  Value input(std::string_view name, TensorType type);
  // A value of that type without a meaning, so that reading can go on after an error.
  Value placeholder(TensorType type);
  Value constant(LiteralPtr literal, std::string_view name = "");
  Value constant(ir::Literal literal) {
    return constant(std::make_shared<const ir::Literal>(std::move(literal)));
  }
  // One element, with `rank` axes.
  Value scalar(DType dtype, double value, int rank = 0);
  Value splat(const TensorType& type, double value);
  Value vector(DType dtype, const std::vector<double>& values);
  Value ints(const Shape& values);  // i64[n]
  Value iota(int64_t count);        // i64[count]: 0, 1, ...
  Value add(ir::Op op, const std::vector<Value>& operands, ir::Attrs attrs = {});

  // Data-dependent extents (extents.h): x with these counts, by axis, instead of its own.
  Value with_counts(Value x, std::map<int, Value> counts);
  const std::map<int, Value>& counts(int index) const {
    return entries_[static_cast<size_t>(index)].counts;
  }
  // What is known of a value's elements.
  Interval interval(int index) const;
  // x, of which is known that no element is negative or above `most`.
  Value with_bound(Value x, int64_t most);
  // Remembers that `is_exceeded` (bool[]) tells of a bound that the caller gave and that a run
  // broke, if what is being read is taken in that run.
  void watch_bound(Value is_exceeded);
  // The same of operands whose extents, as the data has them, the model's operation does not take.
  void watch_extents(Value are_wrong) { watch_bound(are_wrong); }
  const std::vector<Value>& watched_bounds() const { return watched_bounds_; }

  // Whether a formula may make so many elements; tells failure if not.
  bool may_make(int64_t elements);

  // While it lives, what is read is taken only in runs in which `condition` (bool[]; absent: any
  // run) holds: a branch, or an iteration that may not happen. They nest.
  class TakenIf {
   public:
    TakenIf(Builder* builder, Value condition);
    ~TakenIf() { builder_->taken_ = before_; }
    TakenIf(const TakenIf&) = delete;
    TakenIf& operator=(const TakenIf&) = delete;

   private:
    Builder* builder_;
    Value before_;
  };

  // The graph node of a value; adds it if the value was only known so far.
  ir::NodeId node(Value value);

  // Records why the formula in work can't be; the first sentence counts. The code says whether the
  // model is wrong or Camshaft lacks something (Problem::code).
  Value fail(std::string sentence, base::Code code = base::Code::kInvalidArgument);
  bool failed() const { return !failure_.sentence.empty(); }
  Failure take_failure();

  const TensorType& type(int index) const { return entries_[static_cast<size_t>(index)].type; }
  const LiteralPtr& literal(int index) const {
    return entries_[static_cast<size_t>(index)].literal;
  }

 private:
  // A value: a graph node, known data, or both. The node of a known Broadcast is made of its
  // operand, so that weights do not grow.
  struct Entry {
    TensorType type;
    ir::NodeId node = ir::kNoNode;
    LiteralPtr literal = nullptr;
    int broadcast_of = -1;
    std::string name = {};
    std::map<int, Value> counts = {};
    Interval interval = {};  // of what is not known
  };
  Value append(Entry entry);

  ir::Graph* graph_;
  std::deque<Entry> entries_;  // a deque: types and literals stay where they are
  std::map<std::tuple<DType, uint64_t, int>, int> scalars_;  // dtype, bits, rank -> entry
  std::vector<Value> watched_bounds_;
  Value taken_;  // bool[]; absent: in every run
  int64_t made_elements_ = 0;
  std::string node_name_;
  Failure failure_;
};

}  // namespace camshaft::onnx
