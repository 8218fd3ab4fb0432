// SPDX-License-Identifier: MIT
// Strategy `group_rows`, for GPUs: one or more reductions over the same axes of the same rows, with
// what comes before, between and after them, as in `reduce`. A group does some rows at a time, each
// by several items: an item reduces every so many elements of its row, the items' results meet in
// shared memory, and then all of them know the row's. Where the axis that is innermost in memory is
// kept, neighbouring items do neighbouring rows, otherwise neighbouring elements of a row.
#include <algorithm>
#include <bit>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

using ir::KOp;
using ir::LoopKind;
using ir::Op;

constexpr int64_t kMostReductions = 8;   // 256 results of 8 bytes each in shared memory
constexpr int64_t kElementsAtLeast = 4;  // of a row for an item
constexpr int64_t kNeighbours = 8;       // rows next to each other, where these are in memory

struct Geometry {
  ir::Shape full;  // of the reduced operand
  std::vector<size_t> reduced, kept;
  ir::Shape reduced_shape, kept_shape;
  int64_t rows = 1;
  int64_t elements = 1;  // of a row
  bool rows_lie_together = false;
};

int32_t leaf_block(const Task& task, const ir::Shape& full) {
  for (NodeId leaf : task.region.leaves) {
    if (task.type(leaf).shape == full && task.has_buffer(leaf)) {
      return task.schedule.buffer(leaf).layout.channel_block;
    }
  }
  return 1;
}

Geometry make_geometry(const Task& task) {
  Geometry g;
  const ir::Node& root = task.node(task.region.root);
  g.full = task.type(root.inputs[0]).shape;
  std::vector<bool> is_reduced(g.full.size(), false);
  for (int axis : root.as<ir::ReduceAttrs>().axes) is_reduced[static_cast<size_t>(axis)] = true;
  const int32_t block = leaf_block(task, g.full);
  for (size_t axis = 0; axis < g.full.size(); ++axis) {
    (is_reduced[axis] ? g.reduced : g.kept).push_back(axis);
  }
  if (block > 1 && is_reduced[1]) {  // innermost in memory
    std::rotate(std::find(g.reduced.begin(), g.reduced.end(), size_t{1}),
                std::find(g.reduced.begin(), g.reduced.end(), size_t{1}) + 1, g.reduced.end());
  }
  for (size_t axis : g.reduced) g.reduced_shape.push_back(g.full[axis]);
  for (size_t axis : g.kept) g.kept_shape.push_back(g.full[axis]);
  for (int64_t extent : g.reduced_shape) g.elements *= extent;
  for (int64_t extent : g.kept_shape) g.rows *= extent;
  size_t innermost = block > 1 ? 1 : g.full.size() - 1;
  while (block == 1 && innermost > 0 && g.full[innermost] == 1) --innermost;
  g.rows_lie_together = !g.full.empty() && !is_reduced[innermost] && g.full[innermost] > 1;
  return g;
}

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : task_(task),
        geometry_(make_geometry(task)),
        sharers_(knobs.vectors),
        rows_(render::kGroupItems / knobs.vectors),
        frame_(task, "group_rows", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    for (NodeId id : task.region.nodes) {
      if (task.node(id).op != Op::kReduce) continue;
      reductions_.push_back(id);
      accumulators_.push_back(kernel_.add_local("acc", dtype_of(id), 1));
    }
    for (NodeId id : reductions_) {
      results_.push_back(kernel_.add_shared("part", dtype_of(id), render::kGroupItems));
    }
  }

  LoweredKernel emit() {
    const int64_t groups = (geometry_.rows + rows_ - 1) / rows_;
    set_thread_loop(kernel_, groups, [&](ExprId t) {
      std::vector<Stmt> body;
      for (size_t i = 0; i < reductions_.size(); ++i) {
        append(body, items([&](ExprId item) { return reduce_part(i, t, item); }));
        body.push_back(ir::make_barrier());
        append(body, combine_parts(i));
        evaluator_.bind(reductions_[i], [this, i](const Index&) {
          return kernel_.load(results_[i], place(row_, kernel_.int_const(0)));
        });
      }
      append(body, items([&](ExprId item) { return output(t, item); }));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  ir::DType dtype_of(NodeId id) const { return accumulator_dtype(task_.type(id).dtype); }
  ir::ReduceKind kind_of(size_t i) const {
    return task_.node(reductions_[i]).as<ir::ReduceAttrs>().kind;
  }

  std::vector<Stmt> items(const Body& body) {
    const ir::VarId var = kernel_.add_loop_var("item", 0, render::kGroupItems - 1);
    std::vector<Stmt> inside = body(kernel_.var(var));
    return {ir::make_for(var, kernel_.int_const(0), kernel_.int_const(render::kGroupItems),
                         LoopKind::kItem, std::move(inside))};
  }

  // Item of the group's row `row` and its sharer `sharer`.
  ExprId place(ExprId row, ExprId sharer) {
    return geometry_.rows_lie_together ? kernel_.add(kernel_.mul(sharer, rows_), row)
                                       : kernel_.add(kernel_.mul(row, sharers_), sharer);
  }
  // Sets row_ and sharer_ of an item.
  void find_place(ExprId item, std::vector<Stmt>& body) {
    const int64_t inner = geometry_.rows_lie_together ? rows_ : sharers_;
    const ExprId fast = let(kernel_, body, "fast", kernel_.mod(item, inner));
    const ExprId slow = let(kernel_, body, "slow", kernel_.div(item, inner));
    row_ = geometry_.rows_lie_together ? fast : slow;
    sharer_ = geometry_.rows_lie_together ? slow : fast;
  }

  // The index in the operand on the kept axes; on the others 0.
  Index row_index(ExprId t, std::vector<Stmt>& body) {
    ExprId number = kernel_.add(kernel_.mul(t, rows_), row_);
    if (has_rest()) {
      number = kernel_.binary(KOp::kMin, number, kernel_.int_const(geometry_.rows - 1));
    }
    number = let(kernel_, body, "number", number);
    const Index kept = delinearize(kernel_, geometry_.kept_shape, number);
    Index index(geometry_.full.size(), kernel_.int_const(0));
    for (size_t i = 0; i < kept.size(); ++i) index[geometry_.kept[i]] = kept[i];
    return index;
  }
  bool has_rest() const { return geometry_.rows % rows_ != 0; }

  // Statements for each element of an item's share of its row, by `body`(the element's index).
  std::vector<Stmt> each_element(const Index& row,
                                 const std::function<std::vector<Stmt>(const Index&)>& body) {
    const int64_t turns = (geometry_.elements + sharers_ - 1) / sharers_;
    return loop(kernel_, "k", turns, LoopKind::kSerial, [&](ExprId k) -> std::vector<Stmt> {
      std::vector<Stmt> inside;
      const ExprId at = let(kernel_, inside, "at", kernel_.add(kernel_.mul(k, sharers_), sharer_));
      const Index element = delinearize(kernel_, geometry_.reduced_shape, at);
      Index index = row;
      for (size_t i = 0; i < element.size(); ++i) index[geometry_.reduced[i]] = element[i];
      if (geometry_.elements % sharers_ == 0) {
        append(inside, body(index));
      } else {
        inside.push_back(ir::make_if(
            kernel_.binary(KOp::kLt, at, kernel_.int_const(geometry_.elements)), body(index)));
      }
      return inside;
    });
  }

  std::vector<Stmt> reduce_part(size_t i, ExprId t, ExprId item) {
    const NodeId id = reductions_[i];
    const ExprId zero = kernel_.int_const(0);
    const ExprId sum = kernel_.load(accumulators_[i], zero);
    std::vector<Stmt> body;
    find_place(item, body);
    const Index row = row_index(t, body);
    body.push_back(ir::make_store(accumulators_[i], zero,
                                  reduce_identity(kernel_, kind_of(i), {dtype_of(id), 1})));
    append(body, each_element(row, [&](const Index& index) -> std::vector<Stmt> {
             const ExprId value = evaluator_.value(task_.node(id).inputs[0], index);
             return {ir::make_store(accumulators_[i], zero,
                                    reduce_combine(kernel_, kind_of(i), value, sum))};
           }));
    body.push_back(ir::make_store(results_[i], item, sum));
    return body;
  }

  // Halves the number of parts until there is one a row.
  std::vector<Stmt> combine_parts(size_t i) {
    std::vector<Stmt> body;
    for (int64_t width = sharers_ / 2; width >= 1; width /= 2) {
      append(body, items([&](ExprId item) {
               std::vector<Stmt> inside;
               find_place(item, inside);
               const ExprId other = place(row_, kernel_.add(sharer_, width));
               const ExprId both =
                   reduce_combine(kernel_, kind_of(i), kernel_.load(results_[i], other),
                                  kernel_.load(results_[i], item));
               inside.push_back(
                   ir::make_if(kernel_.binary(KOp::kLt, sharer_, kernel_.int_const(width)),
                               {ir::make_store(results_[i], item, both)}));
               return inside;
             }));
      body.push_back(ir::make_barrier());
    }
    return body;
  }

  std::vector<Stmt> output(ExprId t, ExprId item) {
    const NodeId id = task_.region.output;
    const auto store = [&](const Index& index) -> std::vector<Stmt> {
      return {evaluator_.store_output(frame_.output, index, evaluator_.value(id, index))};
    };
    std::vector<Stmt> body;
    find_place(item, body);
    const Index row = row_index(t, body);
    const ir::Shape& shape = task_.type(id).shape;
    std::vector<Stmt> inside;
    if (shape == task_.type(task_.region.root).shape && shape != geometry_.full) {
      inside = {ir::make_if(kernel_.binary(KOp::kEq, sharer_, kernel_.int_const(0)), store(row))};
    } else {
      inside = each_element(row, store);
    }
    if (!has_rest()) {
      append(body, std::move(inside));
    } else {
      const ExprId number = kernel_.add(kernel_.mul(t, rows_), row_);
      body.push_back(ir::make_if(
          kernel_.binary(KOp::kLt, number, kernel_.int_const(geometry_.rows)), std::move(inside)));
    }
    return body;
  }

  const Task& task_;
  const Geometry geometry_;
  const int64_t sharers_;  // items of a row
  const int64_t rows_;     // of a group
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  std::vector<NodeId> reductions_;
  std::vector<ir::ArrayId> accumulators_, results_;  // by reduction
  ExprId row_ = ir::kNoExpr;                         // of the item, in its group
  ExprId sharer_ = ir::kNoExpr;
};

}  // namespace

bool matches_group_rows(const Task& task) {
  if (!task.target.is_gpu || !task.has_root(Op::kReduce)) return false;
  const auto reductions = std::count_if(task.region.nodes.begin(), task.region.nodes.end(),
                                        [&](NodeId id) { return task.node(id).op == Op::kReduce; });
  const ir::Shape& full = task.type(task.node(task.region.root).inputs[0]).shape;
  const ir::Shape& output = task.type(task.region.output).shape;
  const bool is_known = output == full || output == task.type(task.region.root).shape;
  return reductions <= kMostReductions && is_known && make_geometry(task).elements > 0;
}

std::vector<Knobs> knobs_group_rows(const Task& task) {
  const Geometry geometry = make_geometry(task);
  const int64_t most =
      geometry.rows_lie_together
          ? render::kGroupItems /
                std::min<int64_t>(
                    kNeighbours,
                    static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(geometry.rows))))
          : render::kGroupItems;
  const auto wanted =
      static_cast<uint64_t>(std::clamp<int64_t>(geometry.elements / kElementsAtLeast, 1, most));
  std::vector<Knobs> result;
  for (auto sharers = static_cast<int32_t>(std::bit_floor(wanted)); sharers >= 1; sharers /= 4) {
    Knobs knobs = scalar_knobs();
    knobs.vectors = sharers;
    result.push_back(knobs);
  }
  return result;
}

LoweredKernel emit_group_rows(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
