// SPDX-License-Identifier: MIT
// The oracle against values worked out by hand.
#include <cmath>
#include <limits>

#include "codegen/ir/oracle.h"
#include "tests/codegen/support/graph_testing.h"

namespace camshaft::ir {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

// One elementwise node over constants: `op` applied to `operands`, each "{...} : type".
std::string node_over(const std::string& op, const std::vector<std::string>& operands) {
  std::string text;
  std::string arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name = "%c" + std::to_string(i);
    text += name + " = constant " + operands[i] + "\n";
    arguments += (i > 0 ? ", " : "") + name;
  }
  const size_t brace = op.find('{');
  return text + "%y = " + op.substr(0, brace) + "(" + arguments + ") " +
         (brace == std::string::npos ? "" : op.substr(brace)) + "\noutput \"y\" = %y";
}

TEST_CASE("float arithmetic follows IEEE and the NaN rules") {
  CHECK(floats_of(node_over("div", {"{1, -1, 6} : f32[3]", "{0, 0, 4} : f32[3]"})) ==
        Floats{kInf, -kInf, 1.5});
  CHECK(floats_of(node_over("rem", {"{7, -7, 5.5} : f32[3]", "{4, 4, 2} : f32[3]"})) ==
        Floats{3, -3, 1.5});
  CHECK(floats_of(node_over("pow", {"{2, 9, -8} : f32[3]", "{10, 0.5, 3} : f32[3]"})) ==
        Floats{1024, 3, -512});
  CHECK(floats_of(node_over("round", {"{0.5, 1.5, -2.5, 2.4} : f32[4]"})) == Floats{0, 2, -2, 2});
  CHECK(floats_of(node_over("floor", {"{-1.5, 1.5} : f32[2]"})) == Floats{-2, 1});
  CHECK(floats_of(node_over("ceil", {"{-1.5, 1.5} : f32[2]"})) == Floats{-1, 2});
  for (const char* op : {"max", "min"}) {
    const Floats y = floats_of(node_over(op, {"{nan, 1} : f32[2]", "{1, nan} : f32[2]"}));
    CHECK(std::isnan(y[0]));
    CHECK(std::isnan(y[1]));
  }
  CHECK(floats_of(node_over("max", {"{1, 3} : f32[2]", "{2, -3} : f32[2]"})) == Floats{2, 3});
  CHECK(ints_of(node_over("equal", {"{nan, 1} : f32[2]", "{nan, 1} : f32[2]"})) == Ints{0, 1});
  CHECK(ints_of(node_over("less", {"{nan, 1, 1} : f32[3]", "{1, 1, 2} : f32[3]"})) ==
        Ints{0, 0, 1});
  CHECK(ints_of(node_over("less_equal", {"{nan, 1} : f32[2]", "{1, 1} : f32[2]"})) == Ints{0, 1});
  CHECK(ints_of(node_over("is_nan", {"{nan, inf, 0} : f32[3]"})) == Ints{1, 0, 0});
}

TEST_CASE("float functions are the mathematical ones") {
  const Floats x = {-2, 0, 0.5};
  const auto unary = [&](const char* op) {
    return floats_of(node_over(op, {"{-2, 0, 0.5} : f32[3]"}));
  };
  for (size_t i = 0; i < x.size(); ++i) {
    CHECK(unary("neg")[i] == -x[i]);
    CHECK(unary("abs")[i] == std::abs(x[i]));
    CHECK(unary("exp")[i] == Approx(std::exp(x[i])).epsilon(1e-15));
    CHECK(unary("sin")[i] == Approx(std::sin(x[i])).epsilon(1e-15));
    CHECK(unary("cos")[i] == Approx(std::cos(x[i])).epsilon(1e-15));
    CHECK(unary("tanh")[i] == Approx(std::tanh(x[i])).epsilon(1e-15));
    CHECK(unary("erf")[i] == Approx(std::erf(x[i])).epsilon(1e-15));
    CHECK(unary("atan")[i] == Approx(std::atan(x[i])).epsilon(1e-15));
    CHECK(unary("sigmoid")[i] == Approx(1 / (1 + std::exp(-x[i]))).epsilon(1e-15));
  }
  CHECK(std::isnan(unary("sqrt")[0]));
  CHECK(std::isnan(unary("log")[0]));
  CHECK(unary("log")[1] == -kInf);
  CHECK(unary("log")[2] == Approx(-0.6931471805599453).epsilon(1e-15));
}

TEST_CASE("integers wrap by their dtype and divide toward zero") {
  CHECK(ints_of(node_over("add", {"{127, -128} : i8[2]", "{1, -1} : i8[2]"})) == Ints{-128, 127});
  CHECK(ints_of(node_over("sub", {"{0, 5} : u8[2]", "{1, 3} : u8[2]"})) == Ints{255, 2});
  CHECK(ints_of(node_over("mul", {"{65536} : i32[1]", "{65537} : i32[1]"})) == Ints{65536});
  CHECK(ints_of(node_over("div", {"{-7, 7, -128, 3} : i8[4]", "{2, -2, -1, 0} : i8[4]"})) ==
        Ints{-3, -3, -128, 0});
  CHECK(ints_of(node_over("rem", {"{-7, 7, -128, 3} : i8[4]", "{2, -2, -1, 0} : i8[4]"})) ==
        Ints{-1, 1, 0, 0});
  CHECK(ints_of(node_over("div", {"{-9223372036854775808} : i64[1]", "{-1} : i64[1]"})) ==
        Ints{std::numeric_limits<int64_t>::min()});
  CHECK(ints_of(node_over("div", {"{18446744073709551615} : u64[1]", "{2} : u64[1]"})) ==
        Ints{std::numeric_limits<int64_t>::max()});
  CHECK(ints_of(node_over("max", {"{18446744073709551615} : u64[1]", "{1} : u64[1]"})) == Ints{-1});
  CHECK(ints_of(node_over("less", {"{1} : u64[1]", "{18446744073709551615} : u64[1]"})) == Ints{1});
  CHECK(ints_of(node_over("neg", {"{-128, 5} : i8[2]"})) == Ints{-128, -5});
  CHECK(ints_of(node_over("abs", {"{-128, -5} : i8[2]"})) == Ints{-128, 5});
  CHECK(ints_of(node_over("abs", {"{18446744073709551615} : u64[1]"})) == Ints{-1});
  CHECK(ints_of(node_over("not", {"{0, 5} : u8[2]"})) == Ints{255, 250});
  CHECK(ints_of(node_over("not", {"{0, 1} : bool[2]"})) == Ints{1, 0});
  CHECK(ints_of(node_over("xor", {"{12, -1} : i16[2]", "{10, 1} : i16[2]"})) == Ints{6, -2});
  CHECK(ints_of(node_over("and", {"{12, -1} : i16[2]", "{10, 1} : i16[2]"})) == Ints{8, 1});
  CHECK(ints_of(node_over("or", {"{1, 0} : bool[2]", "{0, 0} : bool[2]"})) == Ints{1, 0});
  CHECK(ints_of(node_over("shift_left", {"{1, 129, 255, 3} : u8[4]", "{7, 1, 8, 255} : u8[4]"})) ==
        Ints{128, 2, 0, 0});
  CHECK(ints_of(node_over("shift_right", {"{128, 18446744073709551615, 1} : u64[3]",
                                          "{7, 63, 64} : u64[3]"})) == Ints{1, 1, 0});
  CHECK(ints_of(node_over("pow", {"{3, 2, -1, 2, 0} : i8[5]", "{4, 8, -3, -1, 0} : i8[5]"})) ==
        Ints{81, 0, -1, 0, 1});
}

TEST_CASE("bitcast keeps the bits") {
  CHECK(ints_of(node_over("bitcast{to=i32}", {"{1, -0, inf} : f32[3]"})) ==
        Ints{0x3f800000, INT32_MIN, 0x7f800000});
  CHECK(ints_of(node_over("bitcast{to=u16}", {"{1.0009765625} : f16[1]"})) == Ints{0x3c01});
  CHECK(floats_of(node_over("bitcast{to=f32}", {"{1, 1065353216} : u32[2]"})) ==
        Floats{0x1p-149, 1});
  CHECK(ints_of(node_over("bitcast{to=i8}", {"{255, 127} : u8[2]"})) == Ints{-1, 127});
  // The bits are those of the dtype, not of what the oracle keeps.
  CHECK(ints_of(node_over("bitcast{to=u32}", {"{0.1} : f32[1]"})) == Ints{0x3dcccccd});
}

TEST_CASE("casts saturate, truncate and wrap") {
  const std::string floats = "{300, -300, 1.9, -1.9, nan, inf} : f32[6]";
  CHECK(ints_of(node_over("cast{to=i8}", {floats})) == Ints{127, -128, 1, -1, 0, 127});
  CHECK(ints_of(node_over("cast{to=u8}", {floats})) == Ints{255, 0, 1, 0, 0, 255});
  CHECK(ints_of(node_over("cast{to=bool}", {floats})) == Ints{1, 1, 1, 1, 1, 1});
  CHECK(ints_of(node_over("cast{to=bool}", {"{0, -0, 0.1} : f32[3]"})) == Ints{0, 0, 1});
  CHECK(ints_of(node_over("cast{to=i64}", {"{1e30, -1e30, 9223372036854775807} : f64[3]"})) ==
        Ints{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
             std::numeric_limits<int64_t>::max()});
  CHECK(ints_of(node_over("cast{to=u64}", {"{1e30, -1, 18446744073709549568} : f64[3]"})) ==
        Ints{-1, 0, -2048});
  CHECK(ints_of(node_over("cast{to=i8}", {"{384, 255, 127} : i32[3]"})) == Ints{-128, -1, 127});
  CHECK(ints_of(node_over("cast{to=u64}", {"{-1} : i8[1]"})) == Ints{-1});
  CHECK(floats_of(node_over("cast{to=f32}", {"{18446744073709551615, 3} : u64[2]"})) ==
        Floats{0x1p64, 3});
  // 2^60 + 2^36 + 1 is above the middle of two f32 numbers; through f64 it would fall on it.
  CHECK(floats_of(node_over("cast{to=f32}", {"{1152921573326323713} : i64[1]"})) ==
        Floats{0x1.000002p60});
}

TEST_CASE("results are rounded to their dtype only when asked") {
  const std::string third = node_over("div", {"{1} : f16[1]", "{3} : f16[1]"});
  CHECK(floats_of(third)[0] == 1.0 / 3.0);
  CHECK(floats_of(third, {}, OracleRounding::kEveryNode)[0] == 0x1.554p-2);
  const std::string brain = node_over("div", {"{1} : bf16[1]", "{3} : bf16[1]"});
  CHECK(floats_of(brain, {}, OracleRounding::kEveryNode)[0] == 0x1.56p-2);
  const std::string single = node_over("div", {"{1} : f32[1]", "{3} : f32[1]"});
  CHECK(floats_of(single, {}, OracleRounding::kEveryNode)[0] == static_cast<double>(1.0f / 3.0f));
}

TEST_CASE("select takes either side") {
  CHECK(floats_of(node_over("select", {"{1, 0} : bool[2]", "{1, nan} : f32[2]",
                                       "{nan, 4} : f32[2]"})) == Floats{1, 4});
}

const std::string kGrid = "%x = constant {0, 1, 2, 3, 4, 5} : f32[2x3]\n";

TEST_CASE("movement puts each element where it belongs") {
  const auto moved = [](const std::string& op) {
    return floats_of(kGrid + "%y = " + op + "\noutput \"y\" = %y");
  };
  CHECK(moved("transpose(%x) {perm=[1,0]}") == Floats{0, 3, 1, 4, 2, 5});
  CHECK(moved("reshape(%x) {shape=[3,2]}") == Floats{0, 1, 2, 3, 4, 5});
  CHECK(moved("slice(%x) {begin=[1,2], extent=[1,2], step=[1,-2]}") == Floats{5, 3});
  CHECK(moved("slice(%x) {begin=[0,0], extent=[0,3], step=[1,1]}").empty());
  CHECK(moved("concat(%x, %x) {axis=1}") == Floats{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(moved("concat(%x, %x) {axis=0}") == Floats{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(moved("pad(%x) {before=[0,1], after=[1,0], value=9}") ==
        Floats{9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9});
  CHECK(moved("pad(%x) {before=[0,2], after=[0,2], mode=reflect}") ==
        Floats{2, 1, 0, 1, 2, 1, 0, 5, 4, 3, 4, 5, 4, 3});
  CHECK(moved("pad(%x) {before=[0,2], after=[0,1], mode=edge}") ==
        Floats{0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 5});
  CHECK(moved("pad(%x) {before=[0,2], after=[0,1], mode=wrap}") ==
        Floats{1, 2, 0, 1, 2, 0, 4, 5, 3, 4, 5, 3});
}

TEST_CASE("broadcast stretches axes of extent 1") {
  CHECK(floats_of("%x = constant {1, 2} : f32[2x1]\n%y = broadcast(%x) {shape=[2,3]}\n"
                  "output \"y\" = %y") == Floats{1, 1, 1, 2, 2, 2});
  CHECK(ints_of("%x = constant {7} : i32[]\n%y = broadcast(%x) {shape=[]}\noutput \"y\" = %y") ==
        Ints{7});
  CHECK(ints_of("%x = constant {1, 2} : u8[1x2]\n%p = pad(%x) {before=[0,0], after=[1,0], "
                "value=300}\noutput \"y\" = %p") == Ints{1, 2, 255, 255});
}

TEST_CASE("values of reductions") {
  const auto reduced = [](const std::string& attrs) {
    return floats_of(kGrid + "%y = reduce(%x) {" + attrs + "}\noutput \"y\" = %y");
  };
  CHECK(reduced("kind=sum, axes=[1]") == Floats{3, 12});
  CHECK(reduced("kind=sum, axes=[0]") == Floats{3, 5, 7});
  CHECK(reduced("kind=prod, axes=[0]") == Floats{0, 4, 10});
  CHECK(reduced("kind=max, axes=[0,1]") == Floats{5});
  CHECK(reduced("kind=min, axes=[1]") == Floats{0, 3});
  CHECK(reduced("kind=sum, axes=[]") == Floats{0, 1, 2, 3, 4, 5});
  const auto of_nothing = [](const std::string& dtype, const std::string& kind) {
    return "%x = constant {} : " + dtype + "[2x0]\n%y = reduce(%x) {kind=" + kind +
           ", axes=[1]}\noutput \"y\" = %y";
  };
  CHECK(floats_of(of_nothing("f32", "sum")) == Floats{0, 0});
  CHECK(floats_of(of_nothing("f32", "prod")) == Floats{1, 1});
  CHECK(floats_of(of_nothing("f32", "max")) == Floats{-kInf, -kInf});
  CHECK(ints_of(of_nothing("i8", "max")) == Ints{-128, -128});
  CHECK(ints_of(of_nothing("u8", "min")) == Ints{255, 255});
  CHECK(ints_of(of_nothing("u64", "min")) == Ints{-1, -1});
  CHECK(ints_of("%x = constant {100, 100} : i8[2]\n%y = reduce(%x) {kind=sum, axes=[0]}\n"
                "output \"y\" = %y") == Ints{-56});
  CHECK(
      std::isnan(floats_of("%x = constant {1, nan, 2} : f32[3]\n%y = reduce(%x) {kind=max, "
                           "axes=[0]}\noutput \"y\" = %y")[0]));
}

TEST_CASE("arg reductions choose the first or the last among equals") {
  const auto index = [](const std::string& attrs) {
    return ints_of("%x = constant {3, 1, 3, 1, 2, 2} : f32[2x3]\n%y = arg_reduce(%x) {" + attrs +
                   "}\noutput \"y\" = %y");
  };
  CHECK(index("kind=max, axis=1") == Ints{0, 1});
  CHECK(index("kind=max, axis=1, select_last=true") == Ints{2, 2});
  CHECK(index("kind=min, axis=0") == Ints{1, 0, 1});
  CHECK(index("kind=min, axis=1, select_last=true") == Ints{1, 0});
}

TEST_CASE("values of scans") {
  const auto scanned = [](const std::string& attrs) {
    return floats_of("%x = constant {1, 2, 3, 4} : f32[1x4]\n%y = scan(%x) {axis=1, " + attrs +
                     "}\noutput \"y\" = %y");
  };
  CHECK(scanned("kind=sum") == Floats{1, 3, 6, 10});
  CHECK(scanned("kind=sum, exclusive=true") == Floats{0, 1, 3, 6});
  CHECK(scanned("kind=sum, reverse=true") == Floats{10, 9, 7, 4});
  CHECK(scanned("kind=sum, exclusive=true, reverse=true") == Floats{9, 7, 4, 0});
  CHECK(scanned("kind=prod") == Floats{1, 2, 6, 24});
  CHECK(scanned("kind=prod, exclusive=true") == Floats{1, 1, 2, 6});
  CHECK(ints_of("%x = constant {100, 100} : u8[2]\n%y = scan(%x) {kind=prod}\noutput \"y\" = %y") ==
        Ints{100, 16});
  CHECK(floats_of(kGrid + "%y = scan(%x) {kind=sum, axis=0}\noutput \"y\" = %y") ==
        Floats{0, 1, 2, 3, 5, 7});
}

TEST_CASE("gather takes rows, negative indices from the end") {
  const auto gathered = [](const std::string& indices, int axis) {
    return floats_of(kGrid + "%i = constant " + indices + "\n%y = gather(%x, %i) {axis=" +
                     std::to_string(axis) + "}\noutput \"y\" = %y");
  };
  CHECK(gathered("{2, -3} : i64[2]", 1) == Floats{2, 0, 5, 3});
  CHECK(gathered("{-1} : i8[1]", 0) == Floats{3, 4, 5});
  CHECK(gathered("{1, 0, 1, 1} : u8[2x2]", 0) == Floats{3, 4, 5, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(gathered("{1} : i32[]", 1) == Floats{1, 4});
  for (const char* wrong : {"{3} : i64[1]", "{-4} : i64[1]", "{18446744073709551615} : u64[1]"}) {
    const Graph graph = graph_from(kGrid + "%i = constant " + wrong +
                                   "\n%y = gather(%x, %i) {axis=1}\noutput \"y\" = %y");
    CHECK(run_oracle(graph, {}).error().code() == base::Code::kInvalidArgument);
  }
}

TEST_CASE("values of matrix products") {
  const std::string body =
      "%a = constant {1, 2, 3, 4, 5, 6} : f32[2x3]\n%b = constant {1, 0, 0, 1, 1, 1} : f32[3x2]\n"
      "%y = matmul(%a, %b)\noutput \"y\" = %y";
  CHECK(floats_of(body) == Floats{4, 5, 10, 11});
  CHECK(floats_of("%a = constant {1, 2, 3, 4} : f32[2x1x2]\n%b = constant {5, 6, 7, 8} : "
                  "f32[2x2x1]\n%y = matmul(%a, %b)\noutput \"y\" = %y") == Floats{17, 53});
  CHECK(floats_of("%a = constant {} : f32[2x0]\n%b = constant {} : f32[0x1]\n"
                  "%y = matmul(%a, %b)\noutput \"y\" = %y") == Floats{0, 0});
  CHECK(ints_of("%a = constant {100, 100} : i8[1x2]\n%b = constant {1, 1} : i8[2x1]\n"
                "%y = matmul(%a, %b)\noutput \"y\" = %y") == Ints{-56});
}

TEST_CASE("only what the outputs need is computed, and inputs are checked") {
  // The bad gather is dead.
  const Graph graph = graph_from(kGrid +
                                 "%in = input \"in\" : f32[2x3]\n%i = constant {9} : i64[1]\n"
                                 "%dead = gather(%x, %i)\n%y = add(%in, %x)\n"
                                 "output \"y\" = %y\noutput \"again\" = %in");
  const OracleTensor ones = f32({2, 3}, {1, 1, 1, 1, 1, 1});
  const auto outputs = run_all(graph, {ones});
  CHECK(outputs.at(0).floats == Floats{1, 2, 3, 4, 5, 6});
  CHECK(outputs.at(1).floats == ones.floats);
  CHECK_FALSE(run_oracle(graph, {}).has_value());
  CHECK_FALSE(run_oracle(graph, {f32({3, 2}, {1, 1, 1, 1, 1, 1})}).has_value());
  OracleTensor truncated = ones;
  truncated.floats.pop_back();
  CHECK_FALSE(run_oracle(graph, {truncated}).has_value());
}

}  // namespace
}  // namespace camshaft::ir
