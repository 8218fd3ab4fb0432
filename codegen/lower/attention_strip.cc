// SPDX-License-Identifier: MIT
#include "codegen/lower/attention_strip.h"

#include <algorithm>
#include <bit>

namespace camshaft::lower {

using ir::DType;
using ir::KOp;
using ir::LoopKind;
using ir::ReduceKind;

std::vector<Stmt> loop_within(Kernel& kernel, const char* name, int64_t extent,
                              const BlockRange* only, const Body& body) {
  if (only == nullptr) return loop(kernel, name, extent, LoopKind::kSerial, body);
  if (extent == 0) return {};
  const ExprId end = kernel.binary(KOp::kMin, only->end, kernel.int_const(extent));
  return loop_between(kernel, name, only->begin, end, 0, extent - 1, body);
}

std::vector<Stmt> tail_within(Kernel& kernel, int64_t extent, const BlockRange* only,
                              std::vector<Stmt> tail) {
  if (only == nullptr || tail.empty()) return tail;
  return {
      ir::make_if(kernel.binary(KOp::kLt, kernel.int_const(extent), only->end), std::move(tail))};
}

AttentionStrip::AttentionStrip(Frame& frame, Evaluator& evaluator, const Attention& attention)
    : frame_(frame),
      kernel_(frame.kernel()),
      evaluator_(evaluator),
      a_(attention),
      math_(&kernel_, frame.task.target.math, {DType::kFloat32, 1}) {}

void AttentionStrip::add_arrays(int64_t rows, int64_t pitch) {
  pitch_ = pitch;
  strip_ = kernel_.add_local("strip", DType::kFloat32, rows * pitch);
  maxima_ = kernel_.add_local("maxima", DType::kFloat32, rows);
  factors_ = kernel_.add_local("factors", DType::kFloat32, rows);
  partial_ = kernel_.add_local("partial", DType::kFloat32, a_.block());
}

void AttentionStrip::begin(ExprId batch, ExprId first_row) {
  batch_ = batch;
  first_row_ = first_row;
}

Index AttentionStrip::index(ExprId row, ExprId column) const {
  return matrix_index(kernel_, a_.batch_shape, batch_, row, column);
}

Index AttentionStrip::strip_index(ExprId row, ExprId column) const {
  return index(kernel_.add(first_row_, row), column);
}

Index AttentionStrip::row_index(ExprId row, ExprId key) const {
  const ExprId before = kernel_.mul(batch_, a_.rows);
  const ExprId linear = kernel_.add(before, kernel_.add(first_row_, row));
  Index result = delinearize(kernel_, a_.row_shape, linear);
  result.push_back(key);
  return result;
}

Index AttentionStrip::output_index(Index at) const {
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

std::vector<Stmt> AttentionStrip::vectors(
    int64_t extent, const std::function<std::vector<Stmt>(ExprId, int64_t)>& body) {
  const int64_t full = extent / a_.lanes;
  std::vector<Stmt> result = loop(kernel_, "i", full, LoopKind::kSerial,
                                  [&](ExprId number) { return body(number, a_.lanes); });
  const int64_t rest = extent % a_.lanes;
  if (rest > 0) append(result, body(kernel_.int_const(full), rest));
  return result;
}

Stmt AttentionStrip::store_logit(ExprId row, ExprId key, ExprId score) {
  evaluator_.bind(a_.scores, [score](const Index&) { return score; });
  const ExprId logit = evaluator_.value(a_.logits, row_index(row, key));
  evaluator_.unbind(a_.scores);
  return ir::make_store(strip_, place(row, key), logit);
}

Stmt AttentionStrip::store_nothing(ExprId row, ExprId key) {
  const ExprId least = reduce_identity(kernel_, ReduceKind::kMax, {DType::kFloat32, 1});
  return ir::make_store(strip_, place(row, key), least);
}

std::vector<Stmt> AttentionStrip::logits(int64_t rows) {
  return loop(kernel_, "r", rows, LoopKind::kSerial, [&](ExprId row) {
    return vectors(a_.keys, [&](ExprId number, int64_t used) {
      const ExprId first = kernel_.mul(number, a_.lanes);
      std::vector<Stmt> body = loop(kernel_, "v", used, LoopKind::kVector, [&](ExprId lane) {
        const ExprId key = kernel_.add(first, lane);
        const ExprId score = kernel_.load(strip_, place(row, key));
        return std::vector<Stmt>{store_logit(row, key, score)};
      });
      append(body, loop(kernel_, "v", a_.lanes - used, LoopKind::kVector, [&](ExprId lane) {
               const ExprId key = kernel_.add(first, kernel_.add(lane, used));
               return std::vector<Stmt>{store_nothing(row, key)};
             }));
      return body;
    });
  });
}

// A pass over all rows for each reduction: the end of one row's, which is a chain, takes place
// while the next row's begins.
std::vector<Stmt> AttentionStrip::softmax(int64_t rows, const BlockRange* only) {
  const auto of_strip = [this](const Index&) { return kernel_.load(strip_, in_strip(key_)); };
  const auto number_of = [this](ir::ArrayId array) {
    return [this, array](const Index&) { return kernel_.load(array, row_); };
  };
  evaluator_.bind(a_.logits, of_strip);
  evaluator_.bind(a_.maximum, number_of(maxima_));
  evaluator_.bind(a_.sum, number_of(factors_));
  std::vector<Stmt> body =
      each_row(rows, [&] { return reduce_row(ReduceKind::kMax, maxima_, only); });
  append(body, each_row(rows, [&] {
           std::vector<Stmt> inside = reduce_row(ReduceKind::kSum, factors_, only);
           append(inside, a_.divisor != ir::kNoNode ? invert_divisor() : divide_powers());
           return inside;
         }));
  for (const NodeId id : {a_.logits, a_.maximum, a_.sum}) evaluator_.unbind(id);
  return body;
}

std::vector<Stmt> AttentionStrip::each_row(int64_t rows,
                                           const std::function<std::vector<Stmt>()>& body) {
  return loop(kernel_, "r", rows, LoopKind::kSerial, [&](ExprId row) {
    row_ = row;
    return body();
  });
}

std::vector<Stmt> AttentionStrip::invert_divisor() {
  const ExprId divisor = evaluator_.value(a_.divisor, row_index(row_, kernel_.int_const(0)));
  const ExprId factor = kernel_.binary(KOp::kDiv, kernel_.float_const(1), divisor);
  return {ir::make_store(factors_, row_, factor)};
}

std::vector<Stmt> AttentionStrip::divide_powers() {
  evaluator_.bind(a_.powers, [this](const Index&) { return kernel_.load(strip_, in_strip(key_)); });
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
std::vector<Stmt> AttentionStrip::lanes_of(ExprId number, int64_t used, const Body& body) {
  return loop(kernel_, "v", a_.lanes, LoopKind::kVector, [&](ExprId lane) {
    key_ = kernel_.add(kernel_.mul(number, a_.lanes), lane);
    const ExprId last = kernel_.int_const(a_.keys - 1);
    at_ = row_index(row_, used == a_.lanes ? key_ : kernel_.binary(KOp::kMin, key_, last));
    return body(lane);
  });
}

// results[row] = the row's logits, combined; or its powers, which replace the logits. What is left
// out would change nothing: its powers are 0.
std::vector<Stmt> AttentionStrip::reduce_row(ReduceKind kind, ir::ArrayId results,
                                             const BlockRange* only) {
  const int64_t chains = a_.chains();
  std::vector<Stmt> body = loop(kernel_, "v", a_.block(), LoopKind::kVector, [&](ExprId v) {
    const ExprId start = reduce_identity(kernel_, kind, {DType::kFloat32, 1});
    return std::vector<Stmt>{ir::make_store(partial_, v, start)};
  });
  const int64_t full = a_.keys / a_.block();
  const auto block = [&](ExprId k) {
    std::vector<Stmt> inside;
    for (int64_t chain = 0; chain < chains; ++chain) {
      const ExprId number = kernel_.add(kernel_.mul(k, chains), chain);
      append(inside, reduce_vector(kind, number, chain, a_.lanes));
    }
    return inside;
  };
  std::vector<Stmt> tail;
  for (int64_t vector = full * chains; vector < a_.key_vectors(); ++vector) {
    const int64_t used = std::min(a_.lanes, a_.keys - vector * a_.lanes);
    append(tail, reduce_vector(kind, kernel_.int_const(vector), vector % chains, used));
  }
  append(body, loop_within(kernel_, "k", full, only, block));
  append(body, tail_within(kernel_, full, only, std::move(tail)));
  body.push_back(ir::make_store(results, row_, combined_chains(kind)));
  return body;
}

// A NaN among the logits need not be their maximum: its power, and so the sum, is one.
ExprId AttentionStrip::combine(ReduceKind kind, ExprId a, ExprId b) {
  return kind == ReduceKind::kMax ? kernel_.binary(KOp::kMax, a, b) : kernel_.add(a, b);
}

ExprId AttentionStrip::combined_chains(ReduceKind kind) {
  std::vector<ExprId> left;
  for (int64_t chain = 0; chain < a_.chains(); ++chain) {
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

std::vector<Stmt> AttentionStrip::reduce_vector(ReduceKind kind, ExprId number, int64_t chain,
                                                int64_t used) {
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
    const ExprId combined = combine(kind, kernel_.load(strip_, at), kernel_.load(partial_, place));
    body.push_back(ir::make_store(partial_, place, combined));
    return body;
  });
}

}  // namespace camshaft::lower
