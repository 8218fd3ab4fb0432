// SPDX-License-Identifier: MIT
// Each loop pass against the interpreter: a kernel computes the same bits before and after.
#include "codegen/ir/kernel_passes.h"

#include <catch2/catch.hpp>
#include <functional>

#include "codegen/ir/kernel_rewrite.h"
#include "tests/codegen/ir/kernel_testing.h"

using namespace camshaft::ir;

namespace {

Kernel parsed(const char* text) {
  auto result = parse_kernel(text);
  REQUIRE(result.has_value());
  REQUIRE(verify_kernel(*result).is_ok());
  return std::move(*result);
}

// Whether any statement satisfies `predicate`.
bool any_stmt(const std::vector<Stmt>& body, const std::function<bool(const Stmt&)>& predicate) {
  for (const Stmt& stmt : body) {
    if (predicate(stmt) || any_stmt(stmt.body, predicate)) return true;
  }
  return false;
}

bool has_loop(const Kernel& kernel, LoopKind kind) {
  return any_stmt(kernel.body,
                  [&](const Stmt& s) { return s.kind == StmtKind::kFor && s.loop == kind; });
}

int count_stmts(const std::vector<Stmt>& body) {
  int count = 0;
  for (const Stmt& stmt : body) count += 1 + count_stmts(stmt.body);
  return count;
}

const char* kTwoSums = R"(kernel "two_sums" threads 1 {
  param a: f32[256]
  param out: f32[256] writable
  for i in 0..28 vector {
    let x: f32 = load(a, i) + load(a, 3)
    store(out, i, x)
    store(out, i * 2 + 100, x + load(a, i * 3))
  }
}
)";

}  // namespace

TEST_CASE("random kernels compute the same after every pass") {
  int with_vectors = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Kernel kernel = RandomKernel(seed).make();
    INFO("seed " << seed << "\n" << print_kernel(kernel));
    REQUIRE(verify_kernel(kernel).is_ok());
    const Memory memory = random_memory(kernel, seed);
    const Memory expected = run_kernel(kernel, memory);
    REQUIRE(expected.size() == memory.size());
    with_vectors += has_loop(kernel, LoopKind::kVector);
    for (const int32_t lanes : {1, 4, 16}) {
      const Kernel vectors = vectorize_loops(kernel, lanes);
      const Kernel flat = unroll_loops(vectors);
      const Kernel ready = prepare_kernel(kernel, lanes, MathSupport());
      for (const Kernel* after : {&vectors, &flat, &ready}) {
        INFO("lanes " << lanes << "\n" << print_kernel(*after));
        REQUIRE(verify_kernel(*after).is_ok());
        REQUIRE(!has_loop(*after, LoopKind::kVector));
        const bool same = run_kernel(*after, memory) == expected;
        REQUIRE(same);
      }
      REQUIRE(!has_loop(flat, LoopKind::kUnrolled));
    }
    const Kernel unrolled = unroll_loops(kernel);
    REQUIRE(verify_kernel(unrolled).is_ok());
    const bool same = run_kernel(unrolled, memory) == expected;
    REQUIRE(same);
  }
  REQUIRE(with_vectors > 100);
}

TEST_CASE("the comparison of random kernels notices a changed one") {
  const Kernel kernel = parsed(kTwoSums);
  const Memory memory = random_memory(kernel, 1);
  Kernel changed = kernel;
  changed.body[0].end = changed.int_const(27);
  const bool same = run_kernel(changed, memory) == run_kernel(kernel, memory);
  REQUIRE(!same);
}

TEST_CASE("a vector loop becomes dense, broadcast, strided accesses and a tail") {
  const Kernel vectors = vectorize_loops(parsed(kTwoSums), 8);
  // The printed names of the generated variables are part of the text, not of the contract.
  REQUIRE(print_kernel(vectors) == R"(kernel "two_sums" threads 1 {
  param a: f32[256]
  param out: f32[256] writable
  for i_1 in 0..3 serial {
    let x_2: f32x8 = load(a, i_1 * 8, 8) + broadcast(load(a, 3), 8)
    store(out, i_1 * 8, x_2)
    store(out, ramp(i_1 * 16 + 100, 2, 8), x_2 + load(a, ramp(i_1 * 24, 3, 8)))
  }
  let x_4: f32x4 = load(a, 24, 4) + broadcast(load(a, 3), 4)
  store(out, 24, x_4)
  store(out, ramp(148, 2, 4), x_4 + load(a, ramp(72, 3, 4)))
}
)");
}

TEST_CASE("what is left behind whole vectors runs as narrower ones, and at last one by one") {
  const auto stored_lanes = [](int64_t extent, int32_t max_lanes) {
    Kernel k;
    const ArrayId a = k.add_param("a", DType::kBFloat16, 256, false);
    const ArrayId out = k.add_param("out", DType::kFloat32, 256, true);
    const VarId i = k.add_loop_var("i", 0, extent - 1);
    k.body = {make_for(i, k.int_const(0), k.int_const(extent), LoopKind::kVector,
                       {make_store(out, k.var(i), k.cast(k.load(a, k.var(i)), DType::kFloat32))})};
    k = unroll_loops(vectorize_loops(std::move(k), max_lanes));
    std::vector<int32_t> lanes;
    int64_t next = 0;
    for (const Stmt& stmt : k.body) {
      int64_t place = -1;
      CHECK(stmt.kind == StmtKind::kStore);
      CHECK((k.is_int_const(stmt.index, &place) && place == next));
      lanes.push_back(k.expr(stmt.value).type.lanes);
      next += lanes.back();
    }
    CHECK(next == extent);
    return lanes;
  };
  using Lanes = std::vector<int32_t>;
  CHECK(stored_lanes(31, 16) == Lanes{16, 8, 4, 1, 1, 1});
  CHECK(stored_lanes(28, 16) == Lanes{16, 8, 4});
  CHECK(stored_lanes(20, 16) == Lanes{16, 4});
  CHECK(stored_lanes(15, 8) == Lanes{8, 4, 1, 1, 1});
  CHECK(stored_lanes(7, 16) == Lanes{4, 1, 1, 1});
  CHECK(stored_lanes(3, 16) == Lanes{2, 1});
  CHECK(stored_lanes(16, 16) == Lanes{16});
}

TEST_CASE("lanes follow the extent and the widest element") {
  const auto lanes_for = [](int64_t extent, DType dtype, int32_t max_lanes) {
    Kernel k;
    const ArrayId a = k.add_param("a", dtype, 256, false);
    const ArrayId out = k.add_param("out", dtype, 256, true);
    const VarId i = k.add_loop_var("i", 0, extent - 1);
    k.body = {make_for(i, k.int_const(0), k.int_const(extent), LoopKind::kVector,
                       {make_store(out, k.var(i), k.load(a, k.var(i)))})};
    k = vectorize_loops(std::move(k), max_lanes);
    const Stmt* first = &k.body[0];
    while (first->kind != StmtKind::kStore) first = &first->body[0];
    return k.expr(first->value).type.lanes;
  };
  REQUIRE(lanes_for(64, DType::kFloat32, 16) == 16);
  REQUIRE(lanes_for(64, DType::kFloat64, 16) == 8);
  REQUIRE(lanes_for(64, DType::kUInt8, 16) == 16);
  REQUIRE(lanes_for(8, DType::kFloat32, 16) == 8);
  REQUIRE(lanes_for(13, DType::kFloat32, 16) == 8);
  REQUIRE(lanes_for(64, DType::kFloat32, 1) == 1);
}

TEST_CASE("a vector variable inside div and mod stays exact") {
  // Rows of 8 in vectors of 8: the row is one number a vector, the column a dense access.
  const Kernel vectors = vectorize_loops(parsed(R"(kernel "rows" threads 1 {
  param a: f32[64]
  param out: f32[64] writable
  for i in 0..64 vector {
    store(out, i % 8 * 8 + i / 8, load(a, i / 8 * 8 + i % 8))
  }
}
)"),
                                         8);
  REQUIRE(print_kernel(vectors).find("load(a, i_1 * 8, 8)") != std::string::npos);
  REQUIRE(print_kernel(vectors).find("store(out, ramp(i_1, 8, 8)") != std::string::npos);
}

TEST_CASE("vectors over local arrays are unrolled into constant indices") {
  const Kernel ready = prepare_kernel(parsed(R"(kernel "local" threads 1 {
  param out: f32[32] writable
  local acc: f32[32]
  for i in 0..32 vector {
    store(acc, i, 1.5)
  }
  for j in 0..32 vector {
    store(out, j, load(acc, j))
  }
}
)"),
                                      8, MathSupport());
  REQUIRE(!any_stmt(ready.body, [](const Stmt& s) { return s.kind == StmtKind::kFor; }));
  REQUIRE(count_stmts(ready.body) == 8);
}

TEST_CASE("unrolled copies share what is equal, and their number of expressions is linear") {
  const auto unrolled_size = [](int64_t copies) {
    Kernel k;
    const ArrayId a = k.add_param("a", DType::kFloat32, 1 << 20, false);
    const ArrayId out = k.add_param("out", DType::kFloat32, 1 << 20, true);
    const VarId outer = k.add_loop_var("o", 0, 15);
    const VarId i = k.add_loop_var("i", 0, copies - 1);
    const ExprId row = k.mul(k.var(outer), 4096);
    const VarId x = k.add_let_var("x", ValueType{DType::kFloat32, 1});
    const ExprId shared = k.unary(KOp::kSqrt, k.load(a, row));
    k.body = {
        make_for(outer, k.int_const(0), k.int_const(16), LoopKind::kSerial,
                 {make_for(i, k.int_const(0), k.int_const(copies), LoopKind::kUnrolled,
                           {make_let(x, k.add(k.load(a, k.add(row, k.var(i))), shared)),
                            make_store(out, k.add(row, k.var(i)), k.mul(k.var(x), k.var(x)))})})};
    k = unroll_loops(std::move(k));
    REQUIRE(count_stmts(k.body) == 1 + 2 * copies);
    REQUIRE(k.body[0].body[0].value != k.body[0].body[2].value);
    REQUIRE(k.expr(k.body[0].body[0].value).args[1] == k.expr(k.body[0].body[2].value).args[1]);
    return k.expr_count();
  };
  const int small = unrolled_size(500);
  REQUIRE(unrolled_size(4000) <= 8 * small);
}

TEST_CASE("nested unrolled loops and empty ones") {
  const Kernel flat = unroll_loops(parsed(R"(kernel "nest" threads 1 {
  param out: f32[64] writable
  for i in 0..3 unrolled {
    for j in 0..2 unrolled {
      store(out, i * 2 + j, cast(i * 10 + j, f32))
    }
    for k in 5..5 unrolled {
      store(out, k, 0.0)
    }
  }
}
)"));
  REQUIRE(count_stmts(flat.body) == 6);
  REQUIRE(print_kernel(flat).find("store(out, 5, 21.0)") != std::string::npos);
}

TEST_CASE("dead statements go, live ones stay") {
  const Kernel ready = prepare_kernel(parsed(R"(kernel "dead" threads 1 {
  param a: f32[8]
  param out: f32[8] writable
  let unused: f32 = load(a, 0) * 2.5
  let used: f32 = load(a, 1) * 2.5
  store(out, 0, 1.0)
  store(out, 0, used)
  store(out, 1, 2.0)
  store(out, 2, load(out, 1))
  store(out, 1, 3.0)
  store(out, 3, load(out, 3))
  for i in 0..4 serial {
    let x: f32 = load(a, i)
  }
}
)"),
                                      8, MathSupport());
  REQUIRE(print_kernel(ready) == R"(kernel "dead" threads 1 {
  param a: f32[8]
  param out: f32[8] writable
  let used: f32 = load(a, 1) * 2.5
  store(out, 0, used)
  store(out, 1, 2.0)
  store(out, 2, load(out, 1))
  store(out, 1, 3.0)
}
)");
}

TEST_CASE("a store through an alias is read through the other name") {
  const Kernel ready = prepare_kernel(parsed(R"(kernel "alias" threads 1 {
  param a: f32[8] may_alias out
  param out: f32[8] writable
  param other: f32[8] writable
  store(out, 0, 1.0)
  store(other, 0, load(a, 0))
  store(out, 0, 2.0)
}
)"),
                                      8, MathSupport());
  REQUIRE(count_stmts(ready.body) == 3);
}
