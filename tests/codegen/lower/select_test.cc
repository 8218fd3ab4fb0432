// SPDX-License-Identifier: MIT
// Scatter, TopK and Suppress: kernels against the oracle, and the oracle against hand-made values.
#include "tests/codegen/lower/run_schedule.h"
#include "tests/codegen/support/graph_testing.h"

namespace camshaft::lower {
namespace {

using ir::floats_of;
using ir::ints_of;
using Strategies = std::vector<std::string>;

TEST_CASE("the oracle scatters in order and drops rows that do not exist") {
  const auto scattered = [](const std::string& kind) {
    return ints_of(R"(
      %d = constant {1, 2, 3, 4} : i32[4]
      %r = constant {2, -1, 2, 0, 4} : i64[5]
      %u = constant {10, 20, 5, 7, 9} : i32[5]
      %y = scatter(%d, %r, %u) {kind=)" +
                   kind + "}\noutput \"y\" = %y");
  };
  CHECK(scattered("replace") == std::vector<int64_t>{7, 2, 5, 4});
  CHECK(scattered("sum") == std::vector<int64_t>{8, 2, 18, 4});
  CHECK(scattered("prod") == std::vector<int64_t>{7, 2, 150, 4});
  CHECK(scattered("max") == std::vector<int64_t>{7, 2, 10, 4});
  CHECK(scattered("min") == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("the oracle orders equal elements by index and NaN above all") {
  const auto order = [](const std::string& attrs) {
    return ints_of(R"(
      %x = constant {3, 1, nan, 3, 2} : f32[5]
      %y = top_k(%x) {axis=0, )" +
                   attrs + "}\noutput \"y\" = %y");
  };
  CHECK(order("count=5, largest=true") == std::vector<int64_t>{2, 0, 3, 4, 1});
  CHECK(order("count=3, largest=false") == std::vector<int64_t>{1, 4, 0});
}

TEST_CASE("the oracle keeps the best of overlapping boxes") {
  const auto kept = [](const std::string& attrs) {
    return ints_of(R"(
      %b = constant {0,0,10,10, 0,1,10,11, 20,20,30,30, 0,0,10,10.5} : f32[1x4x4]
      %c = constant {1, 1, 1, 0} : bool[1x4]
      %t = constant {0.5} : f32[]
      %y = suppress(%b, %c, %t) {)" +
                   attrs + "}\noutput \"y\" = %y");
  };
  CHECK(kept("max_kept=9") == std::vector<int64_t>{1, 0, 1, 0});
  CHECK(kept("max_kept=1") == std::vector<int64_t>{1, 0, 0, 0});
}

TEST_CASE("scatter kernels do what the oracle does") {
  for (const char* kind : {"replace", "sum", "prod", "max", "min"}) {
    const ScheduleRun run = check_graph(std::string(R"(graph "g" {
      %d = input "d" : f32[9x3x2]
      %r = constant {8, 0, 4, 4, -1, 9, 2} : i64[7]
      %u = input "u" : f32[7x3x2]
      %a = tanh(%u)
      %s = scatter(%d, %r, %a) {kind=)") +
                                        kind + R"(}
      %n = neg(%s)
      output "y" = %n
    })");
    CHECK(run.strategies == Strategies{"scatter", "elementwise"});
  }
}

TEST_CASE("a large scatter is split among threads, half floats and integers too") {
  check_graph(R"(graph "g" {
    %d = input "d" : f16[700x61]
    %r = constant {699, 350, 350, 0} : i32[4]
    %u = input "u" : f16[4x61]
    %s = scatter(%d, %r, %u) {kind=sum}
    output "y" = %s
  })");
  check_graph(R"(graph "g" {
    %d = input "d" : u8[5]
    %r = constant {4, 1, 4} : u8[3]
    %u = constant {200, 100, 100} : u8[3]
    %s = scatter(%d, %r, %u) {kind=sum}
    output "y" = %s
  })");
}

// The ways of the strategy: a short list, a sort, a long list, a sort of indices alone.
TEST_CASE("top_k kernels do what the oracle does") {
  const auto text = [](const std::string& type, int axis, int64_t count, const char* largest) {
    return "graph \"g\" {\n%x = input \"x\" : " + type +
           "\n%y = top_k(%x) {axis=" + std::to_string(axis) + ", count=" + std::to_string(count) +
           ", largest=" + largest + "}\noutput \"y\" = %y\n}";
  };
  for (const char* largest : {"true", "false"}) {
    CHECK(check_graph(text("f32[3x50]", 1, 5, largest)).strategies == Strategies{"top_k"});
    check_graph(text("i8[300x4]", 0, 300, largest));
    check_graph(text("u64[2x97x3]", 1, 70, largest));
    check_graph(text("f64[1x1]", 1, 1, largest));
    check_graph(text("f16[7x33]", 1, 33, largest));
    check_graph(text("f32[17000]", 0, 100, largest));
    check_graph(text("f64[11000]", 0, 11000, largest));
    CHECK(check_graph(text("i8[3000]", 0, 0, largest)).outputs[0].bytes.empty());
  }
}

TEST_CASE("suppress kernels do what the oracle does") {
  const ScheduleRun run = check_graph(R"(graph "g" {
    %x = input "x" : f32[3x37x2]
    %size = constant {splat 0.4} : f32[3x37x2]
    %far = add(%x, %size)
    %b = concat(%x, %far) {axis=2}
    %s = input "s" : f32[3x37]
    %low = constant {splat -0.7} : f32[3x37]
    %c = less(%low, %s)
    %t = constant {0.3} : f32[]
    %y = suppress(%b, %c, %t) {max_kept=9}
    output "y" = %y
  })");
  CHECK(run.strategies == Strategies{"elementwise", "elementwise", "suppress"});
}

}  // namespace
}  // namespace camshaft::lower
