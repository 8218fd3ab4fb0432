// SPDX-License-Identifier: MIT
#include "tools/command/tuning_run_desktop.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/base/clock.h"
#include "tools/command/input_options.h"
#include "tools/command/oracle_run_desktop.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Result;
using base::Status;

constexpr size_t kMostCandidates = 8;
// A GPU's cost depends on much that no model knows, and measuring takes little.
constexpr size_t kMostGpuCandidates = 16;
constexpr int kLeastRounds = 5;
// A candidate must be faster by so much, or the usual choice stays.
constexpr double kWorthIt = 0.97;
// Where rounding alone takes a plan out of the tolerance, others may be this much worse.
constexpr double kErrorSlack = 1.5;

double median_s(Samples samples) {
  if (samples.count() == 0) return INFINITY;
  samples.sort();
  return samples.percentile_s(50);
}

// The error of an element in tolerances (those of `camshaft compare`).
double in_tolerances(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  const double share = std::abs(actual - expected) / (1e-5 + 1e-4 * std::abs(expected));
  return std::isnan(share) ? INFINITY : share;
}

}  // namespace

TuningProbe usual_probe() {
  TuningProbe probe;
  probe.run = [](size_t, PlanRunner& runner, const std::vector<io::Tensor>& inputs) {
    return runner.run(inputs);
  };
  probe.time = [](size_t, PlanRunner& runner) -> Result<std::vector<int64_t>> {
    CAMSHAFT_TRY(runner.session().run({}));
    const std::span<const int64_t> times = runner.session().command_times(0);
    return std::vector<int64_t>(times.begin(), times.end());
  };
  return probe;
}

Result<std::unique_ptr<PlanRunner>> TuningRun::compile(const Chooser& choose, bool profile) {
  emit::CompileOptions options = options_;
  options.keep_source = false;
  options.progress = nullptr;
  options.dump = nullptr;
  options.choose = [&](const std::string& target, const lower::Task& task) {
    target_ = target;
    return choose(task);
  };
  emit::CompileReport report;
  std::vector<onnx::Problem> problems;
  CAMSHAFT_TRY_ASSIGN(const plan::PlanContents contents,
                      emit::compile_onnx(model_, options, &report, &problems));
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, plan::write_plan(contents));
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, plan::PlanFile::from_bytes(bytes));
  RunnerOptions runner_options;
  runner_options.profile = profile;
  PlanOptions plan_options;
  plan_options.device = device_;
  return PlanRunner::open(std::move(file), plan_options, runner_options);
}

std::optional<tune::Choice> TuningRun::usual(const lower::Task& task) {
  if (std::optional<tune::Choice> decided = known_(task)) return decided;
  return tune::candidates(task, 1).front();
}

// Inputs, and what the oracle says of them.
Status TuningRun::prepare_reference(PlanRunner& runner) {
  InputOptions input_options;
  input_options.fill_missing = true;
  CAMSHAFT_TRY_ASSIGN(inputs_, load_inputs(runner.info().inputs, input_options));
  CAMSHAFT_TRY_ASSIGN(const ir::Graph graph, read_model(model_, runner.file()));
  console_.progress("tuning " + target_ + ": the oracle computes what is right");
  CAMSHAFT_TRY_ASSIGN(const std::vector<ir::OracleTensor> outputs,
                      run_oracle_on(graph, runner.info(), inputs_));
  for (const ir::OracleTensor& output : outputs) expected_.push_back(to_doubles(output));
  return base::ok();
}

// The largest error, in tolerances, of outputs whose extents do not depend on data.
Result<double> TuningRun::error_of(size_t variant, PlanRunner& runner) const {
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> outputs, probe_.run(variant, runner, inputs_));
  double worst = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!runner.info().outputs[i].counted_axes.empty()) continue;
    for (size_t at = 0; at < expected_[i].size(); ++at) {
      const double actual = io::element(outputs[i].dtype, outputs[i].bytes.data(), at);
      worst = std::max(worst, in_tolerances(actual, expected_[i][at]));
    }
  }
  return worst;
}

// Variant 0 is what is done without tuning, and finds out what there is to decide.
Status TuningRun::add_variant(size_t number) {
  size_t launch = 0;
  const auto choose = [&](const lower::Task& task) -> std::optional<tune::Choice> {
    if (number == 0) {
      TunedLaunch found{
          tune::region_key(task), lower::region_description(task),
          tune::candidates(task, task.target.is_gpu ? kMostGpuCandidates : kMostCandidates)};
      found.is_open = !known_(task) && found.candidates.size() > 1;
      launches_.push_back(std::move(found));
      return usual(task);
    }
    const TunedLaunch& known = launches_[launch++];
    if (!known.is_open || number >= known.candidates.size()) return usual(task);
    return known.candidates[number];
  };
  Variant variant;
  CAMSHAFT_TRY_ASSIGN(variant.runner, compile(choose, true));
  variant.launches.resize(launches_.size());
  if (number == 0) CAMSHAFT_TRY(prepare_reference(*variant.runner));
  CAMSHAFT_TRY_ASSIGN(const double error, error_of(number, *variant.runner));
  if (number == 0) error_allowed_ = std::max(1.0, error * kErrorSlack);
  variant.is_good = error <= error_allowed_;
  refused_ += variant.is_good ? 0 : 1;
  variants_.push_back(std::move(variant));
  return base::ok();
}

Result<bool> TuningRun::measure(double seconds) {
  CAMSHAFT_TRY(add_variant(0));
  size_t count = 1;
  for (const TunedLaunch& launch : launches_) {
    if (launch.is_open) count = std::max(count, launch.candidates.size());
  }
  if (count == 1) return false;
  for (size_t number = 1; number < count; ++number) {
    console_.progress(format_text("tuning %s: compiling candidate %zu of %zu", target_.c_str(),
                                  number, count - 1));
    CAMSHAFT_TRY(add_variant(number));
  }
  const int64_t start_ns = base::mono_time_ns();
  for (int round = 0; round < kLeastRounds || base::seconds_since(start_ns) < seconds; ++round) {
    console_.progress("tuning " + target_ + ": measuring, " +
                      percent_text(std::min(base::seconds_since(start_ns) / seconds, 1.0)));
    for (size_t number = 0; number < variants_.size(); ++number) {
      Variant& variant = variants_[number];
      if (!variant.is_good) continue;
      CAMSHAFT_TRY_ASSIGN(const std::vector<int64_t> times, probe_.time(number, *variant.runner));
      for (size_t i = 0; i < times.size(); ++i) variant.launches[i].add(times[i]);
    }
  }
  return true;
}

std::vector<TuningRun::Decision> TuningRun::decisions() const {
  std::map<std::string, std::vector<size_t>> launches_of;
  for (size_t i = 0; i < launches_.size(); ++i) {
    if (launches_[i].is_open) launches_of[launches_[i].key].push_back(i);
  }
  std::vector<Decision> result;
  for (const auto& [key, launches] : launches_of) {
    const TunedLaunch& launch = launches_[launches.front()];
    std::vector<double> times;
    for (size_t v = 0; v < launch.candidates.size(); ++v) {
      double sum = variants_[v].is_good ? 0 : INFINITY;
      for (const size_t i : launches) sum += median_s(variants_[v].launches[i]);
      times.push_back(sum / static_cast<double>(launches.size()));
    }
    size_t best = static_cast<size_t>(std::min_element(times.begin(), times.end()) - times.begin());
    if (times[best] > kWorthIt * times[0]) best = 0;
    const auto entry_of = [&](size_t number) {
      const tune::Choice& choice = launch.candidates[number];
      return tune::TuningEntry{choice.strategy, lower::to_string(choice.knobs), launch.what,
                               times[number] * 1e6, times[0] * 1e6};
    };
    result.push_back({key, entry_of(best), entry_of(0)});
  }
  return result;
}

Result<TuningRun::Gain> TuningRun::compare(const std::vector<Decision>& decisions, double seconds) {
  std::map<std::string, const tune::TuningEntry*> entries;
  for (const Decision& decision : decisions) entries[decision.key] = &decision.entry;
  const size_t result = variants_.size();
  variants_.clear();
  console_.progress("tuning " + target_ + ": checking the result");
  const auto before = [&](const lower::Task& task) { return usual(task); };
  const auto after = [&](const lower::Task& task) {
    const auto entry = entries.find(tune::region_key(task));
    if (entry == entries.end()) return usual(task);
    return tune::find_candidate(task, entry->second->strategy, entry->second->knobs);
  };
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> untuned, compile(before, false));
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> tuned, compile(after, false));
  CAMSHAFT_TRY(untuned->set_inputs(inputs_));
  CAMSHAFT_TRY_ASSIGN(const double error, error_of(result, *tuned));
  if (error > error_allowed_) {
    ++refused_;
    return Gain{};
  }
  Samples samples[2];
  const int64_t start_ns = base::mono_time_ns();
  for (int round = -1; round < kLeastRounds || base::seconds_since(start_ns) < seconds; ++round) {
    PlanRunner* runners[] = {untuned.get(), tuned.get()};
    for (int i = 0; i < 2; ++i) {
      const int64_t run_ns = base::mono_time_ns();
      CAMSHAFT_TRY(runners[i]->session().run({}));
      if (round >= 0) samples[i].add(base::mono_time_ns() - run_ns);
    }
  }
  return Gain{median_s(samples[0]), median_s(samples[1])};
}

}  // namespace camshaft::command
