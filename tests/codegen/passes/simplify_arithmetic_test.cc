// SPDX-License-Identifier: MIT
#include <cmath>

#include "tests/codegen/support/pass_testing.h"

namespace camshaft::passes {
namespace {

// A graph over inputs %x and %z that ends in `nodes`, whose last one is %y.
std::string over(const std::string& type, const std::string& nodes) {
  return "%x = input \"x\" : " + type + "\n%z = input \"z\" : " + type + "\n" + nodes +
         "\noutput \"y\" = %y";
}
void check_f32(const std::string& before, const std::string& after) {
  check_rewrite(simplify_arithmetic, over("f32[2]", before), over("f32[2]", after));
}
// The result is %x itself.
void check_gives_x(const std::string& type, const std::string& before) {
  check_rewrite(
      simplify_arithmetic, over(type, before),
      "%x = input \"x\" : " + type + "\n%z = input \"z\" : " + type + "\noutput \"y\" = %x");
}
void check_kept(const std::string& type, const std::string& nodes) {
  check_unchanged(simplify_arithmetic, over(type, nodes));
}

TEST_CASE("neutral operands vanish") {
  check_gives_x("f32[2]", "%c = constant {0, 0} : f32[2]\n%y = add(%x, %c)");
  check_gives_x("f32[2]", "%c = constant {0, 0} : f32[2]\n%y = add(%c, %x)");
  check_gives_x("f32[2]", "%c = constant {0, 0} : f32[2]\n%y = sub(%x, %c)");
  check_gives_x("f32[2]", "%c = constant {1, 1} : f32[2]\n%y = mul(%c, %x)");
  check_gives_x("i32[2]", "%c = constant {1, 1} : i32[2]\n%y = div(%x, %c)");
  // Behind a Broadcast and a Reshape.
  check_gives_x("f32[2]",
                "%c = constant {1} : f32[]\n%r = reshape(%c) {shape=[1]}\n"
                "%b = broadcast(%r) {shape=[2]}\n%y = mul(%x, %b)");
  check_gives_x("f32[2]", "%c = constant {1, 1} : f32[2]\n%y = pow(%x, %c)");
  check_gives_x("bool[2]", "%c = constant {1, 1} : bool[2]\n%y = and(%x, %c)");
  check_gives_x("bool[2]", "%c = constant {0, 0} : bool[2]\n%y = or(%x, %c)");
  check_gives_x("u8[2]", "%c = constant {255, 255} : u8[2]\n%y = and(%x, %c)");
  check_gives_x("i8[2]", "%c = constant {0, 0} : i8[2]\n%y = xor(%c, %x)");
}

TEST_CASE("operands that are almost neutral stay") {
  check_kept("f32[2]", "%c = constant {0, 1} : f32[2]\n%y = add(%x, %c)");
  check_kept("f32[2]", "%c = constant {1, 1.0000001} : f32[2]\n%y = mul(%x, %c)");
  check_kept("f32[2]", "%c = constant {1, 1} : f32[2]\n%y = div(%c, %x)");
  check_kept("f32[2]", "%c = constant {nan, nan} : f32[2]\n%y = add(%x, %c)");
  check_kept("f32[2]", "%c = constant {0, 0} : f32[2]\n%y = mul(%x, %c)");  // NaN * 0
  check_kept("f32[2]", "%y = sub(%x, %x)");                                 // inf - inf
  check_kept("u8[2]", "%c = constant {127, 127} : u8[2]\n%y = and(%x, %c)");
}

TEST_CASE("integers times zero are zero") {
  check_rewrite(simplify_arithmetic,
                over("i32[2]", "%c = constant {0, 0} : i32[2]\n%y = mul(%x, %c)"),
                over("i32[2]", "%c = constant {0} : i32[1]\n%y = broadcast(%c) {shape=[2]}"));
}

TEST_CASE("signs are joined with sums and products") {
  check_gives_x("f32[2]", "%n = neg(%x)\n%y = neg(%n)");
  check_gives_x("bool[2]", "%n = not(%x)\n%y = not(%n)");
  check_f32("%n = neg(%z)\n%y = add(%x, %n)", "%y = sub(%x, %z)");
  check_f32("%n = neg(%z)\n%y = add(%n, %x)", "%y = sub(%x, %z)");
  check_f32("%n = neg(%z)\n%y = sub(%x, %n)", "%y = add(%x, %z)");
  check_f32("%a = neg(%x)\n%b = neg(%z)\n%y = mul(%a, %b)", "%y = mul(%x, %z)");
  check_f32("%a = sub(%x, %z)\n%y = neg(%a)", "%y = sub(%z, %x)");
  check_f32("%c = constant {0, 0} : f32[2]\n%y = sub(%c, %x)", "%y = neg(%x)");
  check_f32("%c = constant {-1, -1} : f32[2]\n%y = mul(%x, %c)", "%y = neg(%x)");
  check_f32("%a = neg(%x)\n%y = abs(%a)", "%y = abs(%x)");
  check_kept("f32[2]", "%a = neg(%x)\n%y = mul(%a, %z)");
}

TEST_CASE("a division by powers of two is an exact product") {
  check_f32("%c = constant {4, -0.5} : f32[2]\n%y = div(%x, %c)",
            "%c = constant {0.25, -2} : f32[2]\n%y = mul(%x, %c)");
  check_f32("%c = constant {8} : f32[1]\n%b = broadcast(%c) {shape=[2]}\n%y = div(%x, %b)",
            "%c = constant {0.125} : f32[1]\n%b = broadcast(%c) {shape=[2]}\n%y = mul(%x, %b)");
  check_kept("f32[2]", "%c = constant {4, 3} : f32[2]\n%y = div(%x, %c)");
  check_kept("f32[2]", "%c = constant {0, 4} : f32[2]\n%y = div(%x, %c)");
  check_kept("f32[2]", "%c = constant {inf, 4} : f32[2]\n%y = div(%x, %c)");
  check_kept("f32[2]", "%c = constant {1e-40, 4} : f32[2]\n%y = div(%x, %c)");
  check_kept("i32[2]", "%c = constant {4, 4} : i32[2]\n%y = div(%x, %c)");
}

TEST_CASE("powers with small exponents are arithmetic") {
  const auto power = [](const std::string& exponent) {
    return "%c = constant {" + exponent + ", " + exponent + "} : f32[2]\n%y = pow(%x, %c)";
  };
  check_f32(power("2"), "%y = mul(%x, %x)");
  check_f32(power("3"), "%s = mul(%x, %x)\n%y = mul(%s, %x)");
  check_f32(power("0.5"), "%y = sqrt(%x)");
  check_f32(power("-1"),
            "%c = constant {1} : f32[1]\n%b = broadcast(%c) {shape=[2]}\n%y = div(%b, %x)");
  check_f32(power("-0.5"),
            "%c = constant {1} : f32[1]\n%b = broadcast(%c) {shape=[2]}\n%s = sqrt(%x)\n"
            "%y = div(%b, %s)");
  check_f32(power("0"), "%c = constant {1} : f32[1]\n%y = broadcast(%c) {shape=[2]}");
  check_kept("f32[2]", power("2.5"));
  check_kept("f32[2]", "%c = constant {2, 3} : f32[2]\n%y = pow(%x, %c)");
  check_kept("i32[2]", "%c = constant {-1, -1} : i32[2]\n%y = pow(%x, %c)");
}

TEST_CASE("powers agree with pow to 2 ULP of f32") {
  for (const char* exponent : {"2", "3", "0.5", "-1", "-0.5"}) {
    const std::string body = std::string("%x = input \"x\" : f32[6]\n%c = constant {splat ") +
                             exponent + "} : f32[6]\n%y = pow(%x, %c)\noutput \"y\" = %y";
    const ir::Graph before = ir::graph_from(body);
    const ir::OracleTensor x = ir::f32({6}, {0.1, 0.7, 1.0, 3.3, 1e10, 1e-10});
    const auto expected = run_all(before, {x}, ir::OracleRounding::kEveryNode)[0].floats;
    const auto actual =
        run_all(simplify_arithmetic(before), {x}, ir::OracleRounding::kEveryNode)[0].floats;
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(std::fabs(actual[i] - expected[i]) <= 2 * 0x1p-23 * std::fabs(expected[i]));
    }
  }
}

TEST_CASE("constants go to the right of commutative ops") {
  check_f32("%c = constant {3, 2} : f32[2]\n%y = max(%c, %x)",
            "%c = constant {3, 2} : f32[2]\n%y = max(%x, %c)");
  check_kept("f32[2]", "%c = constant {3, 2} : f32[2]\n%y = sub(%c, %x)");
  check_kept("f32[2]", "%y = max(%z, %x)");
}

TEST_CASE("equal operands and known choices") {
  check_gives_x("f32[2]", "%y = min(%x, %x)");
  check_gives_x("i8[2]", "%y = or(%x, %x)");
  check_gives_x("f32[2]", "%c = constant {1, 0} : bool[2]\n%y = select(%c, %x, %x)");
  check_gives_x("f32[2]", "%c = constant {1, 1} : bool[2]\n%y = select(%c, %x, %z)");
  check_gives_x("f32[2]", "%c = constant {0, 0} : bool[2]\n%y = select(%c, %z, %x)");
  check_f32("%l = less(%x, %z)\n%n = not(%l)\n%y = select(%n, %x, %z)",
            "%l = less(%x, %z)\n%y = select(%l, %z, %x)");
  check_kept("f32[2]", "%c = constant {1, 0} : bool[2]\n%y = select(%c, %x, %z)");
}

TEST_CASE("rounding twice is rounding once") {
  check_f32("%a = floor(%x)\n%y = round(%a)", "%y = floor(%x)");
  check_kept("f32[2]", "%a = sqrt(%x)\n%y = round(%a)");
}

TEST_CASE("a reduction of single elements is none") {
  check_gives_x("f32[2x1]", "%y = reduce(%x) {kind=sum, axes=[1]}");
  check_gives_x("f32[2x1]", "%y = reduce(%x) {kind=max, axes=[]}");
  check_kept("f32[2x1]", "%y = reduce(%x) {kind=sum, axes=[0]}");
  check_kept("f32[2x0]", "%y = reduce(%x) {kind=sum, axes=[1]}");
}

TEST_CASE("gates of sigmoid form are left to fuse") {
  check_kept("f32[2]",
             "%n = neg(%x)\n%e = exp(%n)\n%c = constant {1, 1} : f32[2]\n%d = add(%e, %c)\n"
             "%y = div(%x, %d)");
  check_kept("f32[2]", "%s = sigmoid(%x)\n%y = mul(%x, %s)");
}

void check_cast(const std::string& from, const std::string& before, const std::string& after) {
  check_rewrite(simplify_casts, "%x = input \"x\" : " + from + "[2]\n" + before,
                "%x = input \"x\" : " + from + "[2]\n" + after);
}

TEST_CASE("casts that lose nothing in the middle are one") {
  const std::string out = "\noutput \"y\" = %y";
  check_cast("f32", "%y = cast(%x) {to=f32}" + out, "output \"y\" = %x");
  check_cast("f16", "%a = cast(%x) {to=f32}\n%y = cast(%a) {to=f16}" + out, "output \"y\" = %x");
  check_cast("i8", "%a = cast(%x) {to=i32}\n%y = cast(%a) {to=f32}" + out,
             "%y = cast(%x) {to=f32}" + out);
  check_cast("u8", "%a = cast(%x) {to=i32}\n%y = cast(%a) {to=i8}" + out,
             "%y = cast(%x) {to=i8}" + out);
  check_cast("bool", "%a = cast(%x) {to=f32}\n%y = cast(%a) {to=bool}" + out, "output \"y\" = %x");
  check_cast("u8", "%a = cast(%x) {to=f16}\n%y = cast(%a) {to=f32}" + out,
             "%y = cast(%x) {to=f32}" + out);
}

TEST_CASE("casts that lose something in the middle stay") {
  const auto kept = [](const std::string& from, const std::string& middle, const std::string& to) {
    check_unchanged(simplify_casts, "%x = input \"x\" : " + from +
                                        "[2]\n%a = cast(%x) {to=" + middle +
                                        "}\n%y = cast(%a) {to=" + to + "}\noutput \"y\" = %y");
  };
  kept("f32", "f16", "f32");
  kept("f16", "bf16", "f32");
  kept("f32", "i32", "f32");
  kept("i32", "f32", "i32");  // 24 bits
  kept("i16", "f16", "i16");  // 11 bits
  kept("i8", "u8", "i32");    // wraps
  kept("i16", "f32", "i8");   // saturates, where a cast of integers wraps
  kept("i32", "bool", "i32");
}

TEST_CASE("constants of nested associative ops are one") {
  const auto nested = [](const std::string& type, const std::string& outer,
                         const std::string& inner) {
    return over(type, "%a = constant {1, 5} : " + type + "\n%b = constant {3, 2} : " + type +
                          "\n%i = " + inner + "(%x, %a)\n%y = " + outer + "(%i, %b)");
  };
  const auto joined = [](const std::string& type, const std::string& op) {
    return over(type, "%a = constant {1, 5} : " + type + "\n%b = constant {3, 2} : " + type +
                          "\n%i = " + op + "(%a, %b)\n%y = " + op + "(%x, %i)");
  };
  for (const char* op : {"max", "min"}) {
    check_rewrite(merge_constant_operands, nested("f32[2]", op, op), joined("f32[2]", op));
  }
  for (const char* op : {"add", "mul", "max", "and", "or", "xor"}) {
    check_rewrite(merge_constant_operands, nested("i8[2]", op, op), joined("i8[2]", op));
  }
  check_unchanged(merge_constant_operands, nested("f32[2]", "add", "add"));  // rounds differently
  check_unchanged(merge_constant_operands, nested("f32[2]", "mul", "mul"));
  check_unchanged(merge_constant_operands, nested("f32[2]", "max", "min"));  // a clamp
  check_unchanged(merge_constant_operands, nested("i8[2]", "sub", "sub"));
  check_unchanged(merge_constant_operands, over("f32[2]",
                                                "%a = constant {1, 5} : f32[2]\n%i = max(%x, %z)\n"
                                                "%y = max(%i, %a)"));
}

}  // namespace
}  // namespace camshaft::passes
