// SPDX-License-Identifier: MIT
// What lies between the products of an attention: a strip of rows of scores in a local array, which
// become logits and then powers where they are, and where their elements lie in the region's nodes.
#pragma once

#include <functional>
#include <vector>

#include "codegen/ir/math_builder.h"
#include "codegen/lower/attention_plan.h"
#include "codegen/lower/frame.h"

namespace camshaft::lower {

// Of something that comes in [0, extent) and a rest: what is looked at, [begin, end), where
// `extent` stands for the rest. All where it is null.
struct BlockRange {
  ExprId begin = ir::kNoExpr, end = ir::kNoExpr;
};
std::vector<Stmt> loop_within(Kernel& kernel, const char* name, int64_t extent,
                              const BlockRange* only, const Body& body);
std::vector<Stmt> tail_within(Kernel& kernel, int64_t extent, const BlockRange* only,
                              std::vector<Stmt> tail);

class AttentionStrip {
 public:
  // All references must outlive the strip.
  AttentionStrip(Frame& frame, Evaluator& evaluator, const Attention& attention);
  // Local arrays, for `rows` rows that begin `pitch` elements apart.
  void add_arrays(int64_t rows, int64_t pitch);

  // [row][key]: of logits, then powers, then, without a divisor, probabilities. What lies beyond
  // the last key in a row's last vector is there, too.
  ir::ArrayId array() const { return strip_; }
  // From now on the strip's rows are those from `first_row` on, of a batch.
  void begin(ExprId batch, ExprId first_row);

  // An element of an operand or the result of a product; the row may be one behind the strip's.
  Index index(ExprId row, ExprId column) const;
  Index strip_index(ExprId row, ExprId column) const;  // `row` of the strip
  // The same between the products.
  Index row_index(ExprId row, ExprId key) const;
  // Where the region's output has the element that is `at` in its last product.
  Index output_index(Index at) const;

  // Elements [0, extent), a vector at a time; `used` of the last one are there.
  std::vector<Stmt> vectors(
      int64_t extent, const std::function<std::vector<Stmt>(ExprId number, int64_t used)>& body);

  // Stores the logit of a score; or -inf, beyond the last key, which no maximum sees.
  Stmt store_logit(ExprId row, ExprId key, ExprId score);
  Stmt store_nothing(ExprId row, ExprId key);
  // Makes logits of scores, where they lie.
  std::vector<Stmt> logits(int64_t rows);
  // Makes powers of logits, or probabilities without a divisor; of some blocks of keys,
  // with a divisor.
  std::vector<Stmt> softmax(int64_t rows, const BlockRange* only = nullptr);
  // What the row's product is multiplied by, where there is a divisor.
  ExprId factor(ExprId row) const { return kernel_.load(factors_, row); }

 private:
  ExprId place(ExprId row, ExprId key) const { return kernel_.add(kernel_.mul(row, pitch_), key); }
  ExprId in_strip(ExprId key) const { return place(row_, key); }
  std::vector<Stmt> each_row(int64_t rows, const std::function<std::vector<Stmt>()>& body);
  std::vector<Stmt> invert_divisor();
  std::vector<Stmt> divide_powers();
  std::vector<Stmt> lanes_of(ExprId number, int64_t used, const Body& body);
  std::vector<Stmt> reduce_row(ir::ReduceKind kind, ir::ArrayId results, const BlockRange* only);
  std::vector<Stmt> reduce_vector(ir::ReduceKind kind, ExprId number, int64_t chain, int64_t used);
  ExprId combine(ir::ReduceKind kind, ExprId a, ExprId b);
  ExprId combined_chains(ir::ReduceKind kind);

  Frame& frame_;
  Kernel& kernel_;
  Evaluator& evaluator_;
  const Attention& a_;
  ir::MathBuilder math_;
  int64_t pitch_ = 0;
  ir::ArrayId strip_ = -1;
  ir::ArrayId maxima_ = -1;   // of each row
  ir::ArrayId factors_ = -1;  // likewise: sums, then what its product is multiplied by
  ir::ArrayId partial_ = -1;  // reductions of a row
  ExprId batch_ = ir::kNoExpr, first_row_ = ir::kNoExpr;
  ExprId row_ = ir::kNoExpr, key_ = ir::kNoExpr;  // of the element of the strip that is evaluated
  Index at_;                                      // the same between the products
};

}  // namespace camshaft::lower
