// SPDX-License-Identifier: MIT
// Every pass, and the whole pipeline, over random graphs: verified, idempotent, and the oracle
// gives the same results before and after.
#include <algorithm>
#include <cmath>

#include "codegen/passes/passes.h"
#include "codegen/passes/pipeline.h"
#include "codegen/passes/rewriter.h"
#include "tests/codegen/support/graph_testing.h"
#include "tests/codegen/support/random_graph.h"

namespace camshaft::passes {
namespace {

using ir::Graph;
using ir::OracleRounding;
using ir::OracleTensor;

constexpr uint64_t kSeeds = 300;

// What a pass keeps: bits; bits but for Pow; or all but rounding.
enum class Keeps : uint8_t { kBits, kBitsButPow, kAllButRounding };

struct Pass {
  const char* name;
  Graph (*run)(const Graph& graph);
  Keeps keeps;
};

constexpr Pass kPasses[] = {
    {"remove_dead", remove_dead, Keeps::kBits},
    {"fold_constants", fold_constants, Keeps::kBits},
    {"simplify_casts", simplify_casts, Keeps::kBits},
    {"simplify_arithmetic", simplify_arithmetic, Keeps::kBitsButPow},
    {"simplify_arithmetic", simplify_arithmetic, Keeps::kAllButRounding},
    {"merge_constant_operands", merge_constant_operands, Keeps::kBits},
    {"slice_gathers", slice_gathers, Keeps::kBits},
    {"simplify_movement", simplify_movement, Keeps::kBits},
    {"sink_broadcasts", sink_broadcasts, Keeps::kBits},
    {"sink_reshapes", sink_reshapes, Keeps::kBits},
    {"merge_pads", merge_pads, Keeps::kBits},
    {"fold_channel_scale", fold_channel_scale, Keeps::kAllButRounding},
    {"sort_channels", sort_channels, Keeps::kAllButRounding},
    {"merge_common_subexpressions", merge_common_subexpressions, Keeps::kBits},
};

// Equal numbers; the sign of a zero and the payload of a NaN do not count.
bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Equal up to rounding in double, as far as values of this size can be after cancellation.
bool close(double a, double b, double scale) {
  return same(a, b) || std::fabs(a - b) <= 1e-12 * std::max({1.0, std::fabs(a), scale});
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    if (std::isfinite(value)) result = std::max(result, std::fabs(value));
  }
  return result;
}

// The first difference as text, or nothing.
std::string difference(const std::vector<OracleTensor>& a, const std::vector<OracleTensor>& b,
                       bool exact) {
  if (a.size() != b.size()) return "number of outputs";
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].type != b[i].type) return "type of output " + std::to_string(i);
    if (a[i].ints != b[i].ints) return "integers of output " + std::to_string(i);
    const double scale = largest(a[i].floats);
    for (size_t j = 0; j < a[i].floats.size(); ++j) {
      const double x = a[i].floats[j];
      const double y = b[i].floats[j];
      if (exact ? same(x, y) : close(x, y, scale)) continue;
      return "output " + std::to_string(i) + "[" + std::to_string(j) + "]: " + std::to_string(x) +
             " became " + std::to_string(y);
    }
  }
  return "";
}

// Bits are compared after rounding each node, on every kind of op; the rest in f64, on ops that do
// not amplify rounding.
ir::RandomGraphOptions options_for(Keeps keeps) {
  ir::RandomGraphOptions options;
  options.smooth = keeps == Keeps::kAllButRounding;
  options.powers = keeps != Keeps::kBitsButPow;
  options.float_type = options.smooth ? base::DType::kFloat64 : base::DType::kFloat32;
  return options;
}

std::string outcome_difference(const Graph& before, const Graph& after, Keeps keeps) {
  const bool exact = keeps != Keeps::kAllButRounding;
  const auto rounding = exact ? OracleRounding::kEveryNode : OracleRounding::kNone;
  const auto inputs = ir::seeded_inputs(before, 42);
  return difference(ir::run_all(before, inputs, rounding), ir::run_all(after, inputs, rounding),
                    exact);
}

TEST_CASE("passes keep the meaning of random graphs") {
  for (const Pass& pass : kPasses) {
    int changed = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Graph before = ir::random_graph(seed, options_for(pass.keeps));
      const Graph after = pass.run(before);
      CAPTURE(pass.name, seed);
      REQUIRE(verify_graph(after).is_ok());
      if (equal_graphs(after, pass.run(after))) {
        changed += equal_graphs(after, remove_dead(before)) ? 0 : 1;
      } else {
        INFO(print_graph(before) << print_graph(after) << print_graph(pass.run(after)));
        FAIL("not idempotent");
      }
      const std::string difference_text = outcome_difference(before, after, pass.keeps);
      if (!difference_text.empty()) {
        INFO(print_graph(before) << print_graph(after));
        FAIL(difference_text);
      }
    }
    CAPTURE(pass.name, changed);
    // Shuffles between convolutions have random networks of their own.
    CHECK((changed >= 10 || pass.run == remove_dead || pass.run == sort_channels));
  }
}

TEST_CASE("the pipeline keeps the meaning of random graphs and settles") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph before = ir::random_graph(1000 + seed, options_for(Keeps::kAllButRounding));
    PipelineOptions options;
    options.verify = true;
    const auto after = run_pipeline(before, options);
    CAPTURE(seed);
    REQUIRE(after.has_value());
    const std::string difference_text = outcome_difference(before, *after, Keeps::kAllButRounding);
    INFO(print_graph(before) << print_graph(*after));
    REQUIRE(difference_text == "");
  }
}

TEST_CASE("every exact pass together keeps the bits of random graphs") {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph before = ir::random_graph(2000 + seed, options_for(Keeps::kBitsButPow));
    PipelineOptions options;
    options.verify = true;
    options.disabled = {"fold_channel_scale", "sort_channels"};
    const auto after = run_pipeline(before, options);
    CAPTURE(seed);
    REQUIRE(after.has_value());
    const std::string difference_text = outcome_difference(before, *after, Keeps::kBits);
    INFO(print_graph(before) << print_graph(*after));
    REQUIRE(difference_text == "");
  }
}

TEST_CASE("the comparison sees a wrong pass") {
  const Graph before = ir::graph_from("%x = input \"x\" : f32[2]\n%y = neg(%x)\noutput \"y\" = %y");
  const Graph after = ir::graph_from("%x = input \"x\" : f32[2]\n%y = abs(%x)\noutput \"y\" = %y");
  CHECK(outcome_difference(before, after, Keeps::kBits) != "");
  CHECK(outcome_difference(before, after, Keeps::kAllButRounding) != "");
  CHECK(outcome_difference(before, before, Keeps::kBits) == "");
}

}  // namespace
}  // namespace camshaft::passes
