// SPDX-License-Identifier: MIT
// The interpreter's semantics, op by op, as kernel.h states them.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_scalar.h"
#include "tests/support/last_sentence.h"

using namespace camshaft::ir;
using camshaft::test::last_sentence;

namespace {

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel(text);
  REQUIRE(kernel.has_value());
  REQUIRE(verify_kernel(*kernel).is_ok());
  return std::move(*kernel);
}

// The results of statements on a[8] = {0 ... 7} and n[8] = {7 ... 0}.
std::vector<float> run(const std::string& body) {
  const Kernel kernel = parsed(
      "kernel \"k\" threads 1 {\n  param a: f32[8]\n  param n: i32[8]\n"
      "  param out: f32[8] writable\n  local tmp: f32[8]\n" +
      body + "\n}\n");
  float a[8], out[8] = {};
  int32_t n[8];
  for (int i = 0; i < 8; ++i) {
    a[i] = static_cast<float>(i);
    n[i] = 7 - i;
  }
  void* params[] = {a, n, out};
  REQUIRE(interpret_kernel(kernel, params, 0, 1).is_ok());
  return {out, out + 8};
}
float value(const std::string& expression) {
  return run("store(out, 0, " + expression + ")")[0];
}

LaneBits f32(double x) {
  return float_bits(x, DType::kFloat32);
}
double back(LaneBits x) {
  return float_value(x, DType::kFloat32);
}

}  // namespace

TEST_CASE("lanes: dense, gather, scatter, ramp, broadcast") {
  REQUIRE(run("store(out, 2, load(a, 1, 4))") == std::vector<float>{0, 0, 1, 2, 3, 4, 0, 0});
  REQUIRE(run("store(out, 0, load(a, cast(load(n, 0, 8), i64)))") ==
          std::vector<float>{7, 6, 5, 4, 3, 2, 1, 0});
  REQUIRE(run("store(out, ramp(7, -2, 4), load(a, 4, 4))") ==
          std::vector<float>{0, 7, 0, 6, 0, 5, 0, 4});
  REQUIRE(run("store(out, 0, broadcast(2.5, 2))") ==
          std::vector<float>{2.5, 2.5, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("reductions go pairwise by halves") {
  REQUIRE(value("reduce_add(load(a, 0, 8))") == 28);
  REQUIRE(value("reduce_max(load(a, 0, 8))") == 7);
  REQUIRE(value("reduce_min(load(a, 0, 8))") == 0);
  // (1e8 + -1e8) + (1 + 1), and not in order, which gives 1.
  REQUIRE(value("reduce_add(select(ramp(0, 1, 4) < broadcast(1, 4), broadcast(1e8, 4), "
                "select(ramp(0, 1, 4) == broadcast(2, 4), broadcast(-1e8, 4), "
                "broadcast(1.0, 4))))") == 2);
}

TEST_CASE("loops, conditions, lets and local arrays") {
  REQUIRE(run(R"(store(tmp, 0, 0.0)
for i in 1..8 serial {
  let x: f32 = load(tmp, i - 1) + load(a, i)
  store(tmp, i, x)
  if i < 4 {
    store(out, i, x)
  }
})") == std::vector<float>{0, 1, 3, 6, 0, 0, 0, 0});
  REQUIRE(run("store(out, 0, load(tmp, 0))") != std::vector<float>(8, 0));  // never written
}

TEST_CASE("threads: only the iterations asked for") {
  const Kernel threads = parsed(
      "kernel \"k\" threads 8 {\n  param o: i32[8] writable\n  for t in 0..8 thread {\n"
      "    store(o, t, cast(t + 1, i32))\n  }\n}\n");
  int32_t o[8] = {};
  void* params[] = {o};
  REQUIRE(interpret_kernel(threads, params, 2, 5).is_ok());
  REQUIRE(std::vector<int32_t>(o, o + 8) == std::vector<int32_t>{0, 0, 3, 4, 5, 0, 0, 0});
  const Kernel none = parsed(
      "kernel \"k\" threads 1 {\n  param o: i32[8] writable\n"
      "  store(o, 0, 9i32)\n}\n");
  REQUIRE(interpret_kernel(none, params, 1, 4).is_ok());
  REQUIRE(o[0] == 0);
  REQUIRE(interpret_kernel(none, params, 0, 1).is_ok());
  REQUIRE(o[0] == 9);
}

TEST_CASE("min and max give their second operand on NaN") {
  const LaneBits nan = f32(std::nan("")), one = f32(1);
  REQUIRE(evaluate_op(KOp::kMin, DType::kFloat32, nan, one, 0) == one);
  REQUIRE(std::isnan(back(evaluate_op(KOp::kMin, DType::kFloat32, one, nan, 0))));
  REQUIRE(evaluate_op(KOp::kMax, DType::kFloat32, nan, one, 0) == one);
  REQUIRE(std::isnan(back(evaluate_op(KOp::kMax, DType::kFloat32, one, nan, 0))));
  // Neither is less: the second again.
  REQUIRE(evaluate_op(KOp::kMin, DType::kFloat32, f32(-0.0), f32(0.0), 0) == f32(0.0));
}

TEST_CASE("integers wrap, truncate and shift by their type") {
  const auto i8 = [](KOp op, int64_t a, int64_t b) {
    return static_cast<int64_t>(
        evaluate_op(op, DType::kInt8, static_cast<LaneBits>(a), static_cast<LaneBits>(b), 0));
  };
  const auto u8 = [](KOp op, uint64_t a, uint64_t b) {
    return evaluate_op(op, DType::kUInt8, a, b, 0);
  };
  REQUIRE(i8(KOp::kAdd, 127, 1) == -128);
  REQUIRE(u8(KOp::kSub, 0, 1) == 255);
  REQUIRE(i8(KOp::kMul, 100, 3) == 44);
  REQUIRE(i8(KOp::kDiv, -7, 2) == -3);
  REQUIRE(i8(KOp::kRem, -7, 2) == -1);
  REQUIRE(i8(KOp::kDiv, -128, -1) == -128);
  REQUIRE(i8(KOp::kShr, -128, 1) == -64);
  REQUIRE(u8(KOp::kShr, 128, 1) == 64);
  REQUIRE(i8(KOp::kShl, 64, 1) == -128);
  REQUIRE(evaluate_op(KOp::kLt, DType::kUInt64, ~LaneBits{0}, 1, 0) == 0);
  REQUIRE(evaluate_op(KOp::kLt, DType::kInt64, ~LaneBits{0}, 1, 0) == 1);
}

TEST_CASE("casts truncate, saturate, wrap and test") {
  const auto cast = [](double x, DType to) {
    return static_cast<int64_t>(evaluate_cast(f32(x), DType::kFloat32, to));
  };
  REQUIRE(cast(-2.75, DType::kInt32) == -2);
  REQUIRE(cast(1e20, DType::kInt32) == std::numeric_limits<int32_t>::max());
  REQUIRE(cast(-5, DType::kUInt8) == 0);
  REQUIRE(cast(std::nan(""), DType::kInt64) == 0);
  REQUIRE(cast(0.25, DType::kBool) == 1);
  REQUIRE(static_cast<int64_t>(evaluate_cast(300, DType::kInt32, DType::kUInt8)) == 44);
  REQUIRE(evaluate_cast(256, DType::kInt32, DType::kBool) == 1);
  REQUIRE(back(evaluate_cast(static_cast<LaneBits>(-3), DType::kInt32, DType::kFloat32)) == -3);
  REQUIRE(back(evaluate_cast(~LaneBits{0}, DType::kUInt64, DType::kFloat32)) == 0x1p64);
  // 1 + 2^-11 lies between two f16: ties go to even.
  const LaneBits half = evaluate_cast(f32(1 + 0x1p-11), DType::kFloat32, DType::kFloat16);
  REQUIRE(half == 0x3c00);
  REQUIRE(back(evaluate_cast(0x7bff, DType::kFloat16, DType::kFloat32)) == 65504);
  REQUIRE(evaluate_cast(f32(1.0), DType::kFloat32, DType::kBFloat16) == 0x3f80);
  REQUIRE(evaluate_bitcast(f32(1.0), DType::kFloat32, DType::kInt32) == 0x3f800000);
  REQUIRE(static_cast<int64_t>(evaluate_bitcast(f32(-0.0), DType::kFloat32, DType::kInt32)) ==
          std::numeric_limits<int32_t>::min());
}

TEST_CASE("floats round once an operation") {
  REQUIRE(value("fma(16777216.0, 16777216.0, 1.0)") == 0x1p48f);
  const LaneBits e = f32(1 + 0x1p-12);
  const LaneBits fused = evaluate_op(KOp::kFma, DType::kFloat32, e, e, f32(-1));
  REQUIRE(back(fused) == 0x1p-11 + 0x1p-24);
  REQUIRE(back(evaluate_op(KOp::kRound, DType::kFloat32, f32(2.5), 0, 0)) == 2);
  REQUIRE(back(evaluate_op(KOp::kRem, DType::kFloat32, f32(-5.5), f32(2), 0)) == -1.5);
  REQUIRE(back(evaluate_op(KOp::kSelect, DType::kFloat32, 1, f32(3), f32(4))) == 3);
}

TEST_CASE("an access outside of its array is refused, not made") {
  const Kernel kernel = parsed(
      "kernel \"k\" threads 1 {\n  param n: i64[2]\n"
      "  param o: f32[8] writable\n  store(o, load(n, 0), 1.0)\n}\n");
  for (const int64_t index : {int64_t{-1}, int64_t{8}, std::numeric_limits<int64_t>::max()}) {
    int64_t n[2] = {index, 0};
    float o[8] = {};
    void* params[] = {n, o};
    REQUIRE(interpret_kernel(kernel, params, 0, 1).code() == camshaft::base::Code::kInternal);
    REQUIRE_THAT(last_sentence(), Catch::Contains("outside of its 8 elements"));
  }
}
