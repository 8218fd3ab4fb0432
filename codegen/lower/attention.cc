// SPDX-License-Identifier: MIT
// Strategy `attention`: two products with a softmax between them, in one kernel (attention_plan.h).
// The scores of a strip of rows are a local array:
//   scores:  sums of a register tile, as logits -> strip [row][key]
//   softmax: each row of the strip in place, in passes of whole vectors
//   product: strip, V -> the output, by register tiles, with the region's epilogue
// Q's rows of the strip are copied together, K and V are packed once for all strips of an item:
//   [vectors of columns][step of the sum][vector][lane]
// so that they may be transposed, sliced, stretched over heads, or of two bytes.
#include <algorithm>
#include <bit>

#include "codegen/ir/math_builder.h"
#include "codegen/lower/attention_plan.h"
#include "codegen/lower/frame.h"
#include "codegen/lower/strategy_list.h"
#include "codegen/lower/tile.h"
#include "codegen/lower/tile_store.h"

namespace camshaft::lower {
namespace {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::ReduceKind;

constexpr int64_t kChains = 2;  // independent accumulators of a row, to hide latencies

// The right side of a product, packed.
struct Panel {
  NodeId node = ir::kNoNode;
  int64_t steps = 0, columns = 0;
  int64_t vectors = 0;  // of a set; the last one may have fewer
  ir::ArrayId array = -1;
  ExprId base = ir::kNoExpr;  // where it begins
};

class Emitter {
 public:
  Emitter(const Task& task, const Knobs& knobs)
      : knobs_(knobs),
        a_(*find_attention(task)),
        cut_(cut_attention(task, a_, knobs)),
        frame_(task, "attention", knobs),
        kernel_(frame_.kernel()),
        evaluator_(kernel_, task, frame_.arrays),
        math_(&kernel_, task.target.math, {DType::kFloat32, 1}),
        k_{a_.k, a_.depth, a_.keys, std::min<int64_t>(knobs.vectors, a_.key_vectors())},
        v_{a_.v, a_.keys, a_.columns, std::min<int64_t>(knobs.vectors, a_.column_vectors())} {
    add_panels();
    rows_ = local("rows", cut_.strip_rows * a_.depth);
    strip_ = local("strip", cut_.strip_rows * cut_.pitch);
    maxima_ = local("maxima", cut_.strip_rows);
    factors_ = local("factors", cut_.strip_rows);
    partial_ = local("partial", kChains * a_.lanes);
    sums_ = local("sums", knobs.pixels * knobs.vectors * a_.lanes);
  }

  LoweredKernel emit() {
    set_thread_loop(kernel_, a_.batches * cut_.chunks, [&](ExprId t) {
      batch_ = kernel_.div(t, cut_.chunks);
      if (!cut_.has_local_panels) {
        k_.base = kernel_.mul(t, cut_.key_panel + cut_.value_panel);
        v_.base = kernel_.add(k_.base, cut_.key_panel);
      }
      std::vector<Stmt> body = pack(k_);
      append(body, pack(v_));
      const ExprId first = kernel_.mul(kernel_.mod(t, cut_.chunks), cut_.strips_per_chunk());
      append(body, loop(kernel_, "s", cut_.strips_per_chunk(), LoopKind::kSerial,
                        [&](ExprId s) { return strips(kernel_.add(first, s)); }));
      return body;
    });
    return std::move(frame_.lowered);
  }

 private:
  ir::ArrayId local(const char* name, int64_t elements) {
    return kernel_.add_local(name, DType::kFloat32, elements);
  }

  void add_panels() {
    if (cut_.has_local_panels) {
      k_.array = local("k", cut_.key_panel);
      v_.array = local("v", cut_.value_panel);
      k_.base = v_.base = kernel_.int_const(0);
      return;
    }
    const int64_t items = a_.batches * cut_.chunks;
    k_.array = v_.array =
        frame_.add_scratch("panels", DType::kFloat32, items * (cut_.key_panel + cut_.value_panel));
  }

  // A strip by its number, which may be beyond the last one.
  std::vector<Stmt> strips(ExprId number) {
    const int64_t rest = a_.rows - (cut_.strips - 1) * cut_.strip_rows;
    const ExprId last = kernel_.int_const(cut_.strips - 1);
    if (cut_.strips == 1) return strip(last, rest);
    std::vector<Stmt> body;
    const bool are_even = rest == cut_.strip_rows;
    const bool has_beyond = cut_.strips % cut_.chunks != 0;
    if (are_even && !has_beyond) return strip(number, rest);
    const ExprId is_full = kernel_.binary(are_even ? KOp::kLe : KOp::kLt, number, last);
    body.push_back(ir::make_if(is_full, strip(number, cut_.strip_rows)));
    if (are_even) return body;
    body.push_back(ir::make_if(kernel_.binary(KOp::kEq, number, last), strip(last, rest)));
    return body;
  }

  std::vector<Stmt> strip(ExprId number, int64_t rows) {
    first_row_ = kernel_.mul(number, cut_.strip_rows);
    std::vector<Stmt> body = copy_rows(rows);
    append(body,
           product(k_, rows_, a_.depth, rows, [&](TileAccumulators& acc, ExprId set, ExprId row) {
             return store_logits(acc, set, row);
           }));
    append(body, softmax(rows));
    append(body, product(v_, strip_, cut_.pitch, rows,
                         [&](TileAccumulators& acc, ExprId set, ExprId row) {
                           return store_product(acc, set, row);
                         }));
    return body;
  }

  // Index of element (row, column) of an operand or the result of a product.
  Index index(ExprId row, ExprId column) {
    Index result = delinearize(kernel_, a_.batch_shape, batch_);
    result.push_back(row);
    result.push_back(column);
    return result;
  }
  // The same between the products; `row` of the strip.
  Index row_index(ExprId row, ExprId key) {
    const ExprId before = kernel_.mul(batch_, a_.rows);
    const ExprId linear = kernel_.add(before, kernel_.add(first_row_, row));
    Index result = delinearize(kernel_, a_.row_shape, linear);
    result.push_back(key);
    return result;
  }

  ExprId f32_value(NodeId node, const Index& at) {
    return kernel_.cast(evaluator_.value(node, at), DType::kFloat32);
  }

  // Panels are whole sets, with zeros beyond the last column.
  std::vector<Stmt> pack(const Panel& panel) {
    const int64_t width = panel.vectors * a_.lanes;
    const int64_t full = panel.columns / width;
    const int64_t rest = panel.columns % width;
    const auto columns = [&](ExprId set, ExprId step, int64_t from, int64_t count, bool is_zero) {
      return loop(kernel_, "n", count, LoopKind::kVector, [&](ExprId n) -> std::vector<Stmt> {
        const ExprId in_set = kernel_.add(n, from);
        const ExprId column = kernel_.add(kernel_.mul(set, width), in_set);
        const ExprId value =
            is_zero ? kernel_.float_const(0) : f32_value(panel.node, index(step, column));
        return {ir::make_store(panel.array, kernel_.add(place(panel, set, step), in_set), value)};
      });
    };
    const auto set_body = [&](ExprId set, int64_t used) {
      return loop(kernel_, "k", panel.steps, LoopKind::kSerial, [&](ExprId step) {
        std::vector<Stmt> body = columns(set, step, 0, used, false);
        append(body, columns(set, step, used, width - used, true));
        return body;
      });
    };
    std::vector<Stmt> body = loop(kernel_, "set", full, LoopKind::kSerial,
                                  [&](ExprId set) { return set_body(set, width); });
    if (rest > 0) append(body, set_body(kernel_.int_const(full), rest));
    return body;
  }

  ExprId place(const Panel& panel, ExprId set, ExprId step) {
    const ExprId before = kernel_.add(kernel_.mul(set, panel.steps), step);
    return kernel_.add(panel.base, kernel_.mul(before, panel.vectors * a_.lanes));
  }

  // Elements [0, extent), a vector at a time; `used` of the last one are there.
  std::vector<Stmt> vectors(int64_t extent,
                            const std::function<std::vector<Stmt>(ExprId, int64_t)>& body) {
    const int64_t full = extent / a_.lanes;
    std::vector<Stmt> result = loop(kernel_, "i", full, LoopKind::kSerial,
                                    [&](ExprId number) { return body(number, a_.lanes); });
    const int64_t rest = extent % a_.lanes;
    if (rest > 0) append(result, body(kernel_.int_const(full), rest));
    return result;
  }

  std::vector<Stmt> copy_rows(int64_t rows) {
    return loop(kernel_, "r", rows, LoopKind::kSerial, [&](ExprId row) {
      return vectors(a_.depth, [&](ExprId number, int64_t used) {
        return loop(kernel_, "v", used, LoopKind::kVector, [&](ExprId lane) {
          const ExprId k = kernel_.add(kernel_.mul(number, a_.lanes), lane);
          const ExprId value = f32_value(a_.q, index(kernel_.add(first_row_, row), k));
          const ExprId at = kernel_.add(kernel_.mul(row, a_.depth), k);
          return std::vector<Stmt>{ir::make_store(rows_, at, value)};
        });
      });
    });
  }

  using Store = std::function<std::vector<Stmt>(TileAccumulators& acc, ExprId set, ExprId row)>;

  // `rows` rows of `left`, which begin `pitch` elements apart, times a panel.
  std::vector<Stmt> product(const Panel& panel, ir::ArrayId left, int64_t pitch, int64_t rows,
                            const Store& store) {
    const int64_t width = panel.vectors * a_.lanes;
    const int64_t full = panel.columns / width;
    const int64_t rest = (panel.columns % width + a_.lanes - 1) / a_.lanes;
    const auto set_body = [&](ExprId set, int64_t vectors) {
      std::vector<Stmt> body;
      int64_t first = 0;
      for (const TileRun& run : split_evenly(rows, knobs_.pixels)) {
        append(body, loop(kernel_, "tile", run.count, LoopKind::kSerial, [&](ExprId at) {
                 const ExprId row = kernel_.add(kernel_.mul(at, run.rows), first);
                 TileAccumulators acc(kernel_, sums_, run.rows, vectors, a_.lanes);
                 std::vector<Stmt> inside = acc.clear();
                 append(inside, accumulate(acc, panel, set, kernel_.mul(row, pitch), left, pitch));
                 append(inside, store(acc, set, row));
                 return inside;
               }));
        first += run.count * run.rows;
      }
      return body;
    };
    std::vector<Stmt> body = loop(kernel_, "set", full, LoopKind::kSerial,
                                  [&](ExprId set) { return set_body(set, panel.vectors); });
    if (rest > 0) append(body, set_body(kernel_.int_const(full), rest));
    return body;
  }

  std::vector<Stmt> accumulate(TileAccumulators& acc, const Panel& panel, ExprId set, ExprId from,
                               ir::ArrayId left, int64_t pitch) {
    const auto step_body = [&](ExprId step) {
      const ExprId at = place(panel, set, step);
      std::vector<std::vector<Stmt>> products;
      for (int64_t p = 0; p < acc.pixels(); ++p) {
        const ExprId x = kernel_.load(left, kernel_.add(kernel_.add(from, step), p * pitch));
        std::vector<Stmt>& row = products.emplace_back();
        for (int64_t v = 0; v < acc.vectors(); ++v) {
          const ExprId w = kernel_.load(panel.array, kernel_.add(at, v * a_.lanes),
                                        static_cast<int32_t>(a_.lanes));
          row.push_back(acc.multiply_add(p, v, x, w));
        }
      }
      return in_register_order(std::move(products));
    };
    const int64_t unroll = knobs_.unroll;
    const int64_t full = panel.steps / unroll;
    std::vector<Stmt> body = loop(kernel_, "k", full, LoopKind::kSerial, [&](ExprId turn) {
      std::vector<Stmt> inside;
      for (int64_t u = 0; u < unroll; ++u) {
        append(inside, step_body(kernel_.add(kernel_.mul(turn, unroll), u)));
      }
      return inside;
    });
    append(body, loop(kernel_, "k", panel.steps - full * unroll, LoopKind::kSerial,
                      [&](ExprId k) { return step_body(kernel_.add(k, full * unroll)); }));
    return body;
  }

  // How many columns of vector `vector` of a set there are: all, but of the last.
  int64_t used_lanes(const Panel& panel, ExprId set, int64_t vector) const {
    int64_t number = 0;
    if (!kernel_.is_int_const(set, &number)) return a_.lanes;
    const int64_t first = (number * panel.vectors + vector) * a_.lanes;
    return std::min(a_.lanes, panel.columns - first);
  }
  ExprId column_of(const Panel& panel, ExprId set, int64_t vector, ExprId lane) {
    const ExprId number = kernel_.add(kernel_.mul(set, panel.vectors), vector);
    return kernel_.add(kernel_.mul(number, a_.lanes), lane);
  }

  // Lanes beyond the last key are -inf, which no maximum sees.
  std::vector<Stmt> store_logits(TileAccumulators& acc, ExprId set, ExprId row) {
    std::vector<Stmt> body;
    for (int64_t p = 0; p < acc.pixels(); ++p) {
      const ExprId pixel = kernel_.int_const(p);
      const ExprId at = kernel_.add(row, p);
      for (int64_t vector = 0; vector < acc.vectors(); ++vector) {
        const int64_t used = used_lanes(k_, set, vector);
        const auto place_of = [&](ExprId key) {
          return kernel_.add(kernel_.mul(at, cut_.pitch), key);
        };
        append(body, loop(kernel_, "v", used, LoopKind::kVector, [&](ExprId lane) {
                 const ExprId score = acc.element(pixel, vector, lane);
                 evaluator_.bind(a_.scores, [score](const Index&) { return score; });
                 const ExprId key = column_of(k_, set, vector, lane);
                 const ExprId logit = evaluator_.value(a_.logits, row_index(at, key));
                 return std::vector<Stmt>{ir::make_store(strip_, place_of(key), logit)};
               }));
        append(body, loop(kernel_, "v", a_.lanes - used, LoopKind::kVector, [&](ExprId lane) {
                 const ExprId key = column_of(k_, set, vector, kernel_.add(lane, used));
                 return std::vector<Stmt>{ir::make_store(strip_, place_of(key), identity())};
               }));
      }
    }
    evaluator_.unbind(a_.scores);
    return body;
  }

  ExprId identity() { return reduce_identity(kernel_, ReduceKind::kMax, {DType::kFloat32, 1}); }

  // Element `key` of the row in hand.
  ExprId in_strip(ExprId key) { return kernel_.add(kernel_.mul(row_, cut_.pitch), key); }

  // A pass over all rows for each reduction: the end of one row's, which is a chain, takes place
  // while the next row's begins.
  std::vector<Stmt> softmax(int64_t rows) {
    const auto of_strip = [this](const Index&) { return kernel_.load(strip_, in_strip(key_)); };
    const auto number_of = [this](ir::ArrayId array) {
      return [this, array](const Index&) { return kernel_.load(array, row_); };
    };
    evaluator_.bind(a_.logits, of_strip);
    evaluator_.bind(a_.maximum, number_of(maxima_));
    evaluator_.bind(a_.sum, number_of(factors_));
    std::vector<Stmt> body = each_row(rows, [&] { return reduce_row(ReduceKind::kMax, maxima_); });
    append(body, each_row(rows, [&] {
             std::vector<Stmt> inside = reduce_row(ReduceKind::kSum, factors_);
             append(inside, a_.divisor != ir::kNoNode ? invert_divisor() : divide_powers());
             return inside;
           }));
    for (const NodeId id : {a_.logits, a_.maximum, a_.sum}) evaluator_.unbind(id);
    return body;
  }

  std::vector<Stmt> each_row(int64_t rows, const std::function<std::vector<Stmt>()>& body) {
    return loop(kernel_, "r", rows, LoopKind::kSerial, [&](ExprId row) {
      row_ = row;
      return body();
    });
  }

  std::vector<Stmt> invert_divisor() {
    const ExprId divisor = evaluator_.value(a_.divisor, row_index(row_, kernel_.int_const(0)));
    const ExprId factor = kernel_.binary(KOp::kDiv, kernel_.float_const(1), divisor);
    return {ir::make_store(factors_, row_, factor)};
  }

  std::vector<Stmt> divide_powers() {
    evaluator_.bind(a_.powers,
                    [this](const Index&) { return kernel_.load(strip_, in_strip(key_)); });
    std::vector<Stmt> body = vectors(a_.keys, [&](ExprId number, int64_t used) {
      return lanes_of(number, used, [&](ExprId) {
        const ExprId value = evaluator_.value(a_.probabilities, at_);
        return std::vector<Stmt>{ir::make_store(strip_, in_strip(key_), value)};
      });
    });
    evaluator_.unbind(a_.powers);
    return body;
  }

  // All lanes of a vector of a row of the strip, of which `used` are there. What else the region
  // reads for the others is the last key's.
  std::vector<Stmt> lanes_of(ExprId number, int64_t used, const Body& body) {
    return loop(kernel_, "v", a_.lanes, LoopKind::kVector, [&](ExprId lane) {
      key_ = kernel_.add(kernel_.mul(number, a_.lanes), lane);
      const ExprId last = kernel_.int_const(a_.keys - 1);
      at_ = row_index(row_, used == a_.lanes ? key_ : kernel_.binary(KOp::kMin, key_, last));
      return body(lane);
    });
  }

  // results[row] = the row's logits, combined; or its powers, which replace the logits.
  std::vector<Stmt> reduce_row(ReduceKind kind, ir::ArrayId results) {
    const int64_t chains = std::min(
        kChains, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(a_.key_vectors()))));
    std::vector<Stmt> body =
        loop(kernel_, "v", chains * a_.lanes, LoopKind::kVector, [&](ExprId v) {
          const ExprId start = reduce_identity(kernel_, kind, {DType::kFloat32, 1});
          return std::vector<Stmt>{ir::make_store(partial_, v, start)};
        });
    const int64_t full = a_.keys / (chains * a_.lanes);
    append(body, loop(kernel_, "k", full, LoopKind::kSerial, [&](ExprId k) {
             std::vector<Stmt> inside;
             for (int64_t chain = 0; chain < chains; ++chain) {
               const ExprId number = kernel_.add(kernel_.mul(k, chains), chain);
               append(inside, reduce_vector(kind, number, chain, a_.lanes));
             }
             return inside;
           }));
    for (int64_t vector = full * chains; vector < a_.key_vectors(); ++vector) {
      const int64_t used = std::min(a_.lanes, a_.keys - vector * a_.lanes);
      append(body, reduce_vector(kind, kernel_.int_const(vector), vector % chains, used));
    }
    body.push_back(ir::make_store(results, row_, combined_chains(kind, chains)));
    return body;
  }

  // A NaN among the logits need not be their maximum: its power, and so the sum, is one.
  ExprId combine(ReduceKind kind, ExprId a, ExprId b) {
    return kind == ReduceKind::kMax ? kernel_.binary(KOp::kMax, a, b) : kernel_.add(a, b);
  }

  ExprId combined_chains(ReduceKind kind, int64_t chains) {
    std::vector<ExprId> left;
    for (int64_t chain = 0; chain < chains; ++chain) {
      const ExprId place = kernel_.int_const(chain * a_.lanes);
      left.push_back(kernel_.load(partial_, place, static_cast<int32_t>(a_.lanes)));
    }
    for (; left.size() > 1; left.resize(left.size() / 2)) {
      for (size_t i = 0; i < left.size() / 2; ++i) {
        left[i] = combine(kind, left[i], left[i + left.size() / 2]);
      }
    }
    return kernel_.unary(kind == ReduceKind::kMax ? KOp::kReduceMax : KOp::kReduceAdd, left[0]);
  }

  std::vector<Stmt> reduce_vector(ReduceKind kind, ExprId number, int64_t chain, int64_t used) {
    return lanes_of(number, used, [&](ExprId lane) {
      std::vector<Stmt> body;
      const ExprId at = in_strip(key_);
      if (kind == ReduceKind::kSum) {
        ExprId power = ir::exp_below_one(math_, evaluator_.value(a_.exponents, at_));
        if (used < a_.lanes) {
          const ExprId is_there = kernel_.binary(KOp::kLt, lane, kernel_.int_const(used));
          power = kernel_.select(is_there, power, kernel_.float_const(0));
        }
        body.push_back(ir::make_store(strip_, at, power));
      }
      const ExprId place = kernel_.add(lane, chain * a_.lanes);
      const ExprId combined =
          combine(kind, kernel_.load(strip_, at), kernel_.load(partial_, place));
      body.push_back(ir::make_store(partial_, place, combined));
      return body;
    });
  }

  std::vector<Stmt> store_product(TileAccumulators& acc, ExprId set, ExprId row) {
    std::vector<Stmt> body;
    if (a_.divisor != ir::kNoNode) {
      for (int64_t p = 0; p < acc.pixels(); ++p) {
        const ExprId factor = kernel_.load(factors_, kernel_.add(row, p));
        for (int64_t v = 0; v < acc.vectors(); ++v) body.push_back(acc.scale(p, v, factor));
      }
    }
    append(body, store_tile(
                     frame_, evaluator_, acc,
                     [&](int64_t vector) { return used_lanes(v_, set, vector); }, Along::kLanes,
                     [&](ExprId pixel, int64_t vector, ExprId lane) {
                       const ExprId at = kernel_.add(first_row_, kernel_.add(row, pixel));
                       return output_index(index(at, column_of(v_, set, vector, lane)));
                     }));
    return body;
  }

  // Where the region's output has the element that is `at` in its last product.
  Index output_index(Index at) {
    for (const NodeId id : a_.moved) {
      const ir::Node& node = frame_.task.node(id);
      if (node.op == ir::Op::kReshape) {
        const ir::Shape& from = frame_.task.type(node.inputs[0]).shape;
        at = reshape_index(kernel_, node.type.shape, from, at);
        continue;
      }
      Index turned;
      for (const int axis : node.as<ir::TransposeAttrs>().perm) {
        turned.push_back(at[static_cast<size_t>(axis)]);
      }
      at = std::move(turned);
    }
    return at;
  }

  Knobs knobs_;
  Attention a_;
  AttentionCut cut_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  ir::MathBuilder math_;
  Panel k_, v_;
  ir::ArrayId rows_ = -1;     // of Q
  ir::ArrayId strip_ = -1;    // of logits, then powers, then, without a divisor, probabilities
  ir::ArrayId maxima_ = -1;   // of each row
  ir::ArrayId factors_ = -1;  // likewise: sums, then what its product is multiplied by
  ir::ArrayId partial_ = -1;  // reductions of a row
  ir::ArrayId sums_ = -1;
  ExprId batch_ = ir::kNoExpr, first_row_ = ir::kNoExpr;
  ExprId row_ = ir::kNoExpr, key_ = ir::kNoExpr;  // of the element of the strip that is evaluated
  Index at_;                                      // the same between the products
};

}  // namespace

bool matches_attention(const Task& task) {
  const std::optional<Attention> attention = find_attention(task);
  return attention && !rank_attention(task, *attention).empty();
}

std::vector<Knobs> knobs_attention(const Task& task) {
  return rank_attention(task, *find_attention(task));
}

LoweredKernel emit_attention(const Task& task, const Knobs& knobs) {
  return Emitter(task, knobs).emit();
}

}  // namespace camshaft::lower
