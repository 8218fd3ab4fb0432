// SPDX-License-Identifier: MIT
// The verifier: a sound kernel passes, and each way of breaking it is refused for its own reason.
#include <catch2/catch.hpp>

#include "codegen/ir/kernel.h"
#include "tests/support/last_sentence.h"

using namespace camshaft::ir;
using camshaft::test::last_sentence;

namespace {

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel(text);
  REQUIRE(kernel.has_value());
  return std::move(*kernel);
}

// Statements around which there are arrays and a thread loop.
Kernel around(const std::string& body) {
  return parsed(R"(kernel "k" threads 4 {
  param a: f32[64]
  param n: i64[64]
  param out: f32[64] writable
  local tmp: f32[8]
  for t in 0..4 thread {
)" + body + "\n  }\n}\n");
}

void refuses(const Kernel& kernel, const std::string& expected) {
  INFO(expected);
  REQUIRE(verify_kernel(kernel).code() == camshaft::base::Code::kInternal);
  REQUIRE_THAT(last_sentence(), Catch::Contains(expected));
}
void refuses(const std::string& body, const std::string& expected) {
  refuses(around(body), expected);
}
void accepts(const std::string& body) {
  INFO(body);
  REQUIRE(verify_kernel(around(body)).is_ok());
}

// A kernel that is right, to be broken by the builder's means.
struct Sound {
  Kernel k;
  ArrayId a, out;
  VarId i;

  Sound() {
    a = k.add_param("a", DType::kFloat32, 64, false);
    out = k.add_param("out", DType::kFloat32, 64, true);
    i = k.add_loop_var("i", 0, 63);
    k.body = {make_for(i, k.int_const(0), k.int_const(64), LoopKind::kSerial,
                       {make_store(out, k.var(i), k.load(a, k.var(i)))})};
    REQUIRE(verify_kernel(k).is_ok());
  }
  Stmt& store() { return k.body[0].body[0]; }
};

}  // namespace

TEST_CASE("sound kernels pass") {
  accepts("store(out, t, load(a, t))");
  accepts("if t < 3 {\n store(out, t + 61, 1.0)\n}");
  accepts("for i in 0..0 serial {\n store(out, 99, 1.0)\n}");
  accepts("for i in t..64 range 0..63 serial {\n store(out, i, 1.0)\n}");
  accepts("for i in 0..8 vector {\n for u in 0..2 unrolled {\n store(tmp, i, 1.0)\n}\n}");
  accepts("store(out, load(n, t), 1.0)");  // only the run can tell
  accepts("prefetch(a, t * 21)");
  accepts("let x: f32x8 = load(a, 56, 8)\nstore(out, ramp(0, 9, 8), x)");
}

TEST_CASE("prefetches are of elements that exist, one at a time") {
  refuses("prefetch(a, t * 22)", "prefetch of a at 0..66 leaves its 64 elements");
  refuses("prefetch(a, ramp(0, 1, 8))", "a prefetch of a has a wrong index type");
  refuses("prefetch(a, 1i32)", "a prefetch of a has a wrong index type");
  refuses("for i in 0..8 vector {\n prefetch(a, i)\n}", "a prefetch is inside a vector loop");
  Sound sound;
  sound.store() = make_prefetch(7, sound.k.int_const(0));
  refuses(sound.k, "a prefetch is of an array that does not exist");
}

TEST_CASE("accesses that leave their array are refused") {
  refuses("store(out, t + 61, 1.0)", "store to out at 61..64 leaves its 64 elements");
  refuses("store(out, t - 1, 1.0)", "store to out at -1..2");
  refuses("store(tmp, 8, 1.0)", "store to tmp");
  refuses("store(out, t, load(a, t * 30))", "load from a at 0..90");
  refuses("let x: f32x8 = load(a, 57, 8)", "load from a at 57..57 x8");
  refuses("let x: f32x8 = load(a, ramp(t, 9, 8))", "load from a at 0..66");
  refuses("if t < 3 {\n store(out, t + 64, 1.0)\n}", "store to out at 64..67");
  refuses("store(out, t, select(t < 0, load(a, 64), 1.0))", "load from a at 64..64");
}

TEST_CASE("statements that break a rule of types are refused") {
  refuses("store(out, t, 1.0f64)", "another dtype");
  refuses("store(a, t, 1.0)", "read-only parameter a");
  refuses("store(out, 0i32, 1.0)", "wrong index type");
  refuses("store(out, ramp(0, 1, 4), broadcast(1.0, 8))", "wrong index type");
  refuses("if 1 {\n}", "not a scalar bool");
  refuses("for i in 0..8i32 serial {\n}", "not scalar i64");
}

TEST_CASE("loops that break a rule are refused") {
  refuses("for i in 0..t range 0..3 unrolled {\n}", "no constant bounds");
  refuses("for i in 0..t range 0..3 vector {\n}", "no constant bounds");
  refuses("for i in 0..8 range 0..6 serial {\n}", "leaves the range of its variable");
  refuses("for i in 0..8 vector {\n if t < 1 {\n}\n}", "an If is inside a vector loop");
  refuses("for i in 0..8 vector {\n barrier\n}", "a barrier is inside a vector loop");
  refuses("for i in 0..8 vector {\n for j in 0..8 vector {\n}\n}", "neither serial nor unrolled");
  refuses("for i in 0..8 vector {\n let x: f32x8 = load(a, 0, 8)\n}", "computes on lanes");
  refuses("for u in 0..4 thread {\n}", "not the outermost");
  const char* kTwo = "for t in 0..4 thread {\n}\nfor u in 0..4 thread {\n}";
  refuses(parsed(std::string("kernel \"k\" threads 4 {\n") + kTwo + "\n}"),
          "beside the thread loop");
  refuses(parsed("kernel \"k\" threads 4 {\n for t in 0..5 thread {\n}\n}"), "thread extent");
  refuses(parsed("kernel \"k\" threads 4 {\n}"), "no thread loop");
  refuses(parsed("kernel \"k\" threads 0 {\n}"), "below 1");
  refuses(parsed("kernel \"k\" threads 4 {\n param o: f32[8] writable\n store(o, 0, 1.0)\n"
                 "for t in 0..4 thread {\n}\n}"),
          "beside the thread loop");
}

TEST_CASE("arrays that break a rule are refused") {
  refuses(parsed("kernel \"k\" threads 1 {\n param a: f32[8] may_alias b\n param b: f32[8]\n}"),
          "other than a writable parameter");
  refuses(parsed("kernel \"k\" threads 1 {\n param b: f32[8] writable may_alias b\n}"),
          "other than a writable parameter");
  refuses(parsed("kernel \"k\" threads 1 {\n param b: f32[-1]\n}"), "negative size");
}

TEST_CASE("what the builder refuses, the verifier finds in raw expressions") {
  Sound s;
  Expr wrong;
  wrong.op = KOp::kAdd;
  wrong.type = {DType::kFloat32, 1};
  wrong.args[0] = s.store().value;
  wrong.args[1] = s.k.var(s.i);
  s.store().value = s.k.intern(wrong);
  refuses(s.k, "add: operands of different types");
  Sound zero;
  Expr division;
  division.op = KOp::kDiv;
  division.type = {DType::kInt64, 1};
  division.args[0] = zero.k.var(zero.i);
  division.args[1] = zero.k.int_const(0);
  zero.store().index = zero.k.intern(division);
  refuses(zero.k, "divided by 0");
}

TEST_CASE("variables out of scope or defined twice are refused") {
  Sound outside;
  outside.k.body.push_back(
      make_store(outside.out, outside.k.var(outside.i), outside.store().value));
  refuses(outside.k, "variable i is used outside of its scope");
  Sound twice;
  twice.k.body.push_back(twice.k.body[0]);
  refuses(twice.k, "variable i is defined twice");
  Sound early;
  const VarId x = early.k.add_let_var("x", ValueType{DType::kFloat32, 1});
  early.store().value = early.k.var(x);
  early.k.body[0].body.push_back(make_let(x, early.k.float_const(1)));
  refuses(early.k, "variable x is used outside of its scope");
  Sound wrong;
  const VarId y = wrong.k.add_let_var("y", ValueType{DType::kFloat64, 1});
  wrong.k.body[0].body.push_back(make_let(y, wrong.k.float_const(1)));
  refuses(wrong.k, "another type than its definition");
  Sound missing;
  missing.k.body[0].var = 99;
  refuses(missing.k, "does not exist");
}

TEST_CASE("statements with missing or wrong parts are refused") {
  Sound no_value;
  no_value.store().value = kNoExpr;
  refuses(no_value.k, "lacks an expression");
  Sound too_many;
  too_many.store().condition = too_many.k.int_const(1, DType::kBool);
  refuses(too_many.k, "lacks an expression");
  Sound stray;
  stray.store().value = ExprId{12345};
  refuses(stray.k, "does not exist");
  Sound no_array;
  no_array.store().array = 7;
  refuses(no_array.k, "array that does not exist");
}
