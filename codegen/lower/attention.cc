// SPDX-License-Identifier: MIT
// Strategy `attention`: two products with a softmax between them, in one kernel (attention_plan.h).
// The scores of a strip of rows are a local array:
//   scores:  sums of a register tile, as logits -> strip [row][key]
//   softmax: each row of the strip in place, in passes of whole vectors
//   product: strip, V -> the output, by register tiles, with the region's epilogue
// Q's rows of the strip are copied together, K and V are packed once for all strips of an item:
//   [vectors of columns][step of the sum][vector][lane]
// so that they may be transposed, sliced, stretched over heads, or of two bytes. Of keys, all three
// steps take those that the strip sees (attention_mask.h).
#include <algorithm>
#include <bit>
#include <cstring>

#include "codegen/lower/attention_plan.h"
#include "codegen/lower/attention_strip.h"
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
        k_{a_.k, a_.depth, a_.keys, std::min<int64_t>(knobs.vectors, a_.key_vectors())},
        v_{a_.v, a_.keys, a_.columns, std::min<int64_t>(knobs.vectors, a_.column_vectors())},
        strip_(frame_, evaluator_, a_) {
    add_seen();
    add_panels();
    strip_.add_arrays(cut_.strip_rows, cut_.pitch);
    rows_ = local("rows", cut_.strip_rows * a_.depth);
    sums_ = local("sums", knobs.pixels * knobs.vectors * a_.lanes);
    if (seen_ < 0) return;
    const int64_t width = std::max(k_.vectors, v_.vectors) * a_.lanes;
    panel_largest_ = kernel_.add_local("panel_largest", DType::kInt32, width);
    row_largest_ = kernel_.add_local("row_largest", DType::kInt32, a_.lanes);
  }

  LoweredKernel emit() {
    set_thread_loop(kernel_, a_.batches * cut_.chunks, [&](ExprId t) {
      batch_ = kernel_.div(t, cut_.chunks);
      strip_.begin(batch_, kernel_.int_const(0));
      if (!cut_.has_local_panels) {
        k_.base = kernel_.mul(t, cut_.key_panel + cut_.value_panel);
        v_.base = kernel_.add(k_.base, cut_.key_panel);
      }
      std::vector<Stmt> body = clear_largest(panel_largest_);
      append(body, pack(k_));
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

  // Which blocks of keys each strip sees, as pairs of numbers.
  void add_seen() {
    if (cut_.blocks.empty()) return;
    std::vector<std::byte> bytes(cut_.blocks.size() * sizeof(KeySpan));
    std::memcpy(bytes.data(), cut_.blocks.data(), bytes.size());
    seen_ = frame_.add_constant("seen", DType::kInt64, std::move(bytes));
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
    strip_.begin(batch_, kernel_.mul(number, cut_.strip_rows));
    std::vector<Stmt> body = clear_largest(row_largest_);
    append(body, copy_rows(rows));
    look(number, body);
    const bool is_part = seen_ >= 0;
    append(body,
           product(k_, rows_, a_.depth, rows, [&](TileAccumulators& acc, ExprId set, ExprId row) {
             return store_logits(acc, set, row);
           }));
    append(body, strip_.softmax(rows, is_part ? &blocks_ : nullptr));
    append(body, product(v_, strip_.array(), cut_.pitch, rows,
                         [&](TileAccumulators& acc, ExprId set, ExprId row) {
                           return store_product(acc, set, row);
                         }));
    return body;
  }

  // The largest bits, but for the sign, of what operands are: more than all numbers' are those of
  // infinities and of what is no number. Nothing where masks are not known.
  std::vector<Stmt> clear_largest(ir::ArrayId largest) {
    if (seen_ < 0) return {};
    return loop(kernel_, "v", kernel_.array(largest).elements, LoopKind::kVector, [&](ExprId v) {
      return std::vector<Stmt>{ir::make_store(largest, v, kernel_.int_const(0, DType::kInt32))};
    });
  }
  std::vector<Stmt> note(ir::ArrayId largest, ExprId at, ExprId value) {
    if (seen_ < 0) return {};
    const ExprId bits = kernel_.binary(KOp::kAnd, kernel_.bitcast(value, DType::kInt32),
                                       kernel_.int_const(INT32_MAX, DType::kInt32));
    const ExprId more = kernel_.binary(KOp::kMax, bits, kernel_.load(largest, at));
    return {ir::make_store(largest, at, more)};
  }
  // Whether all are within what leaving out keys takes.
  ExprId are_usual() {
    const auto lanes = static_cast<int32_t>(a_.lanes);
    ExprId most = kernel_.load(row_largest_, kernel_.int_const(0), lanes);
    for (int64_t at = 0; at < kernel_.array(panel_largest_).elements; at += a_.lanes) {
      most = kernel_.binary(KOp::kMax, most,
                            kernel_.load(panel_largest_, kernel_.int_const(at), lanes));
    }
    const auto limit = std::bit_cast<int32_t>(static_cast<float>(kMostOperand));
    return kernel_.binary(KOp::kLe, kernel_.unary(KOp::kReduceMax, most),
                          kernel_.int_const(limit, DType::kInt32));
  }

  // What the strip sees: blocks of keys, sets of their vectors, and keys.
  void look(ExprId strip, std::vector<Stmt>& body) {
    if (seen_ < 0) return;
    const int64_t width = k_.vectors * a_.lanes;
    const ExprId keys = kernel_.int_const(a_.keys);
    const auto number = [&](const char* name, ExprId value) {
      return let(kernel_, body, name, value);
    };
    const ExprId pair = kernel_.mul(strip, 2);
    const ExprId is_usual = are_usual();
    const ExprId all = kernel_.int_const(ceil_div(a_.keys, a_.block()));
    const auto seen = [&](int64_t which, ExprId otherwise) {
      return kernel_.select(is_usual, kernel_.load(seen_, kernel_.add(pair, which)), otherwise);
    };
    blocks_ = {number("first", seen(0, kernel_.int_const(0))), number("end", seen(1, all))};
    const ExprId first = kernel_.mul(blocks_.begin, a_.block());
    const ExprId end = kernel_.binary(KOp::kMin, kernel_.mul(blocks_.end, a_.block()), keys);
    keys_ = {number("first", first), number("end", end)};
    sets_ = {number("first", kernel_.div(keys_.begin, width)),
             number("end", kernel_.div(kernel_.add(keys_.end, width - 1), width))};
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
            is_zero ? kernel_.float_const(0) : f32_value(panel.node, strip_.index(step, column));
        const ExprId at = kernel_.add(place(panel, set, step), in_set);
        std::vector<Stmt> body = {ir::make_store(panel.array, at, value)};
        if (!is_zero) append(body, note(panel_largest_, in_set, value));
        return body;
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

  std::vector<Stmt> copy_rows(int64_t rows) {
    return loop(kernel_, "r", rows, LoopKind::kSerial, [&](ExprId row) {
      return strip_.vectors(a_.depth, [&](ExprId number, int64_t used) {
        return loop(kernel_, "v", used, LoopKind::kVector, [&](ExprId lane) {
          const ExprId k = kernel_.add(kernel_.mul(number, a_.lanes), lane);
          const ExprId value = f32_value(a_.q, strip_.strip_index(row, k));
          const ExprId at = kernel_.add(kernel_.mul(row, a_.depth), k);
          std::vector<Stmt> body = {ir::make_store(rows_, at, value)};
          append(body, note(row_largest_, lane, value));
          return body;
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
    const BlockRange* only = seen_ >= 0 && &panel == &k_ ? &sets_ : nullptr;
    std::vector<Stmt> body = loop_within(kernel_, "set", full, only,
                                         [&](ExprId set) { return set_body(set, panel.vectors); });
    if (rest == 0) return body;
    append(body, tail_within(kernel_, full, only, set_body(kernel_.int_const(full), rest)));
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
    const bool is_part = seen_ >= 0 && &panel == &v_;
    const ExprId first = is_part ? keys_.begin : kernel_.int_const(0);
    const ExprId end = is_part ? keys_.end : kernel_.int_const(panel.steps);
    const ExprId turns = kernel_.div(kernel_.sub(end, first), unroll);
    const ExprId rest = kernel_.add(first, kernel_.mul(turns, unroll));
    std::vector<Stmt> body =
        steps_between(kernel_.int_const(0), turns, panel.steps / unroll, [&](ExprId turn) {
          std::vector<Stmt> inside;
          const ExprId begin = kernel_.add(first, kernel_.mul(turn, unroll));
          for (int64_t u = 0; u < unroll; ++u) append(inside, step_body(kernel_.add(begin, u)));
          return inside;
        });
    append(body, steps_between(rest, end, panel.steps, step_body));
    return body;
  }

  // A loop within [0, most).
  std::vector<Stmt> steps_between(ExprId begin, ExprId end, int64_t most, const Body& body) {
    int64_t from = 0, to = 0;
    if (kernel_.is_int_const(begin, &from) && kernel_.is_int_const(end, &to)) {
      return loop(kernel_, "k", to - from, LoopKind::kSerial,
                  [&](ExprId k) { return body(kernel_.add(k, from)); });
    }
    return most > 0 ? loop_between(kernel_, "k", begin, end, 0, most - 1, body)
                    : std::vector<Stmt>{};
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

  // Lanes beyond the last key are -inf.
  std::vector<Stmt> store_logits(TileAccumulators& acc, ExprId set, ExprId row) {
    std::vector<Stmt> body;
    for (int64_t p = 0; p < acc.pixels(); ++p) {
      const ExprId pixel = kernel_.int_const(p);
      const ExprId at = kernel_.add(row, p);
      for (int64_t vector = 0; vector < acc.vectors(); ++vector) {
        const int64_t used = used_lanes(k_, set, vector);
        append(body, loop(kernel_, "v", used, LoopKind::kVector, [&](ExprId lane) {
                 const ExprId key = column_of(k_, set, vector, lane);
                 const ExprId score = acc.element(pixel, vector, lane);
                 return std::vector<Stmt>{strip_.store_logit(at, key, score)};
               }));
        append(body, loop(kernel_, "v", a_.lanes - used, LoopKind::kVector, [&](ExprId lane) {
                 const ExprId key = column_of(k_, set, vector, kernel_.add(lane, used));
                 return std::vector<Stmt>{strip_.store_nothing(at, key)};
               }));
      }
    }
    return body;
  }

  std::vector<Stmt> store_product(TileAccumulators& acc, ExprId set, ExprId row) {
    std::vector<Stmt> body;
    if (a_.divisor != ir::kNoNode) {
      for (int64_t p = 0; p < acc.pixels(); ++p) {
        const ExprId factor = strip_.factor(kernel_.add(row, p));
        for (int64_t v = 0; v < acc.vectors(); ++v) body.push_back(acc.scale(p, v, factor));
      }
    }
    append(body,
           store_tile(
               frame_, evaluator_, acc, [&](int64_t vector) { return used_lanes(v_, set, vector); },
               Along::kLanes,
               [&](ExprId pixel, int64_t vector, ExprId lane) {
                 const ExprId column = column_of(v_, set, vector, lane);
                 return strip_.output_index(strip_.strip_index(kernel_.add(row, pixel), column));
               }));
    return body;
  }

  Knobs knobs_;
  Attention a_;
  AttentionCut cut_;
  Frame frame_;
  Kernel& kernel_;
  Evaluator evaluator_;
  Panel k_, v_;
  AttentionStrip strip_;
  ExprId batch_ = ir::kNoExpr;
  ir::ArrayId seen_ = -1;                              // where masks are known
  ir::ArrayId panel_largest_ = -1, row_largest_ = -1;  // likewise: see note()
  BlockRange blocks_, sets_, keys_;                    // then: what the strip in hand sees
  ir::ArrayId rows_ = -1;                              // of Q
  ir::ArrayId sums_ = -1;
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
