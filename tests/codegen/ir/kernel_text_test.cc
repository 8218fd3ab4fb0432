// SPDX-License-Identifier: MIT
// The printer and the parser.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "codegen/ir/kernel_passes.h"
#include "tests/codegen/ir/kernel_testing.h"
#include "tests/support/last_sentence.h"

using namespace camshaft::ir;
using camshaft::test::last_sentence;

namespace {

std::string round_trip(const std::string& text) {
  const auto kernel = parse_kernel(text);
  REQUIRE(kernel.has_value());
  return print_kernel(*kernel);
}

// Parses to an error that says `expected`.
void refuses(const std::string& body, const std::string& expected) {
  const std::string text =
      "kernel \"k\" threads 1 {\n  param a: f32[8] writable\n" + body + "\n}\n";
  const auto kernel = parse_kernel(text);
  INFO(body);
  REQUIRE(!kernel.has_value());
  REQUIRE(kernel.error().code() == camshaft::base::Code::kInvalidArgument);
  REQUIRE_THAT(last_sentence(), Catch::Contains(expected));
}

}  // namespace

TEST_CASE("every form of the kernel text comes back as it was") {
  const std::string text = R"(kernel "all_forms" threads 4 {
  param a: f32[64] may_alias out
  param n: i64[64]
  param h: f16[64]
  param out: f32[64] writable
  param flags: bool[64] writable
  param out_h: bf16[64] writable
  local tmp: f64[8]
  let twice: i64 = load(n, 0) * 2
  for t in 0..4 thread {
    for i in 0..8 serial {
      for j in i..8 range 0..9 serial {
        if j < i | load(flags, j) == true {
          store(tmp, j, 0.1f64)
        }
      }
    }
    for u in -2..2 unrolled {
      for v in 0..8 vector {
        store(out, v, select(u < v, -0.0, min(load(a, v), max(1e-20, load(a, 3)))))
      }
    }
    let wide: f32x8 = load(a, 0, 8) * broadcast(2.0, 8) + cast(load(h, ramp(0, 2, 8)), f32)
    let sum: f32 = reduce_add(wide) - reduce_max(wide) / reduce_min(wide)
    store(out, ramp(8, 3, 8), fma(wide, wide, broadcast(sum, 8)))
    store(flags, 0, false & true ^ 1u8 <= 2u8)
    store(out_h, t, cast(sum % 1.5, bf16))
    prefetch(a, t * 16)
    store(out, t, bitcast(bitcast(sum, i32) << 3i32 >> 1i32, f32) + (1.0 - (2.0 - 3.0)))
    store(out, t + 4, sqrt(abs(neg(floor(ceil(round(exp(log(sin(cos(tanh(erf(sigmoid(pow(sum, inf)))))))))))))))
    store(tmp, 0, nan_f64 + -inf_f64 * 18446744073709551615u64)
  }
}
)";
  // The last line mixes types; as it stands it is refused, and all others are fine.
  REQUIRE(!parse_kernel(text).has_value());
  std::string fixed = text;
  fixed.replace(fixed.find("* 18446744073709551615u64"), 25,
                "* cast(18446744073709551615u64, f64)");
  REQUIRE(round_trip(fixed) == fixed);
  REQUIRE(verify_kernel(*parse_kernel(fixed)).is_ok());
}

TEST_CASE("random kernels come back from text, before and after the passes") {
  for (uint32_t seed = 1000; seed < 1100; ++seed) {
    const Kernel kernel = RandomKernel(seed).make();
    for (const Kernel& printed : {kernel, prepare_kernel(kernel, 8, MathSupport())}) {
      const std::string text = print_kernel(printed);
      INFO(text);
      const auto parsed = parse_kernel(text);
      REQUIRE(parsed.has_value());
      REQUIRE(verify_kernel(*parsed).is_ok());
      REQUIRE(print_kernel(*parsed) == text);
      const Memory memory = random_memory(kernel, seed);
      const bool same = run_kernel(*parsed, memory) == run_kernel(printed, memory);
      REQUIRE(same);
    }
  }
}

TEST_CASE("expansions with much sharing print short and come back") {
  Kernel kernel;
  const ArrayId a = kernel.add_param("a", DType::kFloat32, 8, true);
  const ExprId x = kernel.load(a, kernel.int_const(0));
  const ExprId y = kernel.binary(KOp::kPow, kernel.unary(KOp::kErf, x), kernel.unary(KOp::kSin, x));
  kernel.body = {make_store(a, kernel.int_const(0), y)};
  kernel = decompose_math(std::move(kernel), MathSupport());
  const std::string text = print_kernel(kernel);
  REQUIRE(text.size() < 40000);
  REQUIRE(round_trip(text) == text);
}

TEST_CASE("a deep expression neither overflows the printer nor the parser") {
  Kernel kernel;
  const ArrayId a = kernel.add_param("a", DType::kFloat32, 8, true);
  ExprId x = kernel.load(a, kernel.int_const(0));
  for (int i = 0; i < 20000; ++i) x = kernel.sub(kernel.float_const(i), x);
  kernel.body = {make_store(a, kernel.int_const(0), x)};
  const std::string text = print_kernel(kernel);
  REQUIRE(round_trip(text) == text);
  REQUIRE(verify_kernel(kernel).is_ok());
  const Kernel ready = prepare_kernel(kernel, 8, MathSupport());
  const Memory memory = random_memory(kernel, 1);
  const bool same = run_kernel(ready, memory) == run_kernel(kernel, memory);
  REQUIRE(same);
}

TEST_CASE("names become distinct identifiers") {
  Kernel kernel;
  kernel.name = "names";
  const ArrayId a = kernel.add_param("conv/weight:0", DType::kFloat32, 8, true);
  kernel.add_param("conv_weight_0", DType::kFloat32, 8, false);
  const VarId i = kernel.add_loop_var("for", 0, 7);
  const VarId j = kernel.add_loop_var("3", 0, 7);
  kernel.body = {make_for(i, kernel.int_const(0), kernel.int_const(8), LoopKind::kSerial,
                          {make_for(j, kernel.int_const(0), kernel.int_const(8), LoopKind::kSerial,
                                    {make_store(a, kernel.var(i), kernel.float_const(1))})})};
  const std::string text = print_kernel(kernel);
  REQUIRE_THAT(text, Catch::Contains("param conv_weight_0_1:"));
  REQUIRE(round_trip(text) == text);
}

TEST_CASE("every float prints exactly") {
  Kernel kernel;
  const ArrayId a = kernel.add_param("a", DType::kFloat32, 8, true);
  const ArrayId b = kernel.add_param("b", DType::kFloat64, 8, true);
  for (const double value : {0.0, -0.0, 0.1, 1e-45, 3.4028234663852886e38, 1e10, -1.0,
                             std::numeric_limits<double>::infinity()}) {
    kernel.body.push_back(make_store(a, kernel.int_const(0), kernel.float_const(value)));
  }
  for (const double value : {5e-324, 0.1, -1e300, std::nan("")}) {
    kernel.body.push_back(
        make_store(b, kernel.int_const(0), kernel.float_const(value, DType::kFloat64)));
  }
  const auto parsed = parse_kernel(print_kernel(kernel));
  REQUIRE(parsed.has_value());
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    REQUIRE(parsed->expr(parsed->body[i].value) == kernel.expr(kernel.body[i].value));
  }
}

TEST_CASE("broken text is refused with a line and a reason") {
  refuses("store(b, 0, 1.0)", "there is no array b");
  refuses("store(a, 0, 1.0", "expected ')'");
  refuses("store(a, i, 1.0)", "there is no variable i");
  refuses("store(a, 0, sqroot(1.0))", "there is no op sqroot");
  refuses("store(a, 0, 1.0 + 1)", "operands of different types");
  refuses("store(a, 0, load(a, 1.0))", "an index is i64");
  refuses("store(a, 0, 1.0f16)", "is no f16 number");
  refuses("store(a, 0, 300u8)", "is no u8 number");
  refuses("store(a, 0, 1.0q)", "is no");
  refuses("store(a, 0, $3)", "$3 is not defined");
  refuses("let x: f64 = 1.0", "declared f64 but its value is f32");
  refuses("let x: f32x3 = 1.0", "'f32x3' is no type");
  refuses("let x: f32x4 = broadcast(1.0, 3)", "power of two");
  refuses("for i in 0..8 sideways {\n}", "no kind of loop");
  refuses("for i in 0..8 serial {\n}\nstore(a, i, 1.0)", "there is no variable i");
  refuses("jump", "starts no statement");
  refuses("param b: f32[8]\nlocal l: f32[8]\nparam c: f32[8]", "follows a local array");
  refuses("param a: f32[8]", "declared twice");
  refuses("store(a, 0, 99999999999999999999)", "is no i64 number");
  refuses("store(a, 0, \"x\")", "expected an expression");
  refuses("store(a, 0, " + std::string(5000, '(') + ")", "nested too deeply");
  REQUIRE(!parse_kernel("").has_value());
  REQUIRE(!parse_kernel("kernel \"k\" threads 1 {\n} more").has_value());
  refuses("store(a, 0, 1.0)\n\nstore(a, 0, ?)", "line 5");
}

TEST_CASE("text cut or changed anywhere is parsed or refused, never worse") {
  const std::string text = print_kernel(prepare_kernel(RandomKernel(7).make(), 8, MathSupport()));
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 1200; ++i) {
    std::string changed = text;
    changed[random() % changed.size()] = static_cast<char>(32 + random() % 96);
    if (i % 3 == 0) changed.resize(random() % changed.size());
    const auto kernel = parse_kernel(changed);
    refused += !kernel.has_value();
    if (kernel.has_value()) (void)verify_kernel(*kernel).is_ok();
  }
  REQUIRE(refused > 400);
}
