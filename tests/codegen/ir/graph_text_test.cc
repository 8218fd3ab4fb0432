// SPDX-License-Identifier: MIT
// The printer and the parser.
#include <catch2/catch.hpp>

#include <string>

#include "codegen/ir/graph.h"
#include "codegen/ir/literal.h"
#include "runtime/base/log_ring.h"

namespace camshaft::ir {
namespace {

constexpr const char* kEveryOp = R"(graph "every \"op\"" {
  %0 = input "x" : f32[1x4x6x6] unit "m"
  %1 = constant {0.5, -1, 1e-05, 3.4028235e+38} : f32[4] "bias"
  %2 = constant {splat 0.1} : f32[8x2x3x3]
  %3 = conv(%0, %2) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[0,1], groups=2} : f32[1x8x3x3] "conv1"
  %4 = pool(%3) {kind=average, kernel=[2,2], strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], count_include_pad=true, ceil_mode=false} : f32[1x8x2x2]
  %5 = reshape(%1) {shape=[1,4,1,1]} : f32[1x4x1x1]
  %6 = broadcast(%5) {shape=[1,4,6,6]} : f32[1x4x6x6]
  %7 = add(%0, %6) : f32[1x4x6x6]
  %8 = transpose(%7) {perm=[0,2,3,1]} : f32[1x6x6x4]
  %9 = slice(%8) {begin=[0,5,0,0], extent=[1,3,6,4], step=[1,-2,1,1]} : f32[1x3x6x4]
  %10 = pad(%9) {before=[0,0,1,0], after=[0,0,0,2], mode=reflect, value=0} : f32[1x3x7x6]
  %11 = concat(%10, %10) {axis=1} : f32[1x6x7x6]
  %12 = reduce(%11) {kind=max, axes=[1,3]} : f32[1x1x7x1]
  %13 = arg_reduce(%11) {kind=min, axis=2, select_last=true} : i64[1x6x1x6]
  %14 = scan(%11) {kind=sum, axis=3, exclusive=true, reverse=false} : f32[1x6x7x6]
  %15 = matmul(%14, %8) : f32[1x6x7x4]
  %16 = constant {0, -1} : i8[2]
  %17 = gather(%15, %16) {axis=1} : f32[1x2x7x4]
  %18 = less(%17, %17) : bool[1x2x7x4]
  %19 = select(%18, %17, %17) : f32[1x2x7x4]
  %20 = cast(%19) {to=f16} : f16[1x2x7x4] "half"
  output "y" = %20 unit "m/s"
    slice "lead" {offset=4, shape=[2,2]} unit "m"
    slice "rest" {offset=8, shape=[]}
  output "where" = %13
}
)";

TEST_CASE("every form of the text is read and printed back unchanged") {
  const base::Result<Graph> graph = parse_graph(kEveryOp);
  REQUIRE(graph.has_value());
  CHECK(verify_graph(*graph).is_ok());
  CHECK(print_graph(*graph) == kEveryOp);
}

TEST_CASE("text that ends anywhere, or lost a character, is no trouble") {
  const std::string whole = kEveryOp;
  const size_t last = whole.rfind('}');
  int accepted = 0;
  for (size_t i = 0; i < last; ++i) accepted += parse_graph(whole.substr(0, i)).has_value() ? 1 : 0;
  CHECK(accepted == 0);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string text = whole;
    text.erase(i, 1);
    const base::Result<Graph> graph = parse_graph(text);
    if (!graph) continue;
    const base::Result<Graph> again = parse_graph(print_graph(*graph));
    CAPTURE(text);
    REQUIRE(again.has_value());
    CHECK(print_graph(*again) == print_graph(*graph));
  }
}

TEST_CASE("types, names of values, defaults and comments are free") {
  const base::Result<Graph> graph = parse_graph(R"(
    graph "g" {  // a comment
      %x = input "x" : f32[2x1]
      %scale = constant {seed 7} : f32[2x1]
      %y = mul(%x, %scale)
      %p = pad(%y) {before=[0,1], after=[0,0]}
      output "p" = %p
    })");
  REQUIRE(graph.has_value());
  CHECK(graph->node(3).type.shape == Shape{2, 2});
  CHECK(equal_literals(*graph->node(1).as<ConstantAttrs>().literal,
                       seeded_literal({DType::kFloat32, {2, 1}}, 7)));
}

TEST_CASE("constants of every dtype survive the text bit for bit") {
  for (int i = 0; i < base::kDTypeCount; ++i) {
    Graph graph;
    graph.name = "g";
    graph.add_output("y", graph.add_constant(seeded_literal({static_cast<DType>(i), {3, 5}}, 1)));
    const base::Result<Graph> read = parse_graph(print_graph(graph));
    REQUIRE(read.has_value());
    CHECK(equal_literals(*graph.node(0).as<ConstantAttrs>().literal,
                         *read->node(0).as<ConstantAttrs>().literal));
  }
}

TEST_CASE("special floats and 64-bit integers survive the text") {
  const base::Result<Graph> graph = parse_graph(R"(graph "g" {
    %0 = constant {inf, -inf, nan, -0, 1e-45} : f32[5]
    %1 = constant {18446744073709551615} : u64[]
    %2 = constant {-9223372036854775808} : i64[]
    %3 = constant {6e-08, 65504, 1e9} : f16[3]
    %4 = constant {} : f32[2x0]
  })");
  REQUIRE(graph.has_value());
  const std::string text = print_graph(*graph);
  CHECK(text.find("{inf, -inf, nan, -0, 1e-45}") != std::string::npos);
  CHECK(text.find("{18446744073709551615}") != std::string::npos);
  CHECK(text.find("{-9223372036854775808}") != std::string::npos);
  CHECK(text.find("{5.960464477539063e-08, 65504, inf}") != std::string::npos);
  CHECK(text.find("{} : f32[2x0]") != std::string::npos);
}

TEST_CASE("long constants can be left out of the text, which is then not readable") {
  Graph graph;
  graph.name = "g";
  graph.add_constant(seeded_literal({DType::kFloat32, {100}}, 3));
  const std::string text = print_graph(graph, false);
  CHECK(text.find("constant {...} : f32[100]") != std::string::npos);
  CHECK_FALSE(parse_graph(text).has_value());
}

TEST_CASE("wrong text is refused with the line") {
  struct Wrong {
    const char* body;
    const char* sentence;
  };
  const Wrong cases[] = {
      {"%0 = input \"x\" : f33[2]", "'f33' is not an element type"},
      {"%0 = input \"x\" : f32[-2]", "negative extent"},
      {"%0 = input \"x\" : f32[99999999999999999]", "too large"},
      {"%0 = frobnicate(%0)", "no op 'frobnicate'"},
      {"%0 = neg(%1)", "%1 is not defined above"},
      {"%0 = constant {1, 2} : f32[3]", "expected ','"},
      {"%0 = constant {1, 2} : f32[1]", "expected '}'"},
      {"%0 = constant {300} : u8[1]", "300 does not fit u8"},
      {"%0 = constant {1 : f32[]", "expected ':'"},
      {"%0 = constant {1} : f32[1]\n%1 = neg(%0) : f32[2]", "the type is f32[1], not f32[2]"},
      {"%0 = constant {1} : f32[1]\n%0 = neg(%0)", "%0 is not a new name"},
      {"%0 = constant {1} : f32[1]\n%1 = neg(%0, %0)", "not well typed"},
      {"%0 = constant {1} : f32[1]\n%1 = neg(%0) {axis=1}", "unknown attribute 'axis'"},
      {"%0 = constant {1} : f32[1]\n%1 = reduce(%0) {kind=mean}", "'mean' is not a value"},
      {"%0 = constant {1} : f32[1]\n%1 = reduce(%0) {axes=[0 0]}", "expected ','"},
      {"%0 = input \"x : f32[1]", "string without an end"},
      {"slice \"a\" {offset=0, shape=[1]}", "expected '%ID"},
  };
  for (const Wrong& wrong : cases) {
    const uint64_t before = base::log_sequence();
    CAPTURE(wrong.body);
    CHECK_FALSE(parse_graph("graph \"g\" {\n" + std::string(wrong.body) + "\n}").has_value());
    std::string logged;
    for (const base::LogLine& line : base::log_lines_after(before)) logged += line.text + "\n";
    CAPTURE(logged);
    CHECK(logged.find(wrong.sentence) != std::string::npos);
  }
  CHECK_FALSE(parse_graph("").has_value());
  CHECK_FALSE(parse_graph("graph \"g\" {").has_value());
  CHECK_FALSE(parse_graph("graph \"g\" {} more").has_value());
}

}  // namespace
}  // namespace camshaft::ir
