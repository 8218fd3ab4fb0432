// SPDX-License-Identifier: MIT
#include "codegen/lower/streamed_product.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/lower/tile.h"

namespace camshaft::lower {
namespace {

using ir::KOp;
using ir::LoopKind;

// Measured on Zen 3, as all that follows. Of an element that is packed from rows, and from columns.
constexpr double kRowElementCycles = 0.3;
constexpr double kColumnElementCycles = 1.2;
// What the second level of the caches gives.
constexpr double kBytesPerCycle = 32;
// Of the end of a dot, whose lanes are added.
constexpr double kSumCycles = 3;

// The step between neighbours along one axis of what `node` is made of: 1 where all loads that
// depend on it have that, 0 where none depends on it, -1 where it is anything else.
class Neighbours {
 public:
  Neighbours(const Task& task, NodeId node) : frame_(task, "", Knobs{}), kernel_(frame_.kernel()) {
    Evaluator evaluator(kernel_, task, frame_.arrays);
    Index index;
    for (const int64_t extent : task.type(node).shape) {
      vars_.push_back(kernel_.add_loop_var("i", 0, std::max<int64_t>(extent - 1, 0)));
      index.push_back(kernel_.var(vars_.back()));
    }
    collect(evaluator.value(node, index));
  }

  int64_t step_along(size_t axis) const {
    int64_t found = 0;
    for (const ExprId place : places_) {
      std::vector<int64_t> step;
      const bool is_affine = affine_coefficients(kernel_, place, {vars_[axis]}, step);
      if (!is_affine || step[0] < 0 || step[0] > 1) return -1;
      found = std::max(found, step[0]);
    }
    return found;
  }

 private:
  void collect(ExprId root) {
    std::vector<ExprId> pending = {root};
    std::vector<bool> seen(static_cast<size_t>(kernel_.expr_count()));
    while (!pending.empty()) {
      const ExprId id = pending.back();
      pending.pop_back();
      if (id == ir::kNoExpr || seen[static_cast<size_t>(id)]) continue;
      seen[static_cast<size_t>(id)] = true;
      const ir::Expr& e = kernel_.expr(id);
      if (e.op == KOp::kLoad) places_.push_back(e.args[0]);
      pending.insert(pending.end(), std::begin(e.args), std::end(e.args));
    }
  }

  Frame frame_;
  Kernel& kernel_;
  std::vector<ir::VarId> vars_;
  std::vector<ExprId> places_;
};

class Emitter {
 public:
  Emitter(Kernel& kernel, const StreamedProduct& product)
      : kernel_(kernel),
        product_(product),
        p_(product.shape),
        dtype_(kernel.array(product.result).dtype) {}

  std::vector<Stmt> by_rows() {
    std::vector<Stmt> body = clear();
    const int64_t full = p_.steps / p_.unroll;
    append(body, loop(kernel_, "k", full, LoopKind::kSerial, [&](ExprId turn) {
             return add_rows(kernel_.mul(turn, p_.unroll), p_.unroll);
           }));
    append(body, add_rows(kernel_.int_const(full * p_.unroll), p_.steps % p_.unroll));
    return body;
  }

  std::vector<Stmt> by_columns() {
    const int64_t full = p_.columns / p_.vectors;
    std::vector<Stmt> body = loop(kernel_, "tile", full, LoopKind::kSerial, [&](ExprId tile) {
      return dots(kernel_.mul(tile, p_.vectors), p_.vectors);
    });
    append(body, dots(kernel_.int_const(full * p_.vectors), p_.columns % p_.vectors));
    return body;
  }

 private:
  ExprId result(int64_t row, ExprId column) {
    return kernel_.add(column, row * product_.result_pitch);
  }

  std::vector<Stmt> clear() {
    std::vector<Stmt> body;
    for (int64_t row = 0; row < p_.rows; ++row) {
      append(body, loop(kernel_, "n", p_.columns, LoopKind::kVector, [&](ExprId column) {
               const ExprId zero = kernel_.splat(0, {dtype_, 1});
               return std::vector<Stmt>{ir::make_store(product_.result, result(row, column), zero)};
             }));
    }
    return body;
  }

  // result += left[all rows][steps from `first` on] * those rows of the right side, which are
  // summed first: long sums of partial ones are as exact as those of dots along lanes.
  std::vector<Stmt> add_rows(ExprId first, int64_t steps) {
    if (steps == 0) return {};
    const int64_t width = p_.vectors * p_.lanes;
    const int64_t full = p_.columns / width;
    std::vector<Stmt> body = loop(kernel_, "tile", full, LoopKind::kSerial, [&](ExprId tile) {
      return add_rows_to(kernel_.mul(tile, width), p_.vectors, p_.lanes, first, steps);
    });
    const int64_t vectors = p_.columns % width / p_.lanes;
    const ExprId rest = kernel_.int_const(full * width);
    if (vectors > 0) append(body, add_rows_to(rest, vectors, p_.lanes, first, steps));
    const int64_t lanes = p_.columns % p_.lanes;
    if (lanes == 0) return body;
    append(body, add_rows_to(kernel_.add(rest, vectors * p_.lanes), 1, lanes, first, steps));
    return body;
  }

  std::vector<Stmt> add_rows_to(ExprId begin, int64_t vectors, int64_t lanes, ExprId first,
                                int64_t steps) {
    return loop(kernel_, "v", lanes, LoopKind::kVector, [&](ExprId lane) {
      const auto column = [&](int64_t v) {
        return kernel_.add(kernel_.add(begin, v * lanes), lane);
      };
      std::vector<Stmt> body;
      std::vector<ExprId> sums(static_cast<size_t>(p_.rows * vectors), ir::kNoExpr);
      for (int64_t step = 0; step < steps; ++step) {
        const ExprId k = kernel_.add(first, step);
        std::vector<ExprId> numbers;
        for (int64_t v = 0; v < vectors; ++v) {
          numbers.push_back(let(kernel_, body, "b", product_.right(k, column(v))));
        }
        for (size_t i = 0; i < sums.size(); ++i) {
          const ExprId x = product_.left(static_cast<int64_t>(i) / vectors, k);
          const ExprId b = numbers[i % numbers.size()];
          sums[i] = let(kernel_, body, "s",
                        step == 0 ? kernel_.mul(x, b) : multiply_add(kernel_, x, b, sums[i]));
        }
      }
      for (size_t i = 0; i < sums.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        const ExprId to = result(at / vectors, column(at % vectors));
        const ExprId sum = kernel_.add(kernel_.load(product_.result, to), sums[i]);
        body.push_back(ir::make_store(product_.result, to, sum));
      }
      return body;
    });
  }

  // result[all rows][columns from `first` on].
  std::vector<Stmt> dots(ExprId first, int64_t columns) {
    if (columns == 0) return {};
    TileAccumulators acc(kernel_, product_.sums, p_.rows, columns, p_.lanes);
    std::vector<Stmt> body = acc.clear();
    const int64_t vectors = p_.steps / p_.lanes;
    const int64_t full = vectors / p_.unroll;
    const auto vector = [&](ExprId number) { return add_vector(acc, first, number); };
    append(body, loop(kernel_, "k", full, LoopKind::kSerial, [&](ExprId turn) {
             std::vector<Stmt> inside;
             for (int64_t u = 0; u < p_.unroll; ++u) {
               append(inside, vector(kernel_.add(kernel_.mul(turn, p_.unroll), u)));
             }
             return inside;
           }));
    for (int64_t rest = full * p_.unroll; rest < vectors; ++rest) {
      append(body, vector(kernel_.int_const(rest)));
    }
    for (int64_t r = 0; r < p_.rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        ExprId sum = kernel_.unary(KOp::kReduceAdd, acc.value(r, c));
        for (int64_t k = vectors * p_.lanes; k < p_.steps; ++k) {
          const ExprId step = kernel_.int_const(k);
          sum = multiply_add(kernel_, product_.left(r, step),
                             product_.right(step, kernel_.add(first, c)), sum);
        }
        body.push_back(ir::make_store(product_.result, result(r, kernel_.add(first, c)), sum));
      }
    }
    return body;
  }

  std::vector<Stmt> add_vector(TileAccumulators& acc, ExprId first, ExprId number) {
    return loop(kernel_, "v", p_.lanes, LoopKind::kVector, [&](ExprId lane) {
      const ExprId k = kernel_.add(kernel_.mul(number, p_.lanes), lane);
      std::vector<Stmt> body;
      std::vector<ExprId> xs;
      for (int64_t r = 0; r < p_.rows; ++r)
        xs.push_back(let(kernel_, body, "x", product_.left(r, k)));
      for (int64_t c = 0; c < acc.vectors(); ++c) {
        const ExprId b = let(kernel_, body, "b", product_.right(k, kernel_.add(first, c)));
        for (int64_t r = 0; r < p_.rows; ++r) {
          const ExprId at = kernel_.add(lane, (r * acc.vectors() + c) * p_.lanes);
          const ExprId sum = kernel_.load(product_.sums, at);
          body.push_back(ir::make_store(product_.sums, at,
                                        multiply_add(kernel_, xs[static_cast<size_t>(r)], b, sum)));
        }
      }
      return body;
    });
  }

  Kernel& kernel_;
  const StreamedProduct& product_;
  const StreamedShape& p_;
  ir::DType dtype_;
};

}  // namespace

RightSide right_side(const Task& task, NodeId node) {
  const Neighbours neighbours(task, node);
  const auto rank = static_cast<size_t>(task.type(node).rank());
  if (neighbours.step_along(rank - 1) == 1) return RightSide::kRows;
  return neighbours.step_along(rank - 2) == 1 ? RightSide::kColumns : RightSide::kScattered;
}

std::function<ExprId(int64_t row, ExprId step)> rows_of(Kernel& kernel, ir::ArrayId array,
                                                        int64_t pitch) {
  return [&kernel, array, pitch](int64_t row, ExprId step) {
    return kernel.load(array, kernel.add(step, row * pitch));
  };
}

std::vector<Stmt> streamed_product(Kernel& kernel, const StreamedProduct& product) {
  CAMSHAFT_CHECK(product.shape.side != RightSide::kScattered);
  Emitter emitter(kernel, product);
  return product.shape.side == RightSide::kRows ? emitter.by_rows() : emitter.by_columns();
}

StreamedShape streamed_shape(const Task& task, int64_t rows, NodeId right) {
  StreamedShape shape;
  shape.rows = rows;
  if (rows > kMostStreamedRows) return shape;
  const ir::TensorType& type = task.type(right);
  shape.columns = type.shape.back();
  shape.steps = type.shape[type.shape.size() - 2];
  shape.side = right_side(task, right);
  const int64_t along = shape.side == RightSide::kRows ? shape.columns : shape.steps;
  const int64_t widest = task.target.lanes(compute_dtype(type.dtype));
  while (shape.lanes < widest && 2 * shape.lanes <= along) shape.lanes *= 2;
  const std::vector<Knobs> ranked = rank_streamed(task.target, shape);
  return ranked.empty() ? shape : with_knobs(shape, ranked.front());
}

std::vector<Knobs> rank_streamed(const CpuTarget& target, const StreamedShape& shape) {
  std::vector<RatedKnobs> candidates;
  if (!shape.is_possible()) return {};
  for (int32_t vectors = 1; vectors <= 8; ++vectors) {
    const int64_t held = std::min<int64_t>(shape.rows, vectors) + 1;
    if (vectors > 1 && shape.rows * vectors + held > target.vector_registers) continue;
    // More rows at once are more than memory is fetched ahead for.
    const bool by_rows = shape.side == RightSide::kRows;
    for (const int32_t unroll : by_rows ? std::array{8, 4} : std::array{2, 4}) {
      Knobs knobs;
      knobs.lanes = static_cast<int32_t>(shape.lanes);
      knobs.pixels = static_cast<int32_t>(shape.rows);
      knobs.vectors = vectors;
      knobs.unroll = unroll;
      candidates.push_back({streamed_cycles(target, with_knobs(shape, knobs)), knobs});
    }
  }
  return cheapest_first(candidates);
}

StreamedShape with_knobs(StreamedShape shape, const Knobs& knobs) {
  shape.lanes = knobs.lanes;
  shape.vectors = knobs.vectors;
  shape.unroll = knobs.unroll;
  return shape;
}

double streamed_cycles(const CpuTarget& target, const StreamedShape& shape) {
  const auto rows = static_cast<double>(shape.rows);
  const auto vectors = static_cast<double>(shape.vectors);
  const auto steps = static_cast<double>(shape.steps);
  const auto columns = static_cast<double>(shape.columns);
  const auto lanes = static_cast<double>(shape.lanes);
  const bool by_rows = shape.side == RightSide::kRows;
  // Of a vector of the right side.
  double loads = 1 + rows / vectors;
  if (by_rows) loads += 2 * rows / static_cast<double>(shape.unroll);
  double cycles = std::max(
      {rows / target.fma_per_cycle, loads / target.loads_per_cycle, lanes * 4 / kBytesPerCycle});
  // Few sums at once wait for one another.
  if (!by_rows) cycles = std::max(cycles, target.fma_latency / vectors);
  const double along = by_rows ? columns : steps;
  const double across = by_rows ? steps : columns;
  cycles *= std::ceil(along / lanes) * across;
  return by_rows ? cycles : cycles + columns * rows * kSumCycles;
}

double panel_cycles(RightSide side, int64_t steps, int64_t columns) {
  const double element = side == RightSide::kRows ? kRowElementCycles : kColumnElementCycles;
  return element * static_cast<double>(steps * columns);
}

}  // namespace camshaft::lower
