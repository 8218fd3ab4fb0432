// SPDX-License-Identifier: MIT
#include <utility>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_rewrite.h"

namespace camshaft::ir {
namespace {

class Unroller {
 public:
  explicit Unroller(Kernel* kernel) : kernel_(*kernel), substituter_(kernel) {}

  std::vector<Stmt> unroll(std::vector<Stmt> body) {
    std::vector<Stmt> result;
    result.reserve(body.size());
    for (Stmt& stmt : body) {
      stmt.body = unroll(std::move(stmt.body));
      int64_t begin = 0, end = 0;
      if (is_expanded(stmt, &begin, &end)) {
        for (int64_t i = begin; i < end; ++i) append_iteration(stmt, i, result);
      } else {
        result.push_back(std::move(stmt));
      }
    }
    return result;
  }

 private:
  bool is_expanded(const Stmt& stmt, int64_t* begin, int64_t* end) const {
    if (stmt.kind != StmtKind::kFor) return false;
    const bool constant =
        kernel_.is_int_const(stmt.begin, begin) && kernel_.is_int_const(stmt.end, end);
    if (stmt.loop == LoopKind::kUnrolled) {
      CAMSHAFT_CHECK(constant);
      return true;
    }
    return stmt.loop == LoopKind::kSerial && constant && *end - *begin <= 1;
  }

  void append_iteration(const Stmt& loop, int64_t i, std::vector<Stmt>& result) {
    substituter_.clear();
    substituter_.map(loop.var, kernel_.int_const(i));
    std::vector<Stmt> copy = clone_body(kernel_, loop.body, substituter_);
    std::move(copy.begin(), copy.end(), std::back_inserter(result));
  }

  Kernel& kernel_;
  Substituter substituter_;
};

}  // namespace

Kernel unroll_loops(Kernel kernel) {
  std::vector<Stmt> body = Unroller(&kernel).unroll(std::move(kernel.body));
  kernel.body = std::move(body);
  return kernel;
}

}  // namespace camshaft::ir
