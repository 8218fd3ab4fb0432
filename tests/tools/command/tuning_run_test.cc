// SPDX-License-Identifier: MIT
// The tuner's choice among candidates whose times and results are made up.
#include "tools/command/tuning_run_desktop.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "tests/codegen/onnx/support/onnx_testing.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::command {
namespace {

constexpr size_t kNothing = 1000;  // no variant

// A convolution of whole numbers, whose results are exact.
std::string write_model(const test::TemporaryFolder& folder) {
  std::vector<double> weights;
  for (int i = 0; i < 32 * 16; ++i) weights.push_back(i % 5 - 2);
  onnx::Model model;
  model.input("x", {1, 16, 8, 12}).initializer("w", ir::DType::kFloat32, {32, 16, 1, 1}, weights);
  model.node("Conv", {"x", "w"}, {"y"}).output("y");
  const std::string path = folder / "m.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes();
  return path;
}

// Each variant takes a microsecond less than the one before. One of them is off by a little in one
// number of its result.
TuningProbe made_up(size_t wrong) {
  TuningProbe probe = usual_probe();
  probe.run = [wrong](
                  size_t variant, PlanRunner& runner,
                  const std::vector<io::Tensor>& inputs) -> base::Result<std::vector<io::Tensor>> {
    base::Result<std::vector<io::Tensor>> outputs = runner.run(inputs);
    if (outputs && variant == wrong) {
      float number = 0;
      std::byte* place = outputs->front().bytes.data() + 5 * sizeof number;
      std::memcpy(&number, place, sizeof number);
      number += 0.01F;
      std::memcpy(place, &number, sizeof number);
    }
    return outputs;
  };
  probe.time = [](size_t variant, PlanRunner& runner) -> base::Result<std::vector<int64_t>> {
    const int64_t nanoseconds = 100'000 - 10'000 * static_cast<int64_t>(variant);
    return std::vector<int64_t>(runner.info().targets.front().commands.size(), nanoseconds);
  };
  return probe;
}

struct Outcome {
  size_t variants = 0;
  size_t refused = 0;
  double microseconds = 0;  // of what was chosen
  bool is_usual = false;
  double gain = 0;
};

Outcome tune(size_t wrong, size_t wrong_in_the_end = kNothing) {
  const test::TemporaryFolder folder;
  emit::CompileOptions options;
  options.targets = {"cpu"};
  Console console("test", true);
  const auto nothing = [](const lower::Task&) { return std::optional<tune::Choice>(); };
  Outcome outcome;
  TuningProbe probe = made_up(wrong);
  if (wrong_in_the_end != kNothing) {
    // The plan of all decisions is checked after the variants, as one more.
    probe.run = [inner = made_up(wrong_in_the_end).run, variants = &outcome.variants](
                    size_t variant, PlanRunner& runner, const std::vector<io::Tensor>& inputs) {
      const bool is_end = *variants > 0 && variant == *variants;
      return is_end ? made_up(variant).run(variant, runner, inputs)
                    : inner(variant, runner, inputs);
    };
  }
  TuningRun run(write_model(folder), options, nothing, console, probe);
  const base::Result<bool> measured = run.measure(0);
  REQUIRE(measured);
  REQUIRE(*measured);
  outcome.variants = run.variants();
  const std::vector<TuningRun::Decision> decisions = run.decisions();
  REQUIRE(decisions.size() == 1);
  const auto gain = run.compare(decisions, 0);
  REQUIRE(gain);
  outcome.refused = run.refused();
  outcome.microseconds = decisions[0].entry.microseconds;
  outcome.is_usual = decisions[0].entry.knobs == decisions[0].usual.knobs &&
                     decisions[0].entry.strategy == decisions[0].usual.strategy;
  outcome.gain = gain->before_s;
  return outcome;
}

double microseconds_of(size_t variant) {
  return 100 - 10 * static_cast<double>(variant);
}

TEST_CASE("the fastest candidate wins, unless its result is wrong") {
  const Outcome right = tune(kNothing);
  REQUIRE(right.variants > 2);
  const size_t last = right.variants - 1;
  CHECK(right.refused == 0);
  CHECK(right.microseconds == Approx(microseconds_of(last)));

  const Outcome wrong = tune(last);
  CHECK(wrong.variants == right.variants);
  CHECK(wrong.refused == 1);
  CHECK(wrong.microseconds == Approx(microseconds_of(last - 1)));

  // A slow one that is wrong changes nothing.
  const Outcome slow = tune(1);
  CHECK(slow.refused == 1);
  CHECK(slow.microseconds == Approx(microseconds_of(last)));
}

TEST_CASE("decisions that are wrong together are refused") {
  const Outcome right = tune(kNothing);
  CHECK(right.gain > 0);
  const Outcome wrong = tune(kNothing, right.variants);
  CHECK(wrong.refused == 1);
  CHECK(wrong.gain == 0);
}

}  // namespace
}  // namespace camshaft::command
