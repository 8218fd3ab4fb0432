// SPDX-License-Identifier: MIT
// Pools over rows: edges, windows that reach beyond both ends, rows of several chunks, dtypes.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

std::string pool_graph(const std::string& input, const std::string& attributes) {
  return R"(graph "g" {
    %x = input "x" : )" +
         input + R"(
    %p = pool(%x) {)" +
         attributes + R"(}
    %y = add(%p, %p)
    output "y" = %y
  })";
}

TEST_CASE("pools of rows agree with the oracle") {
  for (const char* kind : {"kind=max", "kind=average", "kind=average, count_include_pad=true"}) {
    for (const char* window :
         {"kernel=[3,3], strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]",
          "kernel=[2,5], strides=[2,3], dilations=[3,2], pads_begin=[1,4], pads_end=[3,5]",
          "kernel=[4,4], strides=[3,5], dilations=[1,1], pads_begin=[2,3], pads_end=[0,1], "
          "ceil_mode=true",
          // More taps than are unrolled, beyond both ends of the row at once.
          "kernel=[1,70], strides=[1,2], dilations=[1,1], pads_begin=[0,40], pads_end=[0,69]",
          // Only a part of the row is read, and of the padding.
          "kernel=[2,1], strides=[5,40], dilations=[1,1], pads_begin=[0,3], pads_end=[1,0]",
          "kernel=[1,2], strides=[1,90], dilations=[1,1], pads_begin=[0,3], pads_end=[0,0]"}) {
      const std::string text = pool_graph("f32[2x3x9x67]", kind + std::string(", ") + window);
      CAPTURE(text);
      const ScheduleRun run = check_graph(text, 2e-5);
      CHECK(run.strategies == Strategies{"pool_rows"});
    }
  }
}

TEST_CASE("pools of rows: one axis, other dtypes, an operand in blocks") {
  const char* window = "kernel=[3], strides=[2], dilations=[1], pads_begin=[1], pads_end=[2]";
  for (const char* input : {"f32[2x3x67]", "f64[2x3x67]", "i32[2x3x67]", "u8[2x3x67]"}) {
    const ScheduleRun run =
        check_graph(pool_graph(input, std::string("kind=max, ") + window), 2e-5);
    CHECK(run.strategies == Strategies{"pool_rows"});
  }
  check_graph(pool_graph("f64[2x3x67]", std::string("kind=average, ") + window), 2e-5);
  const ScheduleRun run = check_graph(R"(graph "g" {
    %x = input "x" : f32[1x16x5x9]
    %w = constant {seed 3} : f32[16x16x1x1]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %p = pool(%c) {kind=max, kernel=[2,2], strides=[1,2], dilations=[1,1], pads_begin=[1,0], pads_end=[0,1]}
    output "y" = %p
  })",
                                      2e-5);
  CHECK(std::count(run.strategies.begin(), run.strategies.end(), "pool_rows") == 1);
}

// Between pools that bring their operands into blocks, and leave them there.
std::string blocked_pool_graph(const std::string& input, const std::string& attributes) {
  const std::string one =
      "kind=max, kernel=[1,2], strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]";
  return "graph \"g\" {\n%x = input \"x\" : " + input + "\n%a = pool(%x) {" + one +
         "}\n%p = pool(%a) {" + attributes + "}\n%q = pool(%p) {" + one + "}\noutput \"y\" = %q\n}";
}

TEST_CASE("pools of narrow blocks take vectors of pixels and channels") {
  for (const std::string dtype : {"f32", "bf16"}) {
    for (const std::string kind :
         {"kind=max", "kind=average", "kind=average, count_include_pad=true"}) {
      for (const char* window :
           {", kernel=[3,3], strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]",
            ", kernel=[3,3], strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]",
            ", kernel=[2,5], strides=[2,3], dilations=[3,2], pads_begin=[1,4], pads_end=[3,5]"}) {
        // Of 16 lanes with blocks of 8 and of 4, of 8 lanes with blocks of 4.
        for (const auto& [shape, block] :
             {std::pair("[2x24x9x14]", 16), std::pair("[2x20x9x14]", 16),
              std::pair("[2x12x9x14]", 8)}) {
          const std::string text = blocked_pool_graph(dtype + shape, kind + window);
          CAPTURE(text, block);
          const double one_place = dtype == "f32" ? 2e-5 : 8e-3;
          CHECK(check_graph(text, one_place, block).strategies.at(1) == "pool_rows");
        }
      }
    }
  }
}

TEST_CASE("pools of whole vectors, or whose windows don't overlap, are combined where they lie") {
  const std::string window =
      "kind=max, strides=[2,2], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], ";
  for (const auto& [shape, kernel, second] :
       {std::tuple("f32[1x24x9x14]", "kernel=[3,3]", "pool_rows"),
        std::tuple("f32[1x32x9x14]", "kernel=[3,3]", "pool"),
        std::tuple("f32[1x24x9x14]", "kernel=[3,2]", "pool")}) {
    const std::string text = blocked_pool_graph(shape, window + kernel);
    CHECK(check_graph(text, 0, 16).strategies.at(1) == second);
  }
}

// A row of halves through a pool of windows of two.
std::vector<ir::Literal> largest_of_pairs(const std::string& dtype,
                                          const std::vector<double>& values,
                                          const std::string& end) {
  const std::string text = "graph \"g\" {\n%x = input \"x\" : " + dtype + "[1x1x1x" +
                           std::to_string(values.size()) +
                           "]\n%p = pool(%x) {kind=max, kernel=[1,2], strides=[1,1], "
                           "dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}\n" +
                           end + "}";
  const ir::Graph graph = parsed(text);
  std::vector<ir::Literal> inputs = {
      ir::make_literal(graph.node(graph.inputs[0].node).type, values)};
  const uint16_t negative_nan = dtype == "bf16" ? 0xffc0 : 0xfe00;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i]) || !std::signbit(values[i])) continue;
    std::memcpy(inputs[0].bytes.data() + 2 * i, &negative_nan, 2);
  }
  const Schedule schedule = schedule::make_schedule(graph, {8, true});
  const ScheduleRun run = run_schedule(schedule, inputs, test_target());
  CHECK(run.strategies == Strategies{"pool_rows"});
  check_against_oracle(graph, inputs, run.outputs, 0);
  return run.outputs;
}

TEST_CASE("the largest of halves: signs, zeros, denormals, infinities, and NaNs of either sign") {
  const double inf = INFINITY;
  const double nan = NAN;
  for (const std::string dtype : {"bf16", "f16"}) {
    const std::vector<double> values = {
        -inf, -inf,    -3,  -2, -2.5, -0.5, 0,    -0.0, 0x1p-14, -0x1p-14, 0x1p-24, -0x1p-24,
        1,    0x1.8p0, inf, 7,  nan,  inf,  -nan, -inf, -nan,    nan,      5,       -1};
    for (const std::string end :
         {"output \"y\" = %p\n", "%w = cast(%p) {to=f32}\n%d = add(%w, %w)\noutput \"y\" = %d\n"}) {
      const std::vector<ir::Literal> outputs = largest_of_pairs(dtype, values, end);
      const double factor = end[0] == 'o' ? 1 : 2;
      for (size_t i = 0; i + 1 < values.size(); ++i) {
        const double got = ir::literal_as_double(outputs[0], static_cast<int64_t>(i));
        CAPTURE(dtype, i, got);
        if (std::isnan(values[i]) || std::isnan(values[i + 1])) {
          CHECK(std::isnan(got));
        } else {
          const double most = std::max(values[i], values[i + 1]);
          CHECK(got == factor * most);
        }
      }
    }
  }
}

TEST_CASE("pools of rows of volumes") {
  for (const char* kind : {"kind=max", "kind=average", "kind=average, count_include_pad=true"}) {
    for (const char* window :
         {"kernel=[3,3,3], strides=[1,1,1], dilations=[1,1,1], pads_begin=[1,1,1], "
          "pads_end=[1,1,1]",
          "kernel=[2,5,4], strides=[2,3,5], dilations=[3,1,2], pads_begin=[3,4,5], "
          "pads_end=[2,1,0], ceil_mode=true",
          // Windows of padding alone.
          "kernel=[1,2,1], strides=[1,1,1], dilations=[1,1,1], pads_begin=[2,2,1], "
          "pads_end=[0,1,2]"}) {
      const std::string text = pool_graph("f32[2x3x5x6x19]", kind + std::string(", ") + window);
      CAPTURE(text);
      CHECK(check_graph(text, 2e-5).strategies == Strategies{"pool_rows"});
    }
  }
}

TEST_CASE("rows that are too long for the stack are pooled all the same") {
  const ScheduleRun run = check_graph(
      pool_graph("f32[1x1x70000]",
                 "kind=max, kernel=[2], strides=[1], dilations=[1], pads_begin=[0], pads_end=[1]"));
  CHECK(run.strategies == Strategies{"fallback"});
}

TEST_CASE("a NaN under the window wins") {
  const std::string text =
      pool_graph("f32[1x1x20]",
                 "kind=max, kernel=[3], strides=[1], dilations=[1], pads_begin=[1], pads_end=[1]");
  auto graph = ir::parse_graph(text);
  REQUIRE(graph.has_value());
  std::vector<double> values(20, 1);
  values[7] = NAN;
  const std::vector<ir::Literal> inputs = {
      ir::make_literal({ir::DType::kFloat32, {1, 1, 20}}, values)};
  const schedule::Schedule made = schedule::make_schedule(*graph, {});
  const ScheduleRun run = run_schedule(made, inputs, test_target(), lower_region);
  for (int64_t i = 0; i < 20; ++i) {
    CHECK(std::isnan(ir::literal_as_double(run.outputs[0], i)) == (i >= 6 && i <= 8));
  }
}

}  // namespace
}  // namespace camshaft::lower
