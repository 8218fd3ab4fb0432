// SPDX-License-Identifier: MIT
// Products of bytes, summed in i32: four at a time where the channels lie together, and else one by
// one. All sums are exact.
#include <algorithm>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

// An exact pool brings the input, of bytes up to 255, into blocks.
std::string conv_graph(const std::string& channels, const std::string& weights,
                       const std::string& groups) {
  return "graph \"g\" {\n%i = input \"x\" : u8[1x" + channels +
         "x9x11]\n%f = constant {splat 17} : u8[1x" + channels +
         "x9x11]\n%x = mul(%i, %f)\n%p = pool(%x) {kind=max, kernel=[1,2], strides=[1,1], "
         "dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}\n%w = constant " +
         weights +
         "\n%c = conv(%p, %w) {strides=[1,2], dilations=[2,1], pads_begin=[1,1], pads_end=[2,1], "
         "groups=" +
         groups + "}\noutput \"y\" = %c\n}";
}

std::string product_graph(const std::string& x, const std::string& w) {
  return "graph \"g\" {\n%x = input \"x\" : u8[" + x + "]\n%w = constant {seed 2} : i8[" + w +
         "]\n%m = matmul(%x, %w)\noutput \"y\" = %m\n}";
}

// Whether any region's kernel has dots.
bool has_dots(const Schedule& schedule, const CpuTarget& target) {
  return std::any_of(schedule.regions.begin(), schedule.regions.end(), [&](const Region& region) {
    const Kernel kernel = lower_region({schedule, region, target}).kernel;
    for (int i = 0; i < kernel.expr_count(); ++i) {
      if (kernel.expr(ExprId{i}).op == ir::KOp::kDot) return true;
    }
    return false;
  });
}

bool has_dots(const std::string& text, int32_t block = 8) {
  const auto graph = ir::parse_graph(text);
  REQUIRE(graph.has_value());
  return has_dots(schedule::make_schedule(*graph, {block, true}),
                  test_target(block == 16 ? 64 : 32));
}

TEST_CASE("convolutions of bytes, alone and in groups") {
  for (const int32_t block : {8, 16}) {
    CAPTURE(block);
    const std::string whole = conv_graph("48", "{seed 1} : i8[30x48x3x2]", "1");
    CHECK(check_graph(whole, 0, block).strategies.back() == "conv_direct");
    CHECK(has_dots(whole, block));
    const std::string groups = conv_graph("48", "{seed 1} : i8[30x16x3x2]", "3");
    CHECK(check_graph(groups, 0, block).strategies.back() == "conv_direct");
    CHECK(has_dots(groups, block));
    const std::string splat = conv_graph("48", "{splat -3} : i8[8x48x3x2]", "1");
    CHECK(check_graph(splat, 0, block).strategies.back() == "conv_direct");
    CHECK(has_dots(splat, block));
    // Channels that don't lie together in fours.
    for (const std::string& odd : {conv_graph("48", "{seed 1} : i8[16x3x3x2]", "16"),
                                   conv_graph("3", "{seed 1} : i8[16x3x3x2]", "1")}) {
      CHECK(check_graph(odd, 0, block).strategies.back() == "conv_direct");
      CHECK(!has_dots(odd, block));
    }
  }
}

TEST_CASE("bytes one by one are dots too, where that is one instruction") {
  CpuTarget target = test_target(64);
  target.triple = "x86_64-unknown-linux-gnu";
  target.features = "+avx512vnni";
  for (const std::string& text : {conv_graph("3", "{seed 1} : i8[16x3x3x2]", "1"),
                                  conv_graph("48", "{seed 1} : i8[32x48x3x2]", "1")}) {
    const auto graph = ir::parse_graph(text);
    REQUIRE(graph.has_value());
    const Schedule schedule = schedule::make_schedule(*graph, {16, true});
    const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
    const ScheduleRun run = run_schedule(schedule, inputs, target, "");
    CHECK(run.strategies.back() == "conv_direct");
    check_against_oracle(*graph, inputs, run.outputs, 0);
    CHECK(has_dots(schedule, target));
  }
}

TEST_CASE("depthwise convolutions of bytes, in blocks and in rows") {
  const std::string rows = conv_graph("48", "{seed 1} : i8[48x1x3x2]", "48");
  check_graph(rows, 0);
  // As the sum is stored in blocks when a pool reads it.
  std::string blocks = rows;
  blocks.replace(blocks.find("output"), std::string::npos,
                 "%q = pool(%c) {kind=max, kernel=[2,1], strides=[1,1], dilations=[1,1], "
                 "pads_begin=[0,0], pads_end=[0,0]}\noutput \"y\" = %q\n}");
  const Strategies strategies = check_graph(blocks, 0).strategies;
  CHECK(std::count(strategies.begin(), strategies.end(), "conv_depthwise") == 1);
  const std::string single =
      "graph \"g\" {\n%x = input \"x\" : u8[1x5x9x11]\n%w = constant {seed 1} : i8[5x1x3x3]\n"
      "%c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], "
      "groups=5}\noutput \"y\" = %c\n}";
  CHECK(check_graph(single, 0).strategies == Strategies{"conv_depthwise_rows"});
}

TEST_CASE("matrix products of bytes") {
  const std::string fours = product_graph("7x36", "36x11");
  CHECK(check_graph(fours, 0).strategies == Strategies{"gemm"});
  CHECK(check_graph(fours, 0, 16).strategies == Strategies{"gemm"});
  CHECK(has_dots(fours));
  const std::string vector = product_graph("1x64", "64x200");
  CHECK(check_graph(vector, 0).strategies == Strategies{"gemm"});
  CHECK(has_dots(vector));
  const std::string odd = product_graph("7x37", "37x11");
  CHECK(check_graph(odd, 0).strategies == Strategies{"gemm"});
  CHECK(!has_dots(odd));
  const std::string separate =
      "graph \"g\" {\n%x = input \"x\" : u8[2x5x36]\n%w = input \"w\" : i8[2x36x11]\n"
      "%m = matmul(%x, %w)\noutput \"y\" = %m\n}";
  CHECK(check_graph(separate, 0).strategies == Strategies{"gemm"});
  CHECK(!has_dots(separate));
}

}  // namespace
}  // namespace camshaft::lower
