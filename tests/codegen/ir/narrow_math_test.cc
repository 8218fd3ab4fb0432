// SPDX-License-Identifier: MIT
// Sigmoid where the result is stored as bf16, over all numbers that bf16 has, against long double.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_rewrite.h"

using namespace camshaft::ir;

namespace {

constexpr int64_t kNumbers = 1 << 16;
constexpr int32_t kLanes = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Those of kernel_passes.h.
const double kBound = std::exp2(-10.2);
constexpr float kLowest = -86;

using Function = std::function<ExprId(Kernel&, ExprId x)>;

ExprId sigmoid(Kernel& kernel, ExprId x) {
  return kernel.unary(KOp::kSigmoid, x);
}
ExprId silu(Kernel& kernel, ExprId x) {
  return kernel.mul(x, sigmoid(kernel, x));
}

// out[i] = function(x[i]) for all 16-bit i, as bf16 or f32.
Kernel kernel_of(const Function& function, DType out_dtype, bool fma, bool rounds_wide = true) {
  Kernel kernel;
  const ArrayId x = kernel.add_param("x", DType::kBFloat16, kNumbers, false);
  const ArrayId out = kernel.add_param("out", out_dtype, kNumbers, true);
  kernel.thread_extent = kNumbers / kLanes;
  const VarId t = kernel.add_loop_var("t", 0, kernel.thread_extent - 1);
  const ExprId at = kernel.mul(kernel.var(t), kLanes);
  const ExprId wide = kernel.cast(kernel.load(x, at, kLanes), DType::kFloat32);
  kernel.body = {make_for(t, kernel.int_const(0), kernel.int_const(kernel.thread_extent),
                          LoopKind::kThread,
                          {make_store(out, at, kernel.cast(function(kernel, wide), out_dtype))})};
  MathSupport support;
  support.fma = fma;
  support.rounds_wide = rounds_wide;
  kernel = decompose_math(std::move(kernel), support);
  REQUIRE(verify_kernel(kernel).is_ok());
  return kernel;
}

float widened(uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

std::vector<float> results(const Kernel& kernel) {
  std::vector<uint16_t> x(kNumbers);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
  std::vector<uint16_t> halves(kNumbers);
  std::vector<float> floats(kNumbers);
  const bool is_half = kernel.array(1).dtype == DType::kBFloat16;
  void* params[] = {x.data(), is_half ? static_cast<void*>(halves.data()) : floats.data()};
  REQUIRE(interpret_kernel(kernel, params, 0, kernel.thread_extent).is_ok());
  for (size_t i = 0; i < floats.size() && is_half; ++i) floats[i] = widened(halves[i]);
  return floats;
}

long double exact_sigmoid(long double x) {
  return 1 / (1 + expl(-x));
}

// The relative error of what was stored, less the most that rounding it to bf16 accounts for.
double error_before_store(float stored, long double exact) {
  int exponent = 0;
  std::frexp(static_cast<double>(exact), &exponent);
  const long double half_unit = std::ldexp(1.0L, exponent - 9);
  const long double rest = std::fabs(stored - exact) - half_unit;
  return static_cast<double>(rest / std::fabs(exact));
}

double worst_error(const Kernel& kernel, long double (*reference)(long double)) {
  const std::vector<float> out = results(kernel);
  double worst = 0;
  for (uint32_t i = 0; i < kNumbers; ++i) {
    const float x = widened(i);
    if (std::isnan(x) || x < kLowest || x == 0 || x == kInfinity) continue;
    // Results that are denormals are rounded to units of another size.
    const long double exact = reference(x);
    if (std::fabs(exact) < std::numeric_limits<float>::min()) continue;
    if (std::isnan(out[i])) return kInfinity;
    worst = std::max(worst, error_before_store(out[i], exact));
  }
  return worst;
}

long double exact_silu(long double x) {
  return x * exact_sigmoid(x);
}

bool uses(const Kernel& kernel, KOp op) {
  for (const ExprId id : reachable_exprs(kernel, {kernel.body[0].body[0].value})) {
    if (kernel.expr(id).op == op) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("sigmoid for a bf16 store is within its bound for every number") {
  for (const bool fma : {true, false}) {
    INFO("fma " << fma);
    const Kernel kernel = kernel_of(sigmoid, DType::kBFloat16, fma);
    CHECK(!uses(kernel, KOp::kDiv));
    const double worst = worst_error(kernel, exact_sigmoid);
    CHECK(worst <= kBound);
    CHECK(worst > kBound / 4);  // the bound is not idle
    const std::vector<float> out = results(kernel);
    for (uint32_t i = 0; i < kNumbers; ++i) {
      const float x = widened(i);
      INFO("x " << x << " gives " << out[i]);
      if (std::isnan(x)) REQUIRE(std::isnan(out[i]));
      if (x < kLowest) REQUIRE((out[i] >= 0 && out[i] <= 0x1p-123f));
      if (x == 0) REQUIRE(out[i] == 0.5f);
      if (x == kInfinity) REQUIRE(out[i] == 1);
    }
  }
}

TEST_CASE("x * sigmoid(x) for a bf16 store is within its bound for every number") {
  for (const bool fma : {true, false}) {
    INFO("fma " << fma);
    const Kernel kernel = kernel_of(silu, DType::kBFloat16, fma);
    CHECK(!uses(kernel, KOp::kDiv));
    CHECK(worst_error(kernel, exact_silu) <= kBound);
    const std::vector<float> out = results(kernel);
    for (uint32_t i = 0; i < kNumbers; ++i) {
      const float x = widened(i);
      INFO("x " << x << " gives " << out[i]);
      if (std::isnan(x)) REQUIRE(std::isnan(out[i]));
      if (x < kLowest) REQUIRE((out[i] <= 0 && out[i] >= -0x1p-116f));
      if (x == 0) REQUIRE((out[i] == 0 && std::signbit(out[i]) == std::signbit(x)));
      if (x == kInfinity) REQUIRE(out[i] == kInfinity);
    }
  }
}

TEST_CASE("only what is stored as bf16, by way of factors, is narrow") {
  const auto sum = [](Kernel& kernel, ExprId x) { return kernel.add(x, sigmoid(kernel, x)); };
  const auto scaled = [](Kernel& kernel, ExprId x) {
    const ExprId product =
        kernel.mul(kernel.splat(3, {DType::kFloat32, kLanes}), sigmoid(kernel, x));
    const ExprId is_positive =
        kernel.binary(KOp::kLt, kernel.splat(0, {DType::kFloat32, kLanes}), x);
    return kernel.select(is_positive, kernel.unary(KOp::kNeg, product), x);
  };
  CHECK(uses(kernel_of(sigmoid, DType::kFloat32, true), KOp::kDiv));
  CHECK(uses(kernel_of(silu, DType::kFloat16, true), KOp::kDiv));
  CHECK(uses(kernel_of(sum, DType::kBFloat16, true), KOp::kDiv));
  CHECK(!uses(kernel_of(scaled, DType::kBFloat16, true), KOp::kDiv));
  // What feeds a narrow function is as exact as ever: here a sigmoid of a sigmoid.
  const auto twice = [](Kernel& kernel, ExprId x) { return sigmoid(kernel, sigmoid(kernel, x)); };
  CHECK(uses(kernel_of(twice, DType::kBFloat16, true), KOp::kDiv));
  const auto gated = [](Kernel& kernel, ExprId x) {
    const ExprId gate = sigmoid(kernel, x);
    return kernel.mul(gate, sigmoid(kernel, gate));
  };
  CHECK(worst_error(kernel_of(gated, DType::kBFloat16, true),
                    [](long double x) { return exact_silu(exact_sigmoid(x)); }) <= kBound);
}

TEST_CASE("what is rounded and stored wide is narrow, and rounded unless that is waived") {
  const auto rounded = [](Kernel& kernel, ExprId x) {
    const ExprId half = kernel.cast(sigmoid(kernel, x), DType::kBFloat16);
    return kernel.cast(half, DType::kFloat32);
  };
  const auto low_bits = [](const std::vector<float>& values) {
    int count = 0;
    for (const float value : values) count += (std::bit_cast<uint32_t>(value) & 0xffff) != 0;
    return count;
  };
  const Kernel strict = kernel_of(rounded, DType::kFloat32, true);
  CHECK(!uses(strict, KOp::kDiv));
  CHECK(low_bits(results(strict)) == 0);
  const Kernel waived = kernel_of(rounded, DType::kFloat32, true, /*rounds_wide=*/false);
  CHECK(!uses(waived, KOp::kDiv));
  CHECK(low_bits(results(waived)) > kNumbers / 4);
  CHECK(worst_error(waived, exact_sigmoid) <= kBound);
}

TEST_CASE("the measure of narrow errors measures") {
  CHECK(error_before_store(1.0f, 1.0L) < 0);
  CHECK(error_before_store(1.0f + 0x1p-7f, 1.0L) > 0x1p-9);
  // A sigmoid of another argument, by less than bf16 can tell in most places, is found out.
  const auto shifted = [](Kernel& kernel, ExprId x) {
    return sigmoid(kernel, kernel.mul(x, kernel.splat(1.001, {DType::kFloat32, kLanes})));
  };
  CHECK(worst_error(kernel_of(shifted, DType::kBFloat16, true), exact_sigmoid) > kBound);
}
