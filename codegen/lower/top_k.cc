// SPDX-License-Identifier: MIT
// Strategy `top_k`: each row by itself, in one of three ways. Few of many: a sorted list of the
// best so far, which most elements don't enter. Otherwise a merge sort in local arrays, of keys and
// indices or, where that is too much, of indices alone. And where those don't fit, each element's
// rank is counted.
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

constexpr int64_t kShortList = 64;
constexpr int64_t kLocalBytes = render::kMaxLocalBytes - (1 << 10);

class TopKEmitter {
 public:
  TopKEmitter(const Task& task, const Knobs& knobs)
      : frame_(task, "top_k", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        node_(task.node(task.region.root)),
        attrs_(node_.as<ir::TopKAttrs>()),
        axis_(static_cast<size_t>(attrs_.axis)),
        extent_(task.type(node_.inputs[0]).shape[axis_]),
        dtype_(compute_dtype(task.type(node_.inputs[0]).dtype)) {}

  LoweredKernel emit() {
    ir::Shape rows = node_.type.shape;
    rows[axis_] = 1;
    int64_t count = 1;
    for (const int64_t extent : rows) count *= std::max<int64_t>(extent, 1);
    const int64_t entry_bytes = base::dtype_size_bytes(dtype_) + 4;
    const bool list_fits = attrs_.count * entry_bytes <= kLocalBytes;
    const bool keys_fit = 2 * extent_ * entry_bytes <= kLocalBytes;
    const bool sort_fits = 2 * extent_ * 4 <= kLocalBytes;
    set_thread_loop(kernel_, count, [&](ExprId t) {
      row_ = delinearize(kernel_, rows, t);
      if (attrs_.count == 0) return std::vector<Stmt>{};
      if (list_fits && (attrs_.count <= kShortList || !sort_fits)) return keep_best();
      return sort_fits ? merge_sort(keys_fit) : count_ranks();
    });
    return std::move(frame_.lowered);
  }

 private:
  ExprId number(int64_t value) { return kernel_.int_const(value); }
  ExprId index32(ExprId value) { return kernel_.cast(value, DType::kInt32); }
  ExprId x(ExprId at) {
    Index index = row_;
    index[axis_] = at;
    return evaluator_.value(node_.inputs[0], index);
  }
  Stmt store_result(ExprId position, ExprId index) {
    Index at = row_;
    at[axis_] = position;
    return evaluator_.store_output(frame_.output, at, kernel_.cast(index, DType::kInt64));
  }
  ExprId both(ExprId a, ExprId b) { return kernel_.binary(KOp::kAnd, a, b); }
  ExprId either(ExprId a, ExprId b) { return kernel_.binary(KOp::kOr, a, b); }
  ExprId negated(ExprId a) {
    return kernel_.binary(KOp::kXor, a, kernel_.int_const(1, DType::kBool));
  }

  // Does `a` come strictly before `b`?
  ExprId better(ExprId a, ExprId b) {
    if (!attrs_.largest) std::swap(a, b);
    const ExprId greater = kernel_.binary(KOp::kLt, b, a);
    if (!base::is_float(dtype_)) return greater;
    const ExprId only_a_is_nan =
        both(negated(kernel_.binary(KOp::kEq, a, a)), kernel_.binary(KOp::kEq, b, b));
    return either(greater, only_a_is_nan);
  }

  // A list of `count` entries, best first; an index below 0 marks an empty one.
  std::vector<Stmt> keep_best() {
    const int64_t count = attrs_.count;
    const ir::ArrayId keys = kernel_.add_local("keys", dtype_, count + 1);
    const ir::ArrayId indices = kernel_.add_local("indices", DType::kInt32, count + 1);
    const ExprId carried = number(count);  // the entry that looks for its place
    const ExprId no_index = kernel_.int_const(-1, DType::kInt32);
    std::vector<Stmt> body = loop(kernel_, "p", count, LoopKind::kSerial, [&](ExprId p) {
      return std::vector<Stmt>{ir::make_store(keys, p, kernel_.splat(0, {dtype_, 1})),
                               ir::make_store(indices, p, no_index)};
    });
    const auto goes_before = [&](ExprId key, ExprId p) {
      const ExprId empty =
          kernel_.binary(KOp::kLt, kernel_.load(indices, p), kernel_.int_const(0, DType::kInt32));
      return either(empty, better(key, kernel_.load(keys, p)));
    };
    append(body, loop(kernel_, "i", extent_, LoopKind::kSerial, [&](ExprId i) {
             std::vector<Stmt> step;
             const ExprId key = let(kernel_, step, "key", x(i));
             std::vector<Stmt> insert = {ir::make_store(keys, carried, key),
                                         ir::make_store(indices, carried, index32(i))};
             append(insert, loop(kernel_, "p", count, LoopKind::kSerial, [&](ExprId p) {
                      return exchange(keys, indices, p, carried, i, goes_before);
                    }));
             step.push_back(ir::make_if(goes_before(key, number(count - 1)), std::move(insert)));
             return step;
           }));
    append(body, loop(kernel_, "p", count, LoopKind::kSerial, [&](ExprId p) {
             return std::vector<Stmt>{store_result(p, kernel_.load(indices, p))};
           }));
    return body;
  }

  // Exchanges the carried entry with entry p if it goes before it. One that was pushed out of its
  // place, not the new one, does: what follows it is not better.
  template <typename GoesBefore>
  std::vector<Stmt> exchange(ir::ArrayId keys, ir::ArrayId indices, ExprId p, ExprId carried,
                             ExprId newest, const GoesBefore& goes_before) {
    std::vector<Stmt> body;
    const ExprId new_key = let(kernel_, body, "new_key", kernel_.load(keys, carried));
    const ExprId new_index = let(kernel_, body, "new_index", kernel_.load(indices, carried));
    const ExprId old_key = let(kernel_, body, "old_key", kernel_.load(keys, p));
    const ExprId old_index = let(kernel_, body, "old_index", kernel_.load(indices, p));
    const ExprId swaps =
        let(kernel_, body, "swaps",
            either(kernel_.binary(KOp::kLt, new_index, index32(newest)), goes_before(new_key, p)));
    body.push_back(ir::make_store(keys, p, kernel_.select(swaps, new_key, old_key)));
    body.push_back(ir::make_store(indices, p, kernel_.select(swaps, new_index, old_index)));
    body.push_back(ir::make_store(keys, carried, kernel_.select(swaps, old_key, new_key)));
    body.push_back(ir::make_store(indices, carried, kernel_.select(swaps, old_index, new_index)));
    return body;
  }

  // Two halves of each array take turns as source and destination of a pass.
  struct Runs {
    ir::ArrayId keys;  // -1: keys are looked up by index
    ir::ArrayId indices;
    ir::ArrayId heads;  // where the two runs that are being merged stand
    int64_t from;
    int64_t to;
  };

  std::vector<Stmt> merge_sort(bool with_keys) {
    Runs runs{with_keys ? kernel_.add_local("keys", dtype_, 2 * extent_) : ir::ArrayId{-1},
              kernel_.add_local("indices", DType::kInt32, 2 * extent_),
              kernel_.add_local("heads", DType::kInt64, 2), 0, extent_};
    std::vector<Stmt> body = loop(kernel_, "i", extent_, LoopKind::kSerial, [&](ExprId i) {
      std::vector<Stmt> stores = {ir::make_store(runs.indices, i, index32(i))};
      if (with_keys) stores.push_back(ir::make_store(runs.keys, i, x(i)));
      return stores;
    });
    for (int64_t width = 1; width < extent_; width *= 2) {
      append(body, loop(kernel_, "pair", (extent_ + 2 * width - 1) / (2 * width), LoopKind::kSerial,
                        [&](ExprId pair) { return merge_pair(runs, pair, width); }));
      std::swap(runs.from, runs.to);
    }
    append(body, loop(kernel_, "p", attrs_.count, LoopKind::kSerial, [&](ExprId p) {
             const ExprId index = kernel_.load(runs.indices, kernel_.add(p, runs.from));
             return std::vector<Stmt>{store_result(p, index)};
           }));
    return body;
  }

  std::vector<Stmt> merge_pair(const Runs& runs, ExprId pair, int64_t width) {
    std::vector<Stmt> body;
    const auto at_most_extent = [&](ExprId at) {
      return kernel_.binary(KOp::kMin, at, number(extent_));
    };
    const ExprId begin = kernel_.mul(pair, 2 * width);
    const ExprId middle = let(kernel_, body, "middle", at_most_extent(kernel_.add(begin, width)));
    const ExprId end = let(kernel_, body, "end", at_most_extent(kernel_.add(begin, 2 * width)));
    body.push_back(ir::make_store(runs.heads, number(0), begin));
    body.push_back(ir::make_store(runs.heads, number(1), middle));
    append(body, loop_between(kernel_, "to", begin, end, 0, extent_ - 1,
                              [&](ExprId to) { return merge_step(runs, middle, end, to); }));
    return body;
  }

  std::vector<Stmt> merge_step(const Runs& runs, ExprId middle, ExprId end, ExprId to) {
    std::vector<Stmt> body;
    const ExprId left = let(kernel_, body, "left", kernel_.load(runs.heads, number(0)));
    const ExprId right = let(kernel_, body, "right", kernel_.load(runs.heads, number(1)));
    const auto place = [&](ExprId head) {  // both sides of a choice are read: stay inside
      const ExprId inside = kernel_.binary(KOp::kMin, kernel_.binary(KOp::kMax, head, number(0)),
                                           number(extent_ - 1));
      return kernel_.add(inside, runs.from);
    };
    const auto key_at = [&](ExprId at) {
      if (runs.keys >= 0) return kernel_.load(runs.keys, at);
      const ExprId index = kernel_.cast(kernel_.load(runs.indices, at), DType::kInt64);
      return x(kernel_.binary(KOp::kMin, kernel_.binary(KOp::kMax, index, number(0)),
                              number(extent_ - 1)));
    };
    const ExprId left_key = let(kernel_, body, "left_key", key_at(place(left)));
    const ExprId right_key = let(kernel_, body, "right_key", key_at(place(right)));
    const ExprId left_ends = kernel_.binary(KOp::kLe, middle, left);
    const ExprId right_left = kernel_.binary(KOp::kLt, right, end);
    const ExprId takes_right =
        let(kernel_, body, "takes_right",
            both(right_left, either(left_ends, better(right_key, left_key))));
    const ExprId source = kernel_.select(takes_right, place(right), place(left));
    const ExprId target = kernel_.add(to, runs.to);
    if (runs.keys >= 0) {
      body.push_back(
          ir::make_store(runs.keys, target, kernel_.select(takes_right, right_key, left_key)));
    }
    body.push_back(ir::make_store(runs.indices, target, kernel_.load(runs.indices, source)));
    const ExprId step = kernel_.select(takes_right, number(1), number(0));
    body.push_back(ir::make_store(runs.heads, number(1), kernel_.add(right, step)));
    body.push_back(
        ir::make_store(runs.heads, number(0), kernel_.add(left, kernel_.sub(number(1), step))));
    return body;
  }

  // How many come before an element is its place.
  std::vector<Stmt> count_ranks() {
    const ir::ArrayId rank = kernel_.add_local("rank", DType::kInt64, 1);
    return loop(kernel_, "i", extent_, LoopKind::kSerial, [&](ExprId i) {
      std::vector<Stmt> body = {ir::make_store(rank, number(0), number(0))};
      const ExprId key = let(kernel_, body, "key", x(i));
      append(body, loop(kernel_, "j", extent_, LoopKind::kSerial, [&](ExprId j) {
               const ExprId other = x(j);
               const ExprId earlier = kernel_.binary(KOp::kLt, j, i);
               const ExprId before =
                   kernel_.select(earlier, negated(better(key, other)), better(other, key));
               const ExprId more = kernel_.select(before, number(1), number(0));
               return std::vector<Stmt>{ir::make_store(
                   rank, number(0), kernel_.add(kernel_.load(rank, number(0)), more))};
             }));
      const ExprId place = kernel_.load(rank, number(0));
      const ExprId inside = kernel_.binary(KOp::kMin, kernel_.binary(KOp::kMax, place, number(0)),
                                           number(attrs_.count - 1));
      body.push_back(ir::make_if(kernel_.binary(KOp::kLt, place, number(attrs_.count)),
                                 {store_result(inside, i)}));
      return body;
    });
  }

  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  const ir::Node& node_;
  const ir::TopKAttrs& attrs_;
  size_t axis_;
  int64_t extent_;
  DType dtype_;
  Index row_;
};

}  // namespace

bool matches_top_k(const Task& task) {
  return task.has_root(Op::kTopK);
}

std::vector<Knobs> knobs_top_k(const Task&) {
  return {scalar_knobs()};
}

LoweredKernel emit_top_k(const Task& task, const Knobs& knobs) {
  return TopKEmitter(task, knobs).emit();
}

}  // namespace camshaft::lower
