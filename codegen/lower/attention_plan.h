// SPDX-License-Identifier: MIT
// What strategies `attention` and `attention_rows` decide before they write a kernel: whether they
// can, how the work is cut, and what it costs beside three kernels with the scores in memory
// between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/lower/attention_mask.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/streamed_product.h"

namespace camshaft::lower {

// softmax(f(Q K)) V, in f32, where f is elementwise: a scale, a mask, a bias, a cap. What the
// operands are made of their leaves by is index functions and casts. For each of `batches`:
//   scores         [rows, keys] = Q [rows, depth] K [depth, keys]
//   logits         = f(scores)
//   exponents      logits - the row's maximum
//   powers         exp(exponents)
//   probabilities  of each row: of powers and of their sum
//   product        [rows, columns] = probabilities V [keys, columns]
// Between the products a row may have another shape than in them: batches and rows are axes of
// `row_shape`, row-major.
struct Attention {
  NodeId product = ir::kNoNode, scores = ir::kNoNode;
  NodeId q = ir::kNoNode, k = ir::kNoNode, v = ir::kNoNode;
  NodeId logits = ir::kNoNode, maximum = ir::kNoNode;
  NodeId exponents = ir::kNoNode, powers = ir::kNoNode, sum = ir::kNoNode;
  NodeId probabilities = ir::kNoNode;
  // Where probabilities are exponentials over a number of their row, which is at least 1: that
  // number. Then it is the product's rows that are divided, of which there are fewer elements.
  NodeId divisor = ir::kNoNode;
  std::vector<NodeId> moved;  // the product's way to the output, if it is moved there: in order
  ir::Shape batch_shape;
  ir::Shape row_shape;
  int64_t batches = 1;
  int64_t rows = 0, keys = 0, depth = 0, columns = 0;
  int64_t lanes = 8;
  std::vector<KeySpan> seen;  // see seen_keys(); empty without a divisor

  int64_t key_vectors() const { return (keys + lanes - 1) / lanes; }
  int64_t column_vectors() const { return (columns + lanes - 1) / lanes; }
  // Vectors of a row that are reduced beside one another, and their keys.
  int64_t chains() const { return std::min<int64_t>(2, key_vectors()); }
  int64_t block() const { return chains() * lanes; }
};
std::optional<Attention> find_attention(const Task& task);

// How the work is cut. An item of the thread loop is a chunk of the rows of a batch: it packs K and
// V, in the order in which register tiles read them, into panels, and then computes a strip of
// knobs.rows rows at a time: scores, softmax and product, of the keys that a row of the strip sees,
// rounded to whole blocks of them. Only the last strip may have fewer rows.
struct AttentionCut {
  int64_t strips = 1;  // of a batch
  int64_t chunks = 1;
  int64_t strip_rows = 1;
  int64_t pitch = 1;      // elements from one row of scores to the next
  int64_t key_panel = 0;  // elements: K, and V, by sets of knobs.vectors vectors
  int64_t value_panel = 0;
  bool has_local_panels = false;  // on the stack; otherwise each item has its own in the arena
  std::vector<KeySpan> blocks;    // that a strip sees; empty where all do all
  double most_seen = 1;           // the part of all keys that the strips of a chunk see, at most
  int64_t strips_per_chunk() const { return (strips + chunks - 1) / chunks; }
};
AttentionCut cut_attention(const Task& task, const Attention& attention, const Knobs& knobs);

// Knobs in the order of their cost by the model; none where no strip of scores fits on the stack.
std::vector<Knobs> rank_attention(const Task& task, const Attention& attention);

// Cycles of the busiest thread, by the model: of the one kernel, and of three instead.
double attention_cycles(const Task& task, const Attention& attention, const Knobs& knobs);
double apart_cycles(const Task& task, const Attention& attention);

// How few rows are computed, with nothing packed. Neighbouring batches that read the same K and V,
// as heads do that share one, are computed together: their rows are `rows`.
struct AttentionRowsPlan {
  bool is_possible = false;
  int64_t batches = 1;
  int64_t rows = 0;
  StreamedShape scores, product;
  int64_t pitch = 1;  // elements from one row of scores to the next
  double cycles = 0;  // of one thread
};
AttentionRowsPlan plan_attention_rows(const Task& task, const Attention& attention);

// Whether a region that three would be joined into is better than those three: for one thread, so
// that a plan's bits don't depend on how many it has (rows are divided by their sums elsewhere).
bool pays_to_attend(const Task& joined);

}  // namespace camshaft::lower
