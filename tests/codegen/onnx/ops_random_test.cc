// SPDX-License-Identifier: MIT
// Random numbers are fixed when compiling; what can be said of them is how they are distributed.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

constexpr int64_t kCount = 20000;

// The numbers that one operator without inputs draws.
std::vector<double> draw(const std::string& op_type, const std::string& output, float seed,
                         bool is_seeded = true) {
  Model model(17);
  model.node(op_type, {}, {output}).attr_ints("shape", {kCount / 4, 4});
  if (is_seeded) model.attr_float("seed", seed);
  return run(graph_of(model.output(output)));
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

// Neighbours that depend on each other.
double correlation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (size_t i = 1; i < values.size(); ++i) sum += (values[i] - mean) * (values[i - 1] - mean);
  return sum / static_cast<double>(values.size()) / variance_of(values);
}

// The bounds are five standard deviations of what is measured.
TEST_CASE("uniform and normal numbers are distributed as they should be") {
  const std::vector<double> uniform = draw("RandomUniform", "y", 3);
  REQUIRE(uniform.size() == kCount);
  for (const double value : uniform) REQUIRE((value >= 0 && value < 1));
  CHECK(std::fabs(mean_of(uniform) - 0.5) < 0.011);
  CHECK(std::fabs(variance_of(uniform) - 1.0 / 12) < 0.003);
  CHECK(std::fabs(correlation_of(uniform)) < 0.036);

  const std::vector<double> normal = draw("RandomNormal", "y", 3);
  CHECK(std::fabs(mean_of(normal)) < 0.036);
  CHECK(std::fabs(variance_of(normal) - 1) < 0.05);
  CHECK(std::fabs(correlation_of(normal)) < 0.036);
  int64_t beyond = 0;  // two standard deviations: 4.55 %
  for (const double value : normal) beyond += std::fabs(value) > 2 ? 1 : 0;
  CHECK(std::fabs(static_cast<double>(beyond) / kCount - 0.0455) < 0.008);
}

TEST_CASE("a seed decides, and without one the node's name") {
  CHECK(draw("RandomUniform", "a", 3) == draw("RandomUniform", "b", 3));
  CHECK(draw("RandomUniform", "a", 3) != draw("RandomUniform", "a", 4));
  CHECK(draw("RandomUniform", "a", 0, false) == draw("RandomUniform", "a", 1, false));
  CHECK(draw("RandomUniform", "a", 0, false) != draw("RandomUniform", "b", 0, false));
}

TEST_CASE("ranges, means and dtypes are those of the attributes") {
  Model model(17);
  model.input("x", DType::kInt64, {2, 3})
      .node("RandomUniformLike", {"x"}, {"y"})
      .attr("dtype", 11)
      .attr_float("low", 5)
      .attr_float("high", 6)
      .output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(to_string(output_type(graph)) == "f64[2x3]");
  for (const double value : run(graph, {std::vector<double>(6)})) {
    CHECK((value >= 5 && value < 6));
  }
  Model integers(17);
  integers.node("RandomNormal", {}, {"y"}).attr("dtype", 7).attr_ints("shape", {2}).output("y");
  CHECK_THAT(read(integers).text(), Contains("random numbers are floats, not i64"));
  Model huge(17);
  huge.node("RandomNormal", {}, {"y"}).attr_ints("shape", {1 << 20, 1 << 20}).output("y");
  CHECK_THAT(read(huge).text(), Contains("table of 1099511627776 elements"));
}

TEST_CASE("Bernoulli's probabilities are data") {
  Model model(17);
  model.input("p", {kCount}).node("Bernoulli", {"p"}, {"y"}).attr("dtype", 6).output("y");
  const ir::Graph graph = graph_of(model);
  CHECK(to_string(output_type(graph)) == "i32[20000]");
  CHECK(mean_of(run(graph, {std::vector<double>(kCount, 0)})) == 0);
  CHECK(mean_of(run(graph, {std::vector<double>(kCount, 1)})) == 1);
  CHECK(std::fabs(mean_of(run(graph, {std::vector<double>(kCount, 0.3)})) - 0.3) < 0.017);
}

TEST_CASE("Multinomial draws classes by their weights") {
  Model model(17);
  model.input("x", {1, 4})
      .node("Multinomial", {"x"}, {"y"})
      .attr("sample_size", kCount)
      .output("y");
  const std::vector<double> drawn =
      run(graph_of(model), {{std::log(1.0), -HUGE_VAL, std::log(2.0), std::log(5.0)}});
  REQUIRE(drawn.size() == kCount);
  std::vector<double> shares(4);
  for (const double number : drawn) shares[static_cast<size_t>(number)] += 1.0 / kCount;
  CHECK(shares[1] == 0);
  CHECK(std::fabs(shares[0] - 0.125) < 0.012);
  CHECK(std::fabs(shares[2] - 0.25) < 0.016);
  CHECK(std::fabs(shares[3] - 0.625) < 0.018);
}

}  // namespace
}  // namespace camshaft::onnx
