// SPDX-License-Identifier: MIT
// Products of few rows with right sides that are computed or given.
#include <algorithm>
#include <random>

#include "codegen/lower/streamed_product.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

// x [batch, rows, inner] times b, given as [batch, inner, columns] or turned.
struct Case {
  int64_t batch = 1, rows = 1, inner = 8, columns = 8;
  bool is_turned = false;
  const char* dtype = "f32";
};

std::string shape(int64_t a, int64_t b, int64_t c) {
  return "[" + std::to_string(a) + "x" + std::to_string(b) + "x" + std::to_string(c) + "]";
}

// With something after the product.
std::string graph_text(const Case& c) {
  const std::string dtype = c.dtype;
  std::string text = "graph \"g\" {\n%a = input \"a\" : " + dtype + shape(c.batch, c.rows, c.inner);
  text += "\n%b = input \"b\" : " + dtype;
  text += c.is_turned ? shape(c.batch, c.columns, c.inner) : shape(c.batch, c.inner, c.columns);
  text += "\n";
  text += c.is_turned ? "%t = transpose(%b) {perm=[0,2,1]}\n"
                      : "%t = reshape(%b) {shape=[" + std::to_string(c.batch) + "," +
                            std::to_string(c.inner) + "," + std::to_string(c.columns) + "]}\n";
  return text + "%m = matmul(%a, %t)\n%y = abs(%m)\noutput \"y\" = %y\n}";
}

std::vector<ir::Literal> run_gemv(const ir::Graph& graph, const std::vector<ir::Literal>& inputs,
                                  const CpuTarget& target, int threads) {
  const Schedule schedule = schedule::make_schedule(graph, {8, true});
  const ScheduleRun run = run_schedule(schedule, inputs, target, [&](const Task& plain) {
    const Task task{plain.schedule, plain.region, plain.target, threads};
    auto lowered = lower_region_with(task, "gemv", nullptr);
    REQUIRE(lowered.has_value());
    return std::move(lowered).value();
  });
  CHECK(run.strategies == Strategies{"gemv"});
  return run.outputs;
}

// As the oracle, whatever the number of threads.
void check_gemv(const Case& c, int32_t vector_bytes = 32) {
  const std::string text = graph_text(c);
  CAPTURE(text, vector_bytes);
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const CpuTarget target = test_target(vector_bytes);
  const std::vector<ir::Literal> one = run_gemv(graph, inputs, target, 1);
  const std::string dtype = c.dtype;
  const double tolerance = dtype == "f64"    ? 1e-14
                           : dtype == "bf16" ? 8e-3
                           : dtype == "f16"  ? 1e-3
                                             : 5e-6;
  check_against_oracle(graph, inputs, one, tolerance);
  for (const int threads : {2, 3, 16}) {
    CHECK(run_gemv(graph, inputs, target, threads)[0].bytes == one[0].bytes);
  }
}

TEST_CASE("one row and a few, either way that the right side may lie") {
  for (const bool is_turned : {false, true}) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 8}) {
      check_gemv({.rows = rows, .inner = 37, .columns = 29, .is_turned = is_turned});
    }
    check_gemv({.inner = 1, .columns = 9, .is_turned = is_turned});
    check_gemv({.inner = 9, .columns = 1, .is_turned = is_turned});
    check_gemv({.batch = 3, .rows = 2, .inner = 64, .columns = 70, .is_turned = is_turned});
    // Longer rows than are copied together.
    check_gemv({.rows = 2, .inner = 40001, .columns = 5, .is_turned = is_turned});
    // More columns than one item's.
    check_gemv({.rows = 8, .inner = 19, .columns = 1043, .is_turned = is_turned});
  }
}

TEST_CASE("few rows of random shapes") {
  std::mt19937 random(4);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 40; ++i) {
    check_gemv({.batch = between(1, 3),
                .rows = between(1, 4),
                .inner = between(1, 150),
                .columns = between(1, 150),
                .is_turned = i % 2 == 0},
               std::vector<int32_t>{16, 32, 64}[static_cast<size_t>(i % 3)]);
  }
}

TEST_CASE("few rows of other floats") {
  for (const char* dtype : {"f16", "bf16", "f64"}) {
    for (const bool is_turned : {false, true}) {
      check_gemv({.batch = 2,
                  .rows = 3,
                  .inner = 45,
                  .columns = 21,
                  .is_turned = is_turned,
                  .dtype = dtype});
    }
  }
}

// Heads of columns, a cache and what follows it, a right side that is computed.
TEST_CASE("right sides that are moved and made of several tensors") {
  const auto strategies = [](const std::string& right, const std::string& input) {
    const ScheduleRun run = check_graph("graph \"g\" {\n%a = input \"a\" : f32[4x2x16]\n" + input +
                                        right + "%m = matmul(%a, %t)\noutput \"y\" = %m\n}");
    return run.strategies.back();
  };
  const std::string heads = "%b = input \"b\" : f32[25x64]\n%r = reshape(%b) {shape=[25,4,16]}\n";
  CHECK(strategies("%t = transpose(%r) {perm=[1,2,0]}\n", heads) == "gemv");
  const std::string cache =
      "%b = input \"b\" : f32[4x20x16]\n%c = input \"c\" : f32[4x3x16]\n"
      "%r = concat(%b, %c) {axis=1}\n";
  CHECK(strategies("%t = transpose(%r) {perm=[0,2,1]}\n", cache) == "gemv");
  const std::string one = "%b = input \"b\" : f32[1x16x11]\n%e = exp(%b)\n";
  CHECK(strategies("%t = broadcast(%e) {shape=[4,16,11]}\n", one) == "gemv");
  // Neighbours along no axis: every third column of every second row.
  const std::string apart = "%b = input \"b\" : f32[4x32x33]\n";
  CHECK(strategies("%t = slice(%b) {begin=[0,0,0], extent=[4,16,11], step=[1,2,3]}\n", apart) ==
        "gemm");
}

TEST_CASE("what is packed at compile time, or serves many rows, stays packed") {
  const auto strategy = [](int64_t rows, const char* right, const char* dtype = "f32") {
    const std::string text = "graph \"g\" {\n%a = input \"a\" : " + std::string(dtype) + "[" +
                             std::to_string(rows) + "x64]\n%b = " + right + " : " + dtype +
                             "[64x40]\n%m = matmul(%a, %b)\noutput \"y\" = %m\n}";
    const ir::Graph graph = parsed(text);
    const Schedule schedule = schedule::make_schedule(graph, {8, true});
    return lower_region({schedule, schedule.regions.at(0), test_target(32)}).strategy;
  };
  CHECK(strategy(1, "input \"b\"") == "gemv");
  CHECK(strategy(1, "constant {seed 3}") == "gemm");
  CHECK(strategy(kMostStreamedRows + 1, "input \"b\"") == "gemm");
  CHECK(strategy(1, "input \"b\"", "i32") == "gemm");
}

TEST_CASE("a right side is read along the axis whose elements are neighbours") {
  for (const bool is_turned : {false, true}) {
    const ir::Graph graph =
        parsed(graph_text({.rows = 1, .inner = 64, .columns = 64, .is_turned = is_turned}));
    const Schedule schedule = schedule::make_schedule(graph, {8, true});
    const Task task{schedule, schedule.regions.at(0), test_target(32)};
    const StreamedShape of = streamed_shape(task, 1, task.node(task.region.root).inputs[1]);
    CHECK(of.side == (is_turned ? RightSide::kColumns : RightSide::kRows));
    CHECK(of.lanes == 8);
  }
}

}  // namespace
}  // namespace camshaft::lower
