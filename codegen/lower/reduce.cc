// SPDX-License-Identifier: MIT
// Strategy `reduce`: one or more reductions over the same axes of the same rows, with what comes
// before, between and after them: softmax and layer norm are one kernel each. The kernel does a
// group of rows at a time, in phases: one pass over the elements for each reduction, then one for
// the output. Row mode (the axis that is innermost in memory is reduced): a group is one row, lanes
// run along it. Column mode (it is kept): a group is neighbouring rows, one a lane.
#include <algorithm>
#include <set>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

using ir::KOp;
using ir::LoopKind;
using ir::Op;

constexpr int64_t kScratchBytes = 64
                                  << 10;  // on the stack, for values that are dear to compute twice
constexpr int64_t kChains = 4;            // independent accumulators, to hide the latency of adding

bool is_dear(Op op) {
  switch (op) {
    case Op::kExp:
    case Op::kLog:
    case Op::kSqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kAtan:
    case Op::kTanh:
    case Op::kSigmoid:
    case Op::kErf:
    case Op::kPow:
    case Op::kDiv:
    case Op::kRem:
      return true;
    default:
      return false;
  }
}

// Shapes and orders of the row program.
struct Geometry {
  ir::Shape full;               // of the reduced operand
  std::vector<size_t> reduced;  // axes, in the order that elements of a row are visited
  std::vector<size_t> kept;     // axes, ascending
  ir::Shape reduced_shape;
  ir::Shape kept_shape;  // the vector axis counts groups
  bool columns = false;
  size_t vector_axis = 0;  // columns: the kept axis that lanes run along
  int64_t group = 1;       // rows in a group
  int64_t row_elements = 1;
};

int32_t widest_leaf_block(const Task& task, const ir::Shape& full) {
  for (NodeId leaf : task.region.leaves) {
    if (task.type(leaf).shape == full && task.has_buffer(leaf)) {
      return task.schedule.buffer(leaf).layout.channel_block;
    }
  }
  return 1;
}

Geometry make_geometry(const Task& task, const Knobs& knobs) {
  Geometry g;
  const ir::Node& root = task.node(task.region.root);
  g.full = task.type(root.inputs[0]).shape;
  const std::vector<int>& axes = root.as<ir::ReduceAttrs>().axes;
  std::vector<bool> is_reduced(g.full.size(), false);
  for (int axis : axes) is_reduced[static_cast<size_t>(axis)] = true;
  const int32_t block = widest_leaf_block(task, g.full);
  for (size_t axis = 0; axis < g.full.size(); ++axis) {
    if (is_reduced[axis] && !(block > 1 && axis == 1)) g.reduced.push_back(axis);
    if (!is_reduced[axis]) g.kept.push_back(axis);
  }
  if (block > 1 && is_reduced[1]) g.reduced.push_back(1);  // innermost in memory: visited innermost
  for (size_t axis : g.reduced) {
    g.reduced_shape.push_back(g.full[axis]);
    g.row_elements *= g.full[axis];
  }
  size_t innermost = block > 1 ? 1 : g.full.size() - 1;
  while (block == 1 && innermost > 0 && g.full[innermost] == 1) --innermost;
  g.columns = !g.full.empty() && !is_reduced[innermost] && g.full[innermost] > 1;
  if (g.columns) {
    g.vector_axis = innermost;
    g.group = block > 1 ? block : std::min<int64_t>(g.full[innermost], 4 * knobs.lanes);
  }
  for (size_t axis : g.kept) {
    const bool grouped = g.columns && axis == g.vector_axis;
    g.kept_shape.push_back(grouped ? (g.full[axis] + g.group - 1) / g.group : g.full[axis]);
  }
  return g;
}

class RowProgram {
 public:
  RowProgram(const Task& task, const Knobs& knobs)
      : task_(task),
        frame_(task, "reduce", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        geometry_(make_geometry(task, knobs)),
        lanes_(knobs.lanes) {
    for (NodeId id : task.region.nodes) {
      if (task.node(id).op == Op::kReduce) reductions_.push_back(id);
    }
  }

  LoweredKernel emit() {
    add_locals();
    int64_t groups = 1;
    for (int64_t extent : geometry_.kept_shape) groups *= extent;
    set_thread_loop(kernel_, groups, [&](ExprId t) { return group_body(t); });
    return std::move(frame_.lowered);
  }

 private:
  ir::DType dtype_of(NodeId id) const { return accumulator_dtype(task_.type(id).dtype); }

  void add_locals() {
    chains_ = geometry_.row_elements >= 4 * kChains * (geometry_.columns ? 1 : lanes_) &&
                      geometry_.group <= lanes_
                  ? kChains
                  : 1;
    const int64_t width = geometry_.columns ? geometry_.group : lanes_;
    for (NodeId id : reductions_) {
      results_[id] = kernel_.add_local("r", dtype_of(id), geometry_.group);
      accumulators_[id] = kernel_.add_local("acc", dtype_of(id), chains_ * width);
      if (keeps_operand(id)) {
        scratch_[id] =
            kernel_.add_local("row", dtype_of(id), geometry_.row_elements * geometry_.group);
      }
    }
  }

  // Should the reduction's operand be kept for later phases, rather than computed again?
  bool keeps_operand(NodeId reduction) const {
    const NodeId operand = task_.node(reduction).inputs[0];
    const std::set<NodeId> members(task_.region.nodes.begin(), task_.region.nodes.end());
    if (members.count(operand) == 0) return false;
    const int64_t bytes =
        geometry_.row_elements * geometry_.group * base::dtype_size_bytes(dtype_of(reduction));
    if (bytes > kScratchBytes) return false;
    bool used_later = operand == task_.region.output;
    for (NodeId id : members) {
      if (id == reduction) continue;
      const std::vector<NodeId>& inputs = task_.node(id).inputs;
      used_later |= std::find(inputs.begin(), inputs.end(), operand) != inputs.end();
    }
    return used_later && has_dear_ancestor(operand, members);
  }

  bool has_dear_ancestor(NodeId id, const std::set<NodeId>& members) const {
    if (members.count(id) == 0 || task_.node(id).op == Op::kReduce) return false;
    // What has a value per row only is computed once a row anyway.
    if (task_.type(id).shape == geometry_.full && is_dear(task_.node(id).op)) return true;
    const std::vector<NodeId>& inputs = task_.node(id).inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](NodeId input) { return has_dear_ancestor(input, members); });
  }

  std::vector<Stmt> group_body(ExprId t) {
    const Index kept = delinearize(kernel_, geometry_.kept_shape, t);
    if (!geometry_.columns) return phases(kept, 1);
    const size_t position = static_cast<size_t>(
        std::find(geometry_.kept.begin(), geometry_.kept.end(), geometry_.vector_axis) -
        geometry_.kept.begin());
    const int64_t rest = geometry_.full[geometry_.vector_axis] % geometry_.group;
    if (rest == 0) return phases(kept, geometry_.group);
    const ExprId last = kernel_.int_const(geometry_.kept_shape[position] - 1);
    std::vector<Stmt> body;
    if (geometry_.kept_shape[position] > 1) {
      body.push_back(ir::make_if(kernel_.binary(KOp::kLt, kept[position], last),
                                 phases(kept, geometry_.group)));
    }
    body.push_back(ir::make_if(kernel_.binary(KOp::kEq, kept[position], last), phases(kept, rest)));
    return body;
  }

  // Index in the full shape: row `lane` of the group, element `at` of the row.
  Index full_index(const Index& kept, ExprId lane, ExprId at) {
    Index index(geometry_.full.size());
    const Index inner = delinearize(kernel_, geometry_.reduced_shape, at);
    for (size_t i = 0; i < geometry_.reduced.size(); ++i) index[geometry_.reduced[i]] = inner[i];
    place_kept(kept, lane, index);
    return index;
  }
  Index reduced_index(const Index& kept, ExprId lane) {
    Index index(geometry_.full.size(), kernel_.int_const(0));
    place_kept(kept, lane, index);
    return index;
  }
  void place_kept(const Index& kept, ExprId lane, Index& index) {
    for (size_t i = 0; i < geometry_.kept.size(); ++i) {
      const size_t axis = geometry_.kept[i];
      const bool grouped = geometry_.columns && axis == geometry_.vector_axis;
      index[axis] = grouped ? kernel_.add(kernel_.mul(kept[i], geometry_.group), lane) : kept[i];
    }
  }

  ExprId value_at(NodeId id, const Index& kept, ExprId lane, ExprId at) {
    lane_ = lane;
    at_ = at;
    return evaluator_.value(id, full_index(kept, lane, at));
  }

  std::vector<Stmt> phases(const Index& kept, int64_t rows) {
    std::vector<Stmt> body;
    for (NodeId id : reductions_) {
      append(body, geometry_.columns ? column_phase(id, kept, rows) : row_phase(id, kept));
      bind_results(id);
    }
    append(body, output_phase(kept, rows));
    for (NodeId id : reductions_) unbind(id);
    return body;
  }

  void bind_results(NodeId id) {
    const ir::ArrayId result = results_.at(id);
    evaluator_.bind(id, [this, result](const Index&) { return kernel_.load(result, lane_); });
    const auto kept_row = scratch_.find(id);
    if (kept_row == scratch_.end()) return;
    const ir::ArrayId row = kept_row->second;
    evaluator_.bind(task_.node(id).inputs[0], [this, row](const Index&) {
      return kernel_.load(row, scratch_index(lane_, at_));
    });
  }
  void unbind(NodeId id) {
    evaluator_.unbind(id);
    if (scratch_.count(id) > 0) evaluator_.unbind(task_.node(id).inputs[0]);
  }
  ExprId scratch_index(ExprId lane, ExprId at) {
    return kernel_.add(kernel_.mul(at, geometry_.group), lane);
  }

  // acc[place] = combine(acc[place], operand), keeping the operand if a later phase wants it.
  std::vector<Stmt> accumulate(NodeId id, const Index& kept, ExprId lane, ExprId at,
                               ir::ArrayId acc, ExprId place) {
    const ir::ReduceKind kind = task_.node(id).as<ir::ReduceAttrs>().kind;
    const ExprId operand = value_at(task_.node(id).inputs[0], kept, lane, at);
    std::vector<Stmt> body;
    const auto kept_row = scratch_.find(id);
    ExprId element = operand;
    if (kept_row != scratch_.end()) {
      body.push_back(ir::make_store(kept_row->second, scratch_index(lane, at), operand));
      element = kernel_.load(kept_row->second, scratch_index(lane, at));
    }
    const ExprId combined = reduce_combine(kernel_, kind, element, kernel_.load(acc, place));
    body.push_back(ir::make_store(acc, place, combined));
    return body;
  }

  std::vector<Stmt> fill(ir::ArrayId array, int64_t elements, NodeId id) {
    const ExprId identity =
        reduce_identity(kernel_, task_.node(id).as<ir::ReduceAttrs>().kind, {dtype_of(id), 1});
    return loop(kernel_, "v", elements, LoopKind::kVector, [&](ExprId v) -> std::vector<Stmt> {
      return {ir::make_store(array, v, identity)};
    });
  }

  std::vector<Stmt> row_phase(NodeId id, const Index& kept) {
    const ir::ArrayId acc = accumulators_.at(id);
    const int64_t stride = chains_ * lanes_;
    const int64_t full = geometry_.row_elements / stride;
    const ExprId zero = kernel_.int_const(0);
    std::vector<Stmt> body = fill(acc, stride, id);
    append(body, loop(kernel_, "k", full, LoopKind::kSerial, [&](ExprId k) {
             std::vector<Stmt> inside;
             for (int64_t chain = 0; chain < chains_; ++chain) {
               append(inside, loop(kernel_, "v", lanes_, LoopKind::kVector, [&](ExprId v) {
                        const ExprId at =
                            kernel_.add(kernel_.mul(k, stride), kernel_.add(v, chain * lanes_));
                        return accumulate(id, kept, zero, at, acc, kernel_.add(v, chain * lanes_));
                      }));
             }
             return inside;
           }));
    append(body, loop(kernel_, "k", geometry_.row_elements - full * stride, LoopKind::kSerial,
                      [&](ExprId k) {
                        return accumulate(id, kept, zero, kernel_.add(k, full * stride), acc, zero);
                      }));
    append(body, fold(kernel_, task_.node(id).as<ir::ReduceAttrs>().kind, acc, stride));
    body.push_back(ir::make_store(results_.at(id), zero, kernel_.load(acc, zero)));
    return body;
  }

  std::vector<Stmt> column_phase(NodeId id, const Index& kept, int64_t rows) {
    const ir::ReduceKind kind = task_.node(id).as<ir::ReduceAttrs>().kind;
    const ir::ArrayId acc = accumulators_.at(id);
    const int64_t full = geometry_.row_elements / chains_;
    std::vector<Stmt> body = fill(acc, chains_ * geometry_.group, id);
    const auto one = [&](ExprId at, int64_t chain) {
      return loop(kernel_, "v", rows, LoopKind::kVector, [&](ExprId v) {
        return accumulate(id, kept, v, at, acc, kernel_.add(v, chain * geometry_.group));
      });
    };
    append(body, loop(kernel_, "k", full, LoopKind::kSerial, [&](ExprId k) {
             std::vector<Stmt> inside;
             for (int64_t chain = 0; chain < chains_; ++chain) {
               append(inside, one(kernel_.add(kernel_.mul(k, chains_), chain), chain));
             }
             return inside;
           }));
    append(body, loop(kernel_, "k", geometry_.row_elements - full * chains_, LoopKind::kSerial,
                      [&](ExprId k) { return one(kernel_.add(k, full * chains_), 0); }));
    append(body, loop(kernel_, "v", rows, LoopKind::kVector, [&](ExprId v) -> std::vector<Stmt> {
             ExprId total = kernel_.load(acc, v);
             for (int64_t chain = 1; chain < chains_; ++chain) {
               const ExprId other = kernel_.load(acc, kernel_.add(v, chain * geometry_.group));
               total = reduce_combine(kernel_, kind, other, total);
             }
             return {ir::make_store(results_.at(id), v, total)};
           }));
    return body;
  }

  std::vector<Stmt> output_phase(const Index& kept, int64_t rows) {
    const NodeId output = task_.region.output;
    const auto store = [&](const Index& index, ExprId lane, ExprId at) -> std::vector<Stmt> {
      lane_ = lane;
      at_ = at;
      return {evaluator_.store_output(frame_.output, index, evaluator_.value(output, index))};
    };
    const ExprId zero = kernel_.int_const(0);
    if (task_.type(output).shape == task_.type(task_.region.root).shape &&
        task_.type(output).shape != geometry_.full) {
      return loop(kernel_, "v", rows, LoopKind::kVector,
                  [&](ExprId v) { return store(reduced_index(kept, v), v, zero); });
    }
    if (!geometry_.columns) {
      return loop(kernel_, "v", geometry_.row_elements, LoopKind::kVector,
                  [&](ExprId v) { return store(full_index(kept, zero, v), zero, v); });
    }
    return loop(kernel_, "k", geometry_.row_elements, LoopKind::kSerial, [&](ExprId k) {
      return loop(kernel_, "v", rows, LoopKind::kVector,
                  [&](ExprId v) { return store(full_index(kept, v, k), v, k); });
    });
  }

  const Task& task_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  Geometry geometry_;
  int64_t lanes_;
  int64_t chains_ = 1;
  std::vector<NodeId> reductions_;
  std::map<NodeId, ir::ArrayId> results_;
  std::map<NodeId, ir::ArrayId> accumulators_;
  std::map<NodeId, ir::ArrayId> scratch_;  // by reduction: its operand's row
  ExprId lane_ = ir::kNoExpr;              // of the value being evaluated
  ExprId at_ = ir::kNoExpr;
};

}  // namespace

bool matches_reduce(const Task& task) {
  return task.has_root(Op::kReduce);
}

std::vector<Knobs> knobs_reduce(const Task& task) {
  Knobs knobs;
  knobs.lanes = task.target.lanes(accumulator_dtype(task.type(task.region.root).dtype));
  knobs.pixels = knobs.vectors = knobs.unroll = 1;
  return {knobs};
}

LoweredKernel emit_reduce(const Task& task, const Knobs& knobs) {
  return RowProgram(task, knobs).emit();
}

}  // namespace camshaft::lower
