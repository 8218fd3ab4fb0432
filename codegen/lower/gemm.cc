// SPDX-License-Identifier: MIT
// Strategy `gemm`: matrix products [M, K] x [K, N]. A constant right side that all batches share is
// packed at compile time as [vectors of columns][K][vector][lane], and then batches are just more
// rows; of bf16, two neighbours along K are a word then, of bytes four (pairs.h). Any other right
// side is packed by the kernel into a panel on the stack, once for all rows, so that it may be
// transposed, sliced or of any width. Rows = 1 is a matrix-vector product: the tile is then one row
// of many vectors and streams the weights.
#include <algorithm>

#include "codegen/lower/frame.h"
#include "codegen/lower/pairs.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/tile_store.h"
#include "codegen/lower/weights.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::Op;

// For a right side that is not constant; the accumulators take the rest.
constexpr int64_t kPanelBytes = render::kMaxLocalBytes - (16 << 10);
constexpr int64_t kStripRows = 96;
constexpr int64_t kPrefetchBytes = 64 << 10;  // less of packed numbers comes fast enough by itself

struct Product {
  NodeId node, a, b;
  NodeId shared = ir::kNoNode;  // see shared_matrix()
  ir::Shape batch_shape;
  int64_t batches = 1;  // separate products
  int64_t rows = 0, inner = 0, columns = 0;
  int64_t rows_per_batch = 0;
  int64_t lanes = 8;
  int64_t vectors = 0;
  int64_t element_bytes = 4;
  int64_t step = 1;  // numbers along the inner axis that are read at once, as a word

  int64_t steps() const { return inner / step; }
  bool reads_pairs() const { return step == 2; }
  bool reads_quads() const { return step == 4; }
  bool is_shared() const { return shared != ir::kNoNode; }
};

// Numbers of the left side that are a word: one where it is not in memory as it is.
int64_t numbers_in_word(const Task& task, const Product& p) {
  const DType dtype = task.type(p.a).dtype;
  const int64_t in_word = dtype == DType::kBFloat16 ? 2 : dtype == DType::kUInt8 ? 4 : 1;
  const std::vector<NodeId>& leaves = task.region.leaves;
  const bool lies_so = p.is_shared() && p.inner % in_word == 0 &&
                       std::binary_search(leaves.begin(), leaves.end(), p.a) &&
                       task.schedule.buffer(p.a).layout.channel_block == 1;
  return lies_so ? in_word : 1;
}

Product make_product(const Task& task, int64_t lanes) {
  Product p;
  p.node = task.region.root;
  p.a = task.node(p.node).inputs[0];
  p.b = task.node(p.node).inputs[1];
  const ir::Shape& a = task.type(p.a).shape;
  p.batch_shape.assign(a.begin(), a.end() - 2);
  p.rows = p.rows_per_batch = a[a.size() - 2];
  p.inner = a.back();
  p.columns = task.type(p.b).shape.back();
  for (int64_t extent : p.batch_shape) p.batches *= extent;
  p.shared = shared_matrix(task, p.b);
  if (p.is_shared()) {
    p.rows *= p.batches;
    p.batches = 1;
  }
  p.step = numbers_in_word(task, p);
  p.lanes = lanes;
  p.element_bytes = base::dtype_size_bytes(task.type(p.node).dtype);
  p.vectors = (p.columns + lanes - 1) / lanes;
  return p;
}

int32_t product_lanes(const Task& task) {
  const ir::TensorType& type = task.type(task.region.root);
  int32_t lanes = 1;
  while (lanes < task.target.lanes(type.dtype) && lanes < type.shape.back()) lanes *= 2;
  return lanes;
}

void pack_columns(const Product& p, int64_t set_vectors, WeightPacker& packer) {
  for (int64_t first = 0; first < p.vectors; first += set_vectors) {
    const int64_t width = std::min(set_vectors, p.vectors - first) * p.lanes;
    for (int64_t k = 0; k < p.inner; k += p.step) {
      for (int64_t i = 0; i < width * p.step; ++i) {
        const int64_t column = first * p.lanes + i / p.step;
        const int64_t row = k + i % p.step;
        column < p.columns ? packer.put(row * p.columns + column) : packer.skip();
      }
    }
  }
}

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : knobs_(knobs),
        product_(make_product(task, knobs.lanes)),
        frame_(task, "gemm", knobs, matrix_leaves(task, product_.node, product_.shared)),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays) {
    if (product_.is_shared()) {
      shared_ = PackedWeights(
          frame_, "b", product_.shared, packed_count() * product_.step,
          [&](WeightPacker& packer) { pack_columns(product_, knobs.vectors, packer); },
          product_.step);
      if (product_.step > 1) words_ = frame_.add_words(product_.a);
    } else {
      panel_ = kernel_.add_local("b", dtype(), product_.inner * knobs.vectors * knobs.lanes);
    }
    acc_ = kernel_.add_local("acc", dtype(), knobs.pixels * knobs.vectors * knobs.lanes);
  }

  LoweredKernel emit() {
    const int64_t sets = (product_.vectors + knobs_.vectors - 1) / knobs_.vectors;
    // A shared right side costs nothing to reuse, so rows are split too; a panel packed by the
    // kernel serves all rows.
    strip_ = product_.is_shared() ? std::min(product_.rows, strip_rows()) : product_.rows;
    const int64_t strips = (product_.rows + strip_ - 1) / strip_;
    set_thread_loop(kernel_, product_.batches * sets * strips, [&](ExprId t) {
      const ExprId strip = kernel_.mod(t, strips);
      const ExprId rest = kernel_.div(t, strips);
      batch_ = kernel_.div(rest, sets);
      return set_body(kernel_.mod(rest, sets), sets, [&](ExprId set, int64_t vectors) {
        return strips_body(set, vectors, strip, strips);
      });
    });
    return std::move(frame_.lowered);
  }

 private:
  DType dtype() const { return frame_.task.type(product_.node).dtype; }

  // Elements, or pairs.
  int64_t packed_count() const { return product_.steps() * product_.vectors * product_.lanes; }
  int64_t strip_rows() const {
    return std::max<int64_t>(kStripRows / knobs_.pixels, 1) * knobs_.pixels;
  }

  std::vector<Stmt> set_body(ExprId set, int64_t sets,
                             const std::function<std::vector<Stmt>(ExprId, int64_t)>& body) {
    int64_t rest = product_.vectors % knobs_.vectors;
    // A partly filled last vector is stored apart, so the last set's number is a constant then too.
    const bool partial = product_.columns % product_.lanes != 0;
    if (rest == 0 && !partial) return body(set, knobs_.vectors);
    if (rest == 0) rest = knobs_.vectors;
    const ExprId last = kernel_.int_const(sets - 1);
    if (sets == 1) return body(last, rest);
    return {ir::make_if(kernel_.binary(KOp::kLt, set, last), body(set, knobs_.vectors)),
            ir::make_if(kernel_.binary(KOp::kEq, set, last), body(last, rest))};
  }

  std::vector<Stmt> strips_body(ExprId set, int64_t vectors, ExprId strip, int64_t strips) {
    std::vector<Stmt> body;
    if (!product_.is_shared()) append(body, pack_panel(set, vectors));
    const ExprId first = kernel_.mul(strip, strip_);
    const int64_t rest = product_.rows - (strips - 1) * strip_;
    if (rest == strip_) {
      append(body, tiles(set, vectors, first, strip_));
      return body;
    }
    const ExprId last = kernel_.int_const(strips - 1);
    body.push_back(
        ir::make_if(kernel_.binary(KOp::kLt, strip, last), tiles(set, vectors, first, strip_)));
    body.push_back(
        ir::make_if(kernel_.binary(KOp::kEq, strip, last), tiles(set, vectors, first, rest)));
    return body;
  }

  // panel[k][column] = right side, zeros beyond the last column.
  std::vector<Stmt> pack_panel(ExprId set, int64_t vectors) {
    const int64_t width = vectors * product_.lanes;
    int64_t set_number = 0;
    int64_t used = width;
    if (kernel_.is_int_const(set, &set_number)) {
      used = std::min(width, product_.columns - set_number * knobs_.vectors * product_.lanes);
    }
    const auto column_loop = [&](int64_t from, int64_t count, ExprId k, bool zero) {
      return loop(kernel_, "n", count, LoopKind::kVector, [&](ExprId lane) -> std::vector<Stmt> {
        const ExprId in_panel = kernel_.add(lane, from);
        const ExprId n = kernel_.add(kernel_.mul(set, knobs_.vectors * product_.lanes), in_panel);
        const ExprId value = zero
                                 ? kernel_.splat(0, {dtype(), 1})
                                 : kernel_.cast(evaluator_.value(product_.b, index(k, n)), dtype());
        return {ir::make_store(panel_, kernel_.add(kernel_.mul(k, width), in_panel), value)};
      });
    };
    return loop(kernel_, "k", product_.inner, LoopKind::kSerial, [&](ExprId k) {
      std::vector<Stmt> body = column_loop(0, used, k, false);
      append(body, column_loop(used, width - used, k, true));
      return body;
    });
  }

  // Index of element (row, column) of an operand or the result.
  Index index(ExprId row, ExprId column) {
    return matrix_index(kernel_, product_.batch_shape, batch_, row, column);
  }
  // The same where rows run through all batches.
  Index row_index(ExprId row, ExprId column) {
    if (!product_.is_shared()) return index(row, column);
    Index result =
        delinearize(kernel_, product_.batch_shape, kernel_.div(row, product_.rows_per_batch));
    result.push_back(
        product_.rows == product_.rows_per_batch ? row : kernel_.mod(row, product_.rows_per_batch));
    result.push_back(column);
    return result;
  }

  std::vector<Stmt> tiles(ExprId set, int64_t vectors, ExprId first, int64_t rows) {
    std::vector<Stmt> body;
    int64_t done = 0;
    int64_t number = 0;
    for (const TileRun& run : split_evenly(rows, knobs_.pixels)) {
      const ExprId begin = kernel_.add(first, done);
      append(body, loop(kernel_, "tile", run.count, LoopKind::kSerial, [&](ExprId at) {
               const Ahead ahead{set, vectors, kernel_.add(at, number), rows};
               return tile(ahead, kernel_.add(begin, kernel_.mul(at, run.rows)), run.rows);
             }));
      done += run.count * run.rows;
      number += run.count;
    }
    return body;
  }

  // A tile's place in the work on one set of columns.
  struct Ahead {
    ExprId set;
    int64_t vectors;
    ExprId number;  // of the tile in its strip
    int64_t rows;   // of the strip
  };

  std::vector<Stmt> tile(const Ahead& ahead, ExprId first, int64_t rows) {
    TileAccumulators acc(kernel_, acc_, rows, ahead.vectors, product_.lanes);
    std::vector<Stmt> body = acc.clear();
    const int64_t unroll = std::max<int64_t>(knobs_.unroll / product_.step, 1);
    const int64_t full = product_.steps() / unroll;
    append(body, loop(kernel_, "k", full, LoopKind::kSerial, [&](ExprId step) {
             std::vector<Stmt> inside = prefetch_next_set(ahead, step, full);
             for (int64_t u = 0; u < unroll; ++u) {
               append(inside,
                      step_body(acc, ahead.set, first, kernel_.add(kernel_.mul(step, unroll), u)));
             }
             return inside;
           }));
    append(body,
           loop(kernel_, "k", product_.steps() - full * unroll, LoopKind::kSerial, [&](ExprId k) {
             return step_body(acc, ahead.set, first, kernel_.add(k, full * unroll));
           }));
    append(body, store(acc, ahead.set, first));
    return body;
  }

  // Packed columns that don't stay in the caches are fetched one set ahead: evenly, some lines for
  // each step. (The single row of a matrix-vector product streams them, as the hardware expects.)
  std::vector<Stmt> prefetch_next_set(const Ahead& ahead, ExprId step, int64_t steps_of_tile) {
    const int64_t all = packed_count();
    const bool is_little = all * shared_.element_bytes() < kPrefetchBytes;
    if (!shared_.in_memory() || product_.rows == 1 || is_little) return {};
    const int64_t tiles = (ahead.rows + knobs_.pixels - 1) / knobs_.pixels;
    const int64_t steps = tiles * steps_of_tile;
    const int64_t set = product_.steps() * ahead.vectors * product_.lanes;
    const int64_t line = line_elements(frame_.task.type(product_.b).dtype) / product_.step;
    const int64_t lines = (set / line + steps - 1) / steps;
    const ExprId base = kernel_.mul(ahead.set, product_.steps() * knobs_.vectors * product_.lanes);
    const ExprId number = kernel_.add(kernel_.mul(ahead.number, steps_of_tile), step);
    const ExprId first = kernel_.add(kernel_.add(base, set), kernel_.mul(number, lines * line));
    return shared_.prefetch(kernel_, first, lines);
  }

  // Step `k` along the inner axis.
  std::vector<Stmt> step_body(TileAccumulators& acc, ExprId set, ExprId first, ExprId k) {
    const ExprId base = !product_.is_shared()
                            ? kernel_.int_const(0)
                            : kernel_.mul(set, product_.steps() * knobs_.vectors * product_.lanes);
    const ExprId at = kernel_.add(base, kernel_.mul(k, acc.vectors() * product_.lanes));
    std::vector<std::vector<Stmt>> products;
    for (int64_t r = 0; r < acc.pixels(); ++r) {
      const Index index = row_index(kernel_.add(first, r), kernel_.mul(k, product_.step));
      std::vector<Stmt>& row = products.emplace_back();
      const Pair xs = product_.reads_pairs() ? pair_of(index, row) : Pair{};
      const ExprId quad = product_.reads_quads() ? word_of(index) : ir::kNoExpr;
      std::vector<Stmt> seconds;
      for (int64_t v = 0; v < acc.vectors(); ++v) {
        const ExprId place = kernel_.add(at, v * product_.lanes);
        if (product_.reads_quads()) {
          const ExprId w = shared_.vector_of_words(kernel_, place, product_.lanes);
          row.push_back(acc.add_dot(r, v, quad, w));
          continue;
        }
        if (!product_.reads_pairs()) {
          const ExprId x = kernel_.cast(evaluator_.value(product_.a, index), dtype());
          row.push_back(acc.multiply_add(r, v, x, columns(place)));
          continue;
        }
        const Pair ws = shared_.vector_of_pairs(kernel_, place, product_.lanes);
        row.push_back(acc.multiply_add_vectors(r, v, xs.first, ws.first));
        seconds.push_back(acc.multiply_add_vectors(r, v, xs.second, ws.second));
      }
      append(row, std::move(seconds));
    }
    return in_register_order(std::move(products));
  }

  // The left side's numbers from `index` on.
  ExprId word_of(const Index& index) {
    const ExprId offset = layout_offset(kernel_, frame_.task.type(product_.a).shape, {}, index);
    return kernel_.load(words_, kernel_.div(offset, product_.step));
  }
  Pair pair_of(const Index& index, std::vector<Stmt>& body) {
    return broadcast_pair(kernel_, word_of(index), product_.lanes, body);
  }

  // A vector of the packed right side.
  ExprId columns(ExprId at) {
    if (product_.is_shared()) return shared_.vector(kernel_, at, product_.lanes);
    return kernel_.load(panel_, at, static_cast<int32_t>(product_.lanes));
  }

  std::vector<Stmt> store(TileAccumulators& acc, ExprId set, ExprId first) {
    const auto used_lanes = [&](int64_t vector) {
      int64_t set_number = 0;
      if (!kernel_.is_int_const(set, &set_number)) return product_.lanes;
      const int64_t column = (set_number * knobs_.vectors + vector) * product_.lanes;
      return std::min(product_.lanes, product_.columns - column);
    };
    return store_tile(frame_, evaluator_, acc, used_lanes, Along::kLanes,
                      [&](ExprId row, int64_t vector, ExprId lane) {
                        const ExprId number = kernel_.add(kernel_.mul(set, knobs_.vectors), vector);
                        const ExprId column =
                            kernel_.add(kernel_.mul(number, product_.lanes), lane);
                        return row_index(kernel_.add(first, row), column);
                      });
  }

  Knobs knobs_;
  Product product_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  PackedWeights shared_;    // where all batches share the right side
  ir::ArrayId panel_ = -1;  // where they don't
  ir::ArrayId words_ = -1;  // of the left side, where it is read so
  ir::ArrayId acc_ = -1;
  int64_t strip_ = 1;
  ExprId batch_ = ir::kNoExpr;
};

}  // namespace

bool matches_gemm(const Task& task) {
  const bool is_joined = task.region.inner != ir::kNoNode;
  if (!task.has_root(Op::kMatMul) || task.has_images() || is_joined) return false;
  const ir::Node& node = task.node(task.region.root);
  if (!has_tiles(node.type.dtype) || node.type.elements() == 0) return false;
  const Product p = make_product(task, product_lanes(task));
  return p.inner > 0 && !knobs_gemm(task).empty();
}

std::vector<Knobs> knobs_gemm(const Task& task) {
  const Product p = make_product(task, product_lanes(task));
  std::vector<Knobs> ranked =
      rank_tiles(task.target, {{p.rows, 1}}, p.vectors, static_cast<int32_t>(p.lanes));
  std::erase_if(ranked, [&](const Knobs& k) {
    if (p.reads_pairs() && !pairs_fit(task.target, k)) return true;
    if (p.reads_quads() && !quads_fit(task.target, k)) return true;
    return !p.is_shared() && p.inner * k.vectors * k.lanes * p.element_bytes > kPanelBytes;
  });
  for (Knobs& knobs : ranked) {
    knobs.unroll = static_cast<int32_t>(std::min<int64_t>(p.inner, knobs.pixels == 1 ? 4 : 8));
  }
  return ranked;
}

LoweredKernel emit_gemm(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
