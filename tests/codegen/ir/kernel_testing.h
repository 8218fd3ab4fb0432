// SPDX-License-Identifier: MIT
// Random kernels, and running kernels on random data.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_scalar.h"
#include "codegen/ir/literal.h"

namespace camshaft::ir {

using Memory = std::vector<std::vector<std::byte>>;

// Seeded contents for every parameter: small numbers, some of them negative.
inline Memory random_memory(const Kernel& kernel, uint32_t seed) {
  std::mt19937 random(seed);
  Memory memory;
  for (const Array& array : kernel.arrays()) {
    if (array.kind != ArrayKind::kParam) continue;
    Literal literal = zero_literal({array.dtype, {array.elements}});
    for (int64_t i = 0; i < array.elements; ++i) {
      const double value = static_cast<double>(static_cast<int32_t>(random() % 4001) - 2000) / 64;
      set_literal_element(literal, i, value);
    }
    memory.push_back(literal.bytes);
  }
  return memory;
}

// The parameters after all thread iterations; empty if the interpreter refused.
inline Memory run_kernel(const Kernel& kernel, Memory memory) {
  std::vector<void*> params;
  for (auto& bytes : memory) params.push_back(bytes.data());
  if (!interpret_kernel(kernel, params.data(), 0, kernel.thread_extent).is_ok()) return {};
  return memory;
}

// A kernel made of loops of all kinds, Lets, loads and stores. Vector loops keep their rules: each
// iteration writes elements of its own and reads only these and the read-only parameters.
class RandomKernel {
 public:
  explicit RandomKernel(uint32_t seed) : random_(seed) {}

  Kernel make() {
    kernel_.name = "random";
    inputs_ = {kernel_.add_param("a", DType::kFloat32, kElements, false),
               kernel_.add_param("b", DType::kFloat32, kElements, false),
               kernel_.add_param("n", DType::kInt32, kElements, false)};
    out_ = kernel_.add_param("out", DType::kFloat32, kElements, true);
    local_ = kernel_.add_local("tmp", DType::kFloat32, kLocalElements);
    kernel_.thread_extent = 1 + pick(3);
    const VarId t = kernel_.add_loop_var("t", 0, kernel_.thread_extent - 1);
    indices_.push_back(kernel_.var(t));
    std::vector<Stmt> body = make_zeroing();
    for (Stmt& stmt : make_body(2)) body.push_back(std::move(stmt));
    kernel_.body = {make_for(t, kernel_.int_const(0), kernel_.int_const(kernel_.thread_extent),
                             LoopKind::kThread, std::move(body))};
    return std::move(kernel_);
  }

 private:
  static constexpr int64_t kElements = 4096;
  static constexpr int64_t kLocalElements = 64;
  static constexpr int64_t kPerThread = kElements / 4;

  int64_t pick(int64_t count) { return static_cast<int64_t>(random_()) % count; }
  ExprId pick_of(const std::vector<ExprId>& ids) {
    return ids[static_cast<size_t>(pick(static_cast<int64_t>(ids.size())))];
  }

  std::vector<Stmt> make_zeroing() {
    const VarId z = kernel_.add_loop_var("z", 0, kLocalElements - 1);
    return {make_for(z, kernel_.int_const(0), kernel_.int_const(kLocalElements), LoopKind::kSerial,
                     {make_store(local_, kernel_.var(z), kernel_.float_const(0))})};
  }

  // Any index expression of the loop variables in scope.
  ExprId make_index(int depth) {
    if (depth == 0 || pick(4) == 0) {
      return pick(4) == 0 ? kernel_.int_const(pick(20) - 4) : pick_of(indices_);
    }
    const ExprId a = make_index(depth - 1);
    switch (pick(7)) {
      case 0:
        return kernel_.mul(a, 1 + pick(9));
      case 1:
        return kernel_.div(a, 1 + pick(9));
      case 2:
        return kernel_.mod(a, 1 + pick(9));
      case 3:
        return kernel_.sub(a, make_index(depth - 1));
      case 4:
        return kernel_.binary(KOp::kMin, a, make_index(depth - 1));
      default:
        return kernel_.add(a, make_index(depth - 1));
    }
  }

  ExprId clamped(ExprId index, int64_t elements) {
    const ExprId low = kernel_.binary(KOp::kMax, index, kernel_.int_const(0));
    return kernel_.binary(KOp::kMin, low, kernel_.int_const(elements - 1));
  }

  ExprId make_value(int depth) {
    if (depth == 0 || pick(5) == 0) return make_leaf();
    const ExprId a = make_value(depth - 1);
    const ExprId b = make_value(depth - 1);
    switch (pick(8)) {
      case 0:
        return kernel_.sub(a, b);
      case 1:
        return kernel_.mul(a, b);
      case 2:
        return kernel_.binary(KOp::kMax, a, b);
      case 3:
        return kernel_.fma(a, b, make_leaf());
      case 4:
        return kernel_.select(kernel_.binary(KOp::kLt, a, b), a, make_leaf());
      case 5:
        return kernel_.unary(KOp::kAbs, a);
      case 6:
        return kernel_.select(kernel_.binary(KOp::kLt, make_index(1), make_index(1)), a, b);
      default:
        return kernel_.add(a, b);
    }
  }

  ExprId make_leaf() {
    switch (pick(6)) {
      case 0:
        return kernel_.float_const(static_cast<double>(pick(64) - 32) / 8);
      case 1:
        return kernel_.cast(make_index(2), DType::kFloat32);
      case 2:
        return kernel_.cast(kernel_.load(inputs_[2], clamped(make_index(2), kElements)),
                            DType::kFloat32);
      case 3:
        if (!values_.empty()) return pick_of(values_);
        [[fallthrough]];
      default:
        return kernel_.load(inputs_[static_cast<size_t>(pick(2))],
                            clamped(make_index(3), kElements));
    }
  }

  // An element of out that no other vector lane and no other thread touches.
  ExprId own_element() {
    const ExprId base = kernel_.mul(indices_[0], kPerThread);
    if (lane_ == kNoExpr) {
      return kernel_.add(base, clamped(make_index(2), kPerThread));
    }
    return kernel_.add(base, kernel_.add(kernel_.mul(lane_, stride_), lane_start_));
  }

  std::vector<Stmt> make_body(int loops) {
    std::vector<Stmt> body;
    const size_t values = values_.size();
    for (int64_t i = 0; i < 2 + pick(2); ++i) {
      const int64_t what = pick(loops > 0 ? 5 : 3);
      if (what == 0) {
        const ExprId value = make_value(2);
        const VarId let = kernel_.add_let_var("x", kernel_.expr(value).type);
        body.push_back(make_let(let, value));
        values_.push_back(kernel_.var(let));
      } else if (what == 1 && lane_ != kNoExpr) {
        const ExprId old = kernel_.load(local_, lane_);
        body.push_back(make_store(local_, lane_, kernel_.add(old, make_value(2))));
      } else if (what <= 2) {
        const ExprId at = own_element();
        const ExprId value =
            pick(2) == 0 ? kernel_.add(kernel_.load(out_, at), make_value(2)) : make_value(3);
        body.push_back(make_store(out_, at, value));
      } else {
        body.push_back(make_loop(loops - 1));
      }
    }
    values_.resize(values);
    return body;
  }

  Stmt make_loop(int loops) {
    LoopKind kind = pick(2) == 0 ? LoopKind::kSerial : LoopKind::kUnrolled;
    const bool vector = lane_ == kNoExpr && pick(2) == 0;
    if (vector) kind = LoopKind::kVector;
    const int64_t begin = pick(3);
    const int64_t extent = vector ? 1 + pick(40) : pick(5);
    const VarId var = kernel_.add_loop_var("i", begin, begin + std::max<int64_t>(extent, 1) - 1);
    if (vector) {
      lane_ = kernel_.var(var);
      stride_ = pick(3) == 0 ? 3 : 1;
      lane_start_ = kernel_.mul(kernel_.mod(clamped(pick_of(indices_), 1000), 4), 160);
    }
    indices_.push_back(kernel_.var(var));
    Stmt loop = make_for(var, kernel_.int_const(begin), kernel_.int_const(begin + extent), kind,
                         make_body(loops));
    indices_.pop_back();
    if (vector) lane_ = kNoExpr;
    return loop;
  }

  std::mt19937 random_;
  Kernel kernel_;
  std::vector<ArrayId> inputs_;
  ArrayId out_ = -1;
  ArrayId local_ = -1;
  std::vector<ExprId> indices_;  // loop variables in scope; the first is the thread's
  std::vector<ExprId> values_;   // Lets in scope
  ExprId lane_ = kNoExpr;        // the vector loop's variable
  ExprId lane_start_ = kNoExpr;  // each of its iterations owns out[start + lane * stride]
  int64_t stride_ = 1;
};

}  // namespace camshaft::ir
