// SPDX-License-Identifier: MIT
// Accuracy of decompose_math() against the C library in the next wider format. With
// CAMSHAFT_TEST_LONG set, many more samples.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>

#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_rewrite.h"
#include "codegen/ir/math_builder.h"

using namespace camshaft::ir;

namespace {

constexpr int kLanes = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Wide = long double;

int64_t sample_count() {
  return std::getenv("CAMSHAFT_TEST_LONG") != nullptr ? 4000000 : 100000;
}

// One math op of one dtype, decomposed and run by the interpreter on kLanes numbers at a time.
template <typename T>
class Expansion {
 public:
  Expansion(KOp op, bool fma, int32_t lanes = kLanes) : lanes_(lanes) {
    const DType dtype = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
    Kernel kernel;
    const ArrayId x = kernel.add_param("x", dtype, lanes, false);
    const ArrayId y = kernel.add_param("y", dtype, lanes, false);
    const ArrayId out = kernel.add_param("out", dtype, lanes, true);
    const ExprId zero = kernel.int_const(0);
    const ExprId a = kernel.load(x, zero, lanes);
    const ExprId b = kernel.load(y, zero, lanes);
    const ExprId value = kop_arity(op) == 2 ? kernel.binary(op, a, b) : kernel.unary(op, a);
    kernel.body = {make_store(out, zero, value)};
    MathSupport support;
    support.fma = fma;
    support.rounding = fma && op != KOp::kFloor && op != KOp::kCeil && op != KOp::kRound;
    kernel_ = decompose_math(std::move(kernel), support);
    REQUIRE(verify_kernel(kernel_).is_ok());
  }

  std::vector<T> operator()(const std::vector<T>& x, const std::vector<T>& y) const {
    std::vector<T> out(static_cast<size_t>(lanes_));
    void* params[] = {const_cast<T*>(x.data()), const_cast<T*>(y.data()), out.data()};
    REQUIRE(interpret_kernel(kernel_, params, 0, 1).is_ok());
    return out;
  }
  const Kernel& kernel() const { return kernel_; }

 private:
  Kernel kernel_;
  int32_t lanes_;
};

// The distance from the exact result in units of its last place; huge if NaN, infinity or the sign
// of zero differ.
template <typename T>
double ulp_error(T got, Wide exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (std::isinf(rounded) || std::isinf(got)) {
    // Next to the border of overflow either is right.
    return got == rounded || std::nextafter(got, rounded) == rounded ? 0 : kInfinity;
  }
  if (std::signbit(got) != std::signbit(exact)) return kInfinity;
  if (exact == 0) return got == 0 ? 0 : kInfinity;
  int exponent = 0;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const Wide ulp = std::ldexp(Wide{1}, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - exact) / ulp);
}

using Reference = std::function<Wide(Wide, Wide)>;
template <typename T>
using Sampler = std::function<T(std::mt19937_64&)>;

template <typename T>
T from_random_bits(std::mt19937_64& random) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<T>(static_cast<Bits>(random()));
}
template <typename T>
Sampler<T> between(double lo, double hi) {
  return [=](std::mt19937_64& random) {
    return static_cast<T>(lo + (hi - lo) * static_cast<double>(random() >> 11) * 0x1p-53);
  };
}

// The largest error over samples of x, and of y where the op has one.
template <typename T>
double worst_error(KOp op, bool fma, const Reference& reference, const Sampler<T>& sample_x,
                   const Sampler<T>& sample_y = between<T>(0, 1)) {
  const Expansion<T> expansion(op, fma);
  std::mt19937_64 random(1);
  std::vector<T> x(kLanes), y(kLanes);
  double worst = 0;
  for (int64_t i = 0; i < sample_count(); i += kLanes) {
    for (T& value : x) value = sample_x(random);
    for (T& value : y) value = sample_y(random);
    const std::vector<T> out = expansion(x, y);
    for (size_t lane = 0; lane < out.size(); ++lane) {
      worst = std::max(worst, ulp_error(out[lane], reference(static_cast<Wide>(x[lane]),
                                                             static_cast<Wide>(y[lane]))));
    }
  }
  return worst;
}

Reference unary(Wide (*function)(Wide)) {
  return [=](Wide x, Wide) { return function(x); };
}

// Bounds are those in kernel_passes.h.
template <typename T>
void check(KOp op, const Reference& reference, const std::vector<Sampler<T>>& samplers,
           double bound) {
  for (const bool fma : {true, false}) {
    for (size_t i = 0; i < samplers.size(); ++i) {
      INFO(kop_name(op) << " f" << sizeof(T) * 8 << " fma " << fma << " sampler " << i);
      REQUIRE(worst_error<T>(op, fma, reference, samplers[i]) <= bound);
    }
  }
}

Wide sigmoidl(Wide x) {
  return 1 / (1 + expl(-x));
}

template <typename T>
Sampler<T> bits_up_to(double limit) {
  return [=](std::mt19937_64& random) {
    while (true) {
      const T x = from_random_bits<T>(random);
      if (!std::isfinite(x) || std::fabs(x) <= static_cast<T>(limit)) return x;
    }
  };
}

}  // namespace

TEST_CASE("f32 math is within its bounds") {
  using T = float;
  const Sampler<T> any = from_random_bits<T>;
  check<T>(KOp::kExp, unary(expl), {any, between<T>(-105, 90), between<T>(-1, 1)}, 1.2);
  check<T>(KOp::kLog, unary(logl), {any, between<T>(0.5, 2)}, 1.0);
  check<T>(KOp::kTanh, unary(tanhl), {any, between<T>(-10, 10), between<T>(-1, 1)}, 1.6);
  check<T>(KOp::kErf, unary(erfl), {any, between<T>(-4, 4)}, 1.4);
  check<T>(KOp::kAtan, unary(atanl), {any, between<T>(-4, 4), between<T>(-1.1, 1.1)}, 1.6);
  check<T>(KOp::kSigmoid, unary(sigmoidl), {between<T>(-87.3, 100), between<T>(-4, 4)}, 2.5);
  check<T>(KOp::kSin, unary(sinl), {bits_up_to<T>(1e5), between<T>(-100, 100)}, 1.6);
  check<T>(KOp::kCos, unary(cosl), {bits_up_to<T>(1e5), between<T>(-100, 100)}, 1.6);
}

TEST_CASE("f64 math is within its bounds") {
  using T = double;
  const Sampler<T> any = from_random_bits<T>;
  check<T>(KOp::kExp, unary(expl), {any, between<T>(-746, 711)}, 1.2);
  check<T>(KOp::kLog, unary(logl), {any, between<T>(0.5, 2)}, 1.0);
  check<T>(KOp::kTanh, unary(tanhl), {any, between<T>(-1, 1)}, 2.7);
  check<T>(KOp::kErf, unary(erfl), {any, between<T>(-6, 6)}, 1.4);
  check<T>(KOp::kAtan, unary(atanl), {any, between<T>(-4, 4), between<T>(-1.1, 1.1)}, 1.6);
  check<T>(KOp::kSigmoid, unary(sigmoidl), {between<T>(-708, 710), between<T>(-4, 4)}, 2.5);
  check<T>(KOp::kSin, unary(sinl), {bits_up_to<T>(1e9), between<T>(-1e5, 1e5)}, 1.6);
  check<T>(KOp::kCos, unary(cosl), {bits_up_to<T>(1e9), between<T>(-1e5, 1e5)}, 1.6);
}

TEST_CASE("pow is within its bounds") {
  const Reference reference = [](Wide x, Wide y) { return powl(x, y); };
  for (const bool fma : {true, false}) {
    INFO("fma " << fma);
    REQUIRE(worst_error<float>(KOp::kPow, fma, reference, from_random_bits<float>,
                               from_random_bits<float>) <= 0.6);
    REQUIRE(worst_error<float>(KOp::kPow, fma, reference, between<float>(0, 40),
                               between<float>(-25, 25)) <= 0.6);
    REQUIRE(worst_error<double>(KOp::kPow, fma, reference, from_random_bits<double>,
                                from_random_bits<double>) <= 8);
    REQUIRE(worst_error<double>(KOp::kPow, fma, reference, between<double>(0.9, 1.1),
                                between<double>(-7000, 7000)) <= 8);
  }
}

TEST_CASE("sin and cos beyond their range stay in bounds, or are NaN") {
  for (const KOp op : {KOp::kSin, KOp::kCos}) {
    for (const bool fma : {true, false}) {
      const Expansion<float> expansion(op, fma);
      std::mt19937_64 random(2);
      for (int i = 0; i < 300; ++i) {
        std::vector<float> x(kLanes), y(kLanes);
        for (float& value : x) value = bits_up_to<float>(0x1p49)(random);
        const std::vector<float> out = expansion(x, y);
        for (size_t lane = 0; lane < out.size(); ++lane) {
          if (!std::isfinite(x[lane])) continue;
          const double exact = op == KOp::kSin ? std::sin(static_cast<double>(x[lane]))
                                               : std::cos(static_cast<double>(x[lane]));
          REQUIRE(std::fabs(static_cast<double>(out[lane]) - exact) < 2e-7);
        }
      }
      for (const float out :
           expansion(std::vector<float>(kLanes, 0x1p51f), std::vector<float>(kLanes))) {
        REQUIRE(std::isnan(out));
      }
    }
  }
}

TEST_CASE("rounding without instructions is exact") {
  for (const bool fma : {true, false}) {
    for (const auto& [op, reference] : {std::pair<KOp, Wide (*)(Wide)>{KOp::kFloor, floorl},
                                        {KOp::kCeil, ceill},
                                        {KOp::kRound, nearbyintl}}) {
      INFO(kop_name(op));
      REQUIRE(worst_error<float>(op, fma, unary(reference), from_random_bits<float>) == 0);
      REQUIRE(worst_error<float>(op, fma, unary(reference), between<float>(-5, 5)) == 0);
      REQUIRE(worst_error<double>(op, fma, unary(reference), from_random_bits<double>) == 0);
      REQUIRE(worst_error<double>(op, fma, unary(reference), between<double>(-5, 5)) == 0);
      const Sampler<float> halves = [](std::mt19937_64& random) {
        return static_cast<float>(static_cast<int>(random() % 64) - 32) / 2;
      };
      REQUIRE(worst_error<float>(op, fma, unary(reference), halves) == 0);
    }
  }
}

TEST_CASE("sigmoid of special values, and where it is flushed to 0") {
  const auto f32 = [expansion = Expansion<float>(KOp::kSigmoid, true)](float x) {
    return expansion(std::vector<float>(kLanes, x), std::vector<float>(kLanes))[3];
  };
  const auto f64 = [expansion = Expansion<double>(KOp::kSigmoid, true)](double x) {
    return expansion(std::vector<double>(kLanes, x), std::vector<double>(kLanes))[3];
  };
  const auto infinity = std::numeric_limits<float>::infinity();
  CHECK(f32(infinity) == 1);
  CHECK(f32(-infinity) == 0);
  CHECK(f32(3e38f) == 1);
  CHECK(f32(-3e38f) == 0);
  CHECK(f32(-90) == 0);
  CHECK(f32(-88) == Approx(1 / (1 + std::exp(88.0))));
  CHECK(f32(-0.0f) == 0.5f);
  CHECK(f32(1e-40f) == 0.5f);
  CHECK(f64(kInfinity) == 1);
  CHECK(f64(-kInfinity) == 0);
  CHECK(f64(-711) == 0);
  CHECK(f64(0) == 0.5);
  // NaN stays NaN whatever its bits.
  for (const uint32_t bits : {0x7fc00000u, 0x7fc001ffu, 0xffc00101u, 0x7fffffffu}) {
    CHECK(std::isnan(f32(std::bit_cast<float>(bits))));
  }
  CHECK(std::isnan(f64(std::nan(""))));
}

namespace {

// 1 + erf(x), or that of x / divisor.
Kernel one_plus_erf_kernel(bool fma, bool one_is_first, double divisor) {
  Kernel kernel;
  const ValueType type = {DType::kFloat32, kLanes};
  const ArrayId x = kernel.add_param("x", type.dtype, kLanes, false);
  const ArrayId out = kernel.add_param("out", type.dtype, kLanes, true);
  const ExprId zero = kernel.int_const(0);
  ExprId value = kernel.load(x, zero, kLanes);
  if (divisor != 1) value = kernel.binary(KOp::kDiv, value, kernel.splat(divisor, type));
  const ExprId erf = kernel.unary(KOp::kErf, value);
  const ExprId one = kernel.splat(1, type);
  kernel.body = {make_store(out, zero, one_is_first ? kernel.add(one, erf) : kernel.add(erf, one))};
  MathSupport support;
  support.fma = fma;
  kernel = decompose_math(std::move(kernel), support);
  REQUIRE(verify_kernel(kernel).is_ok());
  return kernel;
}

int64_t quotients(const Kernel& kernel) {
  const std::vector<ExprId> all = reachable_exprs(kernel, {kernel.body[0].value});
  return std::count_if(all.begin(), all.end(),
                       [&](ExprId id) { return kernel.expr(id).op == KOp::kDiv; });
}

}  // namespace

TEST_CASE("1 + erf(x) is one function, as exact as that sum") {
  const double bound = std::exp2(-21);
  std::mt19937_64 random(5);
  for (const bool fma : {false, true}) {
    for (const double divisor : {1.0, 1.41421354}) {
      const Kernel kernel = one_plus_erf_kernel(fma, divisor == 1, divisor);
      CHECK(quotients(kernel) == 1);
      std::vector<float> x(kLanes), out(kLanes);
      void* params[] = {x.data(), out.data()};
      double worst = 0;
      for (int64_t done = 0; done < sample_count(); done += kLanes) {
        for (float& each : x) {
          const float reach = done % 3 == 0 ? 0.1F : done % 3 == 1 ? 4.0F : 20.0F;
          each = between<float>(-reach, reach)(random);
        }
        REQUIRE(interpret_kernel(kernel, params, 0, 1).is_ok());
        for (size_t i = 0; i < x.size(); ++i) {
          const long double exact = 1 + erfl(static_cast<Wide>(x[i]) / static_cast<Wide>(divisor));
          worst = std::max(worst, static_cast<double>(std::fabs(out[i] - exact)));
          // Where it ends, and beyond: what is large may be multiplied by it.
          if (x[i] < -4 * divisor) REQUIRE(out[i] == 0);
        }
      }
      CAPTURE(fma, divisor, std::log2(worst));
      CHECK(worst < bound);
      CHECK(worst > bound / 16);  // it is that sum, and not a better one
    }
  }
}

TEST_CASE("1 + erf(x) of special numbers, and what is another function") {
  const Kernel kernel = one_plus_erf_kernel(true, true, 1);
  const auto of = [&](float number) {
    std::vector<float> x(kLanes, number), out(kLanes);
    void* params[] = {x.data(), out.data()};
    REQUIRE(interpret_kernel(kernel, params, 0, 1).is_ok());
    return out[7];
  };
  CHECK(of(0.0F) == Approx(1).epsilon(1e-7));
  CHECK(of(-0.0F) == Approx(1).epsilon(1e-7));
  CHECK(of(INFINITY) == 2);
  CHECK(of(3e38F) == 2);
  CHECK(of(-INFINITY) == 0);
  CHECK(of(-3e38F) == 0);
  for (const uint32_t bits : {0x7fc00000u, 0x7fc001ffu, 0xffc00101u, 0x7fffffffu}) {
    CHECK(std::isnan(of(std::bit_cast<float>(bits))));
  }
  // By numbers between which its reciprocal is one, too.
  CHECK(quotients(one_plus_erf_kernel(true, true, 1e-35)) == 2);
}

TEST_CASE("exp of what is not positive") {
  for (const bool fma : {false, true}) {
    Kernel kernel;
    const ValueType type = {DType::kFloat32, kLanes};
    const ArrayId from = kernel.add_param("x", type.dtype, kLanes, false);
    const ArrayId to = kernel.add_param("out", type.dtype, kLanes, true);
    const ExprId zero = kernel.int_const(0);
    MathSupport support;
    support.fma = fma;
    MathBuilder m(&kernel, support, type);
    kernel.body = {make_store(to, zero, exp_below_one(m, kernel.load(from, zero, kLanes)))};
    std::vector<float> x(kLanes), out(kLanes);
    void* params[] = {x.data(), out.data()};
    const auto run = [&] { REQUIRE(interpret_kernel(kernel, params, 0, 1).is_ok()); };
    std::mt19937_64 random(6);
    double worst = 0;
    for (int64_t done = 0; done < sample_count(); done += kLanes) {
      for (float& each : x) each = between<float>(done % 2 == 0 ? -1 : -87, 0)(random);
      run();
      for (size_t i = 0; i < x.size(); ++i) {
        const Wide exact = expl(static_cast<Wide>(x[i]));
        const Wide error = std::fabs(out[i] - exact) / exact / (1 + std::fabs(x[i]));
        worst = std::max(worst, static_cast<double>(error));
      }
    }
    CAPTURE(fma, std::log2(worst));
    CHECK(worst < std::exp2(-23));
    CHECK(worst > std::exp2(-27));
    std::fill(x.begin(), x.end(), -88.0F);
    x[0] = 0;
    x[1] = -INFINITY;
    x[2] = -3e38F;
    x[3] = NAN;
    x[4] = std::bit_cast<float>(0x7fc001ffu);
    run();
    CHECK(out[0] == 1);
    CHECK(out[1] == 0);
    CHECK(out[2] == 0);
    CHECK(std::isnan(out[3]));
    CHECK(std::isnan(out[4]));
    CHECK(out[5] == 0);
  }
}

TEST_CASE("special values come out as in C's library") {
  const std::vector<double> specials = {
      0.0,    -0.0,    1,    -1,        0.5,        -0.5,         2,     -2,     3,
      -3,     2.5,     -2.5, kInfinity, -kInfinity, std::nan(""), 1e-40, -1e-40, 1e-45,
      3.4e38, -3.4e38, 88.8, -103.9,    16777217,   0.875};
  const std::pair<KOp, Wide (*)(Wide)> functions[] = {{KOp::kExp, expl},
                                                      {KOp::kLog, logl},
                                                      {KOp::kTanh, tanhl},
                                                      {KOp::kErf, erfl},
                                                      {KOp::kAtan, atanl}};
  for (const auto& [op, reference] : functions) {
    const Expansion<float> f32(op, true);
    const Expansion<double> f64(op, true);
    for (const double special : specials) {
      INFO(kop_name(op) << " of " << special);
      const auto x = static_cast<float>(special);
      REQUIRE(ulp_error(f32(std::vector<float>(kLanes, x), std::vector<float>(kLanes))[5],
                        reference(static_cast<Wide>(x))) < 2);
      REQUIRE(ulp_error(f64(std::vector<double>(kLanes, special), std::vector<double>(kLanes))[5],
                        reference(static_cast<Wide>(special))) < 3);
    }
  }
  const Expansion<float> pow32(KOp::kPow, true);
  const Expansion<double> pow64(KOp::kPow, false);
  for (const double x : specials) {
    for (const double y : specials) {
      INFO("pow of " << x << ", " << y);
      const auto x32 = static_cast<float>(x), y32 = static_cast<float>(y);
      REQUIRE(ulp_error(pow32(std::vector<float>(kLanes, x32), std::vector<float>(kLanes, y32))[5],
                        powl(static_cast<Wide>(x32), static_cast<Wide>(y32))) < 1);
      REQUIRE(ulp_error(pow64(std::vector<double>(kLanes, x), std::vector<double>(kLanes, y))[5],
                        powl(static_cast<Wide>(x), static_cast<Wide>(y))) < 8);
    }
  }
}

TEST_CASE("lanes compute what scalars compute") {
  std::mt19937_64 random(3);
  for (int i = static_cast<int>(KOp::kExp); i <= static_cast<int>(KOp::kPow); ++i) {
    const auto op = static_cast<KOp>(i);
    const Expansion<float> vector(op, true), scalar(op, true, 1);
    std::vector<float> x(kLanes), y(kLanes);
    for (float& value : x) value = between<float>(-20, 20)(random);
    for (float& value : y) value = between<float>(-3, 3)(random);
    const std::vector<float> out = vector(x, y);
    for (size_t lane = 0; lane < out.size(); ++lane) {
      const float alone = scalar({x[lane]}, {y[lane]})[0];
      REQUIRE((alone == out[lane] || (std::isnan(alone) && std::isnan(out[lane]))));
    }
  }
}

TEST_CASE("only what the target lacks is expanded") {
  const auto ops_after = [](const MathSupport& support) {
    Kernel kernel;
    const ArrayId a = kernel.add_param("a", DType::kFloat32, 4, true);
    const ExprId x = kernel.load(a, kernel.int_const(0));
    const ExprId y = kernel.unary(KOp::kExp, kernel.unary(KOp::kFloor, kernel.fma(x, x, x)));
    kernel.body = {make_store(a, kernel.int_const(0), kernel.add(y, kernel.unary(KOp::kTanh, x)))};
    kernel = decompose_math(std::move(kernel), support);
    std::vector<bool> found(kKOpCount);
    for (const ExprId id : reachable_exprs(kernel, {kernel.body[0].value})) {
      found[static_cast<size_t>(kernel.expr(id).op)] = true;
    }
    return found;
  };
  const auto has = [](const std::vector<bool>& ops, KOp op) {
    return ops[static_cast<size_t>(op)];
  };
  const std::vector<bool> none = ops_after({.fma = false, .rounding = false});
  for (const KOp op : {KOp::kFma, KOp::kFloor, KOp::kExp, KOp::kTanh}) REQUIRE(!has(none, op));
  const std::vector<bool> some = ops_after({.fma = true, .rounding = true, .exp = true});
  for (const KOp op : {KOp::kFma, KOp::kFloor, KOp::kExp}) REQUIRE(has(some, op));
  REQUIRE(!has(some, KOp::kTanh));
}

TEST_CASE("the measure of errors measures") {
  REQUIRE(ulp_error(1.0f, 1.0L) == 0);
  REQUIRE(ulp_error(std::nextafter(1.0f, 2.0f), 1.0L) == 1);
  REQUIRE(ulp_error(1e-45f, 0x1p-148L) == 1);
  REQUIRE(ulp_error(1.0f, std::numeric_limits<Wide>::quiet_NaN()) == kInfinity);
  REQUIRE(ulp_error(-0.0f, 0.0L) == kInfinity);
  REQUIRE(ulp_error(std::numeric_limits<float>::max(), 1e39L) == 0);
  REQUIRE(ulp_error(1.0f, 1e39L) == kInfinity);
  // And a sloppier exp is found out: one with the last bits of its argument gone.
  const Reference sloppy = [](Wide x, Wide) { return expl(x * (1 + 0x1p-20L)); };
  REQUIRE(worst_error<float>(KOp::kExp, true, sloppy, between<float>(-80, 80)) > 100);
}
