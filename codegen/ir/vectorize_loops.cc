// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_rewrite.h"

namespace camshaft::ir {
namespace {

// What is left behind whole vectors is done by vectors of half the lanes, a quarter, and so on,
// down to this many, and the rest one by one. (Vectors of two lanes take as many instructions as
// two scalars do in most of what kernels compute, and targets don't convert them to halves at
// once.)
constexpr int32_t kLeastLanes = 4;
// A vector loop that touches local arrays is unrolled up to this many vectors, so that the accesses
// have constant indices and the arrays can live in registers.
constexpr int64_t kUnrolledVectors = 64;

// The widest element that a loop computes with, in bytes. Index arithmetic does not count.
class ElementWidth {
 public:
  explicit ElementWidth(const Kernel* kernel) : kernel_(*kernel) {}

  int64_t of(const std::vector<Stmt>& body) {
    std::vector<ExprId> values;
    collect(body, values);
    return widest(values);
  }

 private:
  // Lets come before their uses, so the backward walk knows which of them hold data.
  void collect(const std::vector<Stmt>& body, std::vector<ExprId>& values) {
    for (const Stmt& stmt : body) {
      if (stmt.kind == StmtKind::kStore) {
        values.push_back(stmt.value);
        width_ = std::max(width_, base::dtype_size_bytes(kernel_.array(stmt.array).dtype));
      }
      if (stmt.kind == StmtKind::kLet) {
        lets_.resize(kernel_.vars().size(), kNoExpr);
        lets_[static_cast<size_t>(stmt.var)] = stmt.value;
      }
      collect(stmt.body, values);
    }
  }

  int64_t widest(std::vector<ExprId> pending) {
    std::vector<bool> seen(static_cast<size_t>(kernel_.expr_count()));
    while (!pending.empty()) {
      const ExprId id = pending.back();
      pending.pop_back();
      if (id == kNoExpr || seen[static_cast<size_t>(id)]) continue;
      seen[static_cast<size_t>(id)] = true;
      const Expr& e = kernel_.expr(id);
      width_ = std::max(width_, base::dtype_size_bytes(e.type.dtype));
      if (e.op == KOp::kLoad || e.op == KOp::kTexel) continue;
      pending.insert(pending.end(), std::begin(e.args), std::end(e.args));
      const auto var = static_cast<size_t>(e.int_value);
      if (e.op == KOp::kVar && var < lets_.size()) pending.push_back(lets_[var]);
    }
    return width_;
  }

  const Kernel& kernel_;
  std::vector<ExprId> lets_;  // values by VarId
  int64_t width_ = 1;
};

class Vectorizer {
 public:
  Vectorizer(Kernel* kernel, int32_t max_lanes)
      : kernel_(*kernel), substituter_(kernel), max_lanes_(max_lanes) {}

  std::vector<Stmt> vectorize(std::vector<Stmt> body) {
    std::vector<Stmt> result;
    result.reserve(body.size());
    for (Stmt& stmt : body) {
      if (stmt.kind == StmtKind::kFor && stmt.loop == LoopKind::kVector) {
        append_vectors(stmt, result);
      } else {
        stmt.body = vectorize(std::move(stmt.body));
        result.push_back(std::move(stmt));
      }
    }
    return result;
  }

 private:
  void append_vectors(const Stmt& loop, std::vector<Stmt>& result) {
    check_body(loop.body);
    int64_t begin = 0, end = 0;
    CAMSHAFT_CHECK(kernel_.is_int_const(loop.begin, &begin) &&
                   kernel_.is_int_const(loop.end, &end));
    const int64_t extent = std::max<int64_t>(0, end - begin);
    // Texels are stored whole.
    const bool is_halved = !has_images(kernel_) && ElementWidth(&kernel_).of(loop.body) == 8;
    const int64_t limit = is_halved ? max_lanes_ / 2 : max_lanes_;
    const auto lanes = static_cast<int32_t>(std::bit_floor(static_cast<uint64_t>(
        std::max<int64_t>(1, std::min({limit, extent, int64_t{kMaxLanes}})))));
    if (lanes == 1) return append_scalars(loop, begin, end, LoopKind::kSerial, result);
    const int64_t vectors = extent / lanes;
    const bool local = touches_local(loop.body);
    const LoopKind kind =
        local && vectors <= kUnrolledVectors ? LoopKind::kUnrolled : LoopKind::kSerial;
    append_full_vectors(loop, begin, vectors, lanes, kind, result);
    append_tail(loop, begin + vectors * lanes, end, lanes / 2, result);
  }

  // Fewer than 2 * lanes iterations.
  void append_tail(const Stmt& loop, int64_t begin, int64_t end, int32_t lanes,
                   std::vector<Stmt>& result) {
    for (; lanes >= kLeastLanes; lanes /= 2) {
      if (end - begin < lanes) continue;
      append_full_vectors(loop, begin, 1, lanes, LoopKind::kSerial, result);
      begin += lanes;
    }
    append_scalars(loop, begin, end, LoopKind::kUnrolled, result);
  }

  // for o in 0..vectors: the body at begin + o * lanes + ramp(0, 1, lanes)
  void append_full_vectors(const Stmt& loop, int64_t begin, int64_t vectors, int32_t lanes,
                           LoopKind kind, std::vector<Stmt>& result) {
    const std::string name = kernel_.var_info(loop.var).name;
    const VarId outer = kernel_.add_loop_var(name, 0, vectors - 1);
    const VarId lane = kernel_.add_loop_var(name, 0, lanes - 1);
    const ExprId first = vectors == 1 ? kernel_.int_const(begin)
                                      : kernel_.add(kernel_.mul(kernel_.var(outer), lanes), begin);
    // First as scalars, where div and mod see that 0 <= lane < lanes; then lanes at once.
    substituter_.clear();
    substituter_.map(loop.var, kernel_.add(first, kernel_.var(lane)));
    const std::vector<Stmt> scalar =
        clone_body(kernel_, loop.body, substituter_, LetPolicy::kInlineIndices);
    substituter_.clear();
    substituter_.map(lane, kernel_.ramp(kernel_.int_const(0), kernel_.int_const(1), lanes));
    std::vector<Stmt> body = clone_body(kernel_, scalar, substituter_, LetPolicy::kInlineIndices);
    for (Stmt& stmt : body) widen_stores(stmt, lanes);
    if (vectors == 1) {
      std::move(body.begin(), body.end(), std::back_inserter(result));
    } else {
      result.push_back(
          make_for(outer, kernel_.int_const(0), kernel_.int_const(vectors), kind, std::move(body)));
    }
  }

  void append_scalars(const Stmt& loop, int64_t begin, int64_t end, LoopKind kind,
                      std::vector<Stmt>& result) {
    if (begin >= end) return;
    const VarId var = kernel_.add_loop_var(kernel_.var_info(loop.var).name, begin, end - 1);
    substituter_.clear();
    substituter_.map(loop.var, kernel_.var(var));
    result.push_back(make_for(var, kernel_.int_const(begin), kernel_.int_const(end), kind,
                              clone_body(kernel_, loop.body, substituter_)));
  }

  void widen_stores(Stmt& stmt, int32_t lanes) {
    for (Stmt& inner : stmt.body) widen_stores(inner, lanes);
    if (stmt.kind != StmtKind::kStore) return;
    const Expr index = kernel_.expr(stmt.index);
    // Every lane would store to the same element.
    CAMSHAFT_CHECK(index.type.lanes == lanes && index.op != KOp::kBroadcast);
    if (kernel_.expr(stmt.value).type.lanes == 1) {
      stmt.value = kernel_.broadcast(stmt.value, lanes);
    }
    int64_t stride = 0;
    if (index.op == KOp::kRamp && kernel_.is_int_const(index.args[1], &stride) && stride == 1) {
      stmt.index = index.args[0];
    }
  }

  // A vector loop holds Let, Store, and unrolled or serial loops, all on scalars.
  void check_body(const std::vector<Stmt>& body) {
    for (const Stmt& stmt : body) {
      const bool loop = stmt.kind == StmtKind::kFor &&
                        (stmt.loop == LoopKind::kUnrolled || stmt.loop == LoopKind::kSerial);
      CAMSHAFT_CHECK(loop || stmt.kind == StmtKind::kLet || stmt.kind == StmtKind::kStore);
      check_body(stmt.body);
    }
  }

  bool touches_local(const std::vector<Stmt>& body) {
    std::vector<ExprId> roots;
    const auto is_local = [&](ArrayId id) {
      return id >= 0 && kernel_.array(id).kind == ArrayKind::kLocal;
    };
    for (const Stmt& stmt : body) {
      if (is_local(stmt.array) || touches_local(stmt.body)) return true;
      for (const ExprId id : exprs_of(stmt)) roots.push_back(id);
    }
    for (const ExprId id : reachable_exprs(kernel_, roots)) {
      if (is_local(kernel_.expr(id).array)) return true;
    }
    return false;
  }

  Kernel& kernel_;
  Substituter substituter_;
  int32_t max_lanes_;
};

}  // namespace

Kernel vectorize_loops(Kernel kernel, int32_t max_lanes) {
  CAMSHAFT_CHECK(max_lanes >= 1);
  std::vector<Stmt> body = Vectorizer(&kernel, max_lanes).vectorize(std::move(kernel.body));
  kernel.body = std::move(body);
  return kernel;
}

}  // namespace camshaft::ir
