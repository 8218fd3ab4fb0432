// SPDX-License-Identifier: MIT
// One target of one model under the tuner: its variants, what they take, and what is best.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codegen/emit/compile.h"
#include "codegen/ir/graph.h"
#include "codegen/tune/tuning_db.h"
#include "runtime/base/status.h"
#include "tools/command/console.h"
#include "tools/command/plan_runner.h"
#include "tools/command/samples.h"

namespace camshaft::command {

// A launch: its region and what a variant does for it.
struct TunedLaunch {
  std::string key;   // tune::region_key
  std::string what;  // lower::region_description
  std::vector<tune::Choice> candidates;
  bool is_open = false;  // no entry yet, and more than one candidate
};

// How a variant of the plan is run and timed. Tests put others in its place.
struct TuningProbe {
  // The outputs for inputs that are right for the plan.
  std::function<base::Result<std::vector<io::Tensor>>(size_t variant, PlanRunner& runner,
                                                      const std::vector<io::Tensor>& inputs)>
      run;
  // Runs once more: nanoseconds by command.
  std::function<base::Result<std::vector<int64_t>>(size_t variant, PlanRunner& runner)> time;
};
TuningProbe usual_probe();

class TuningRun {
 public:
  using Known = std::function<std::optional<tune::Choice>(const lower::Task& task)>;

  // `known` gives what is decided already, which stays as it is. `device` is where plans run, as
  // in PlanOptions.
  TuningRun(std::string model, emit::CompileOptions options, Known known, Console& console,
            TuningProbe probe = usual_probe(), std::string device = "")
      : model_(std::move(model)),
        options_(std::move(options)),
        known_(std::move(known)),
        console_(console),
        probe_(std::move(probe)),
        device_(std::move(device)) {}

  // Compiles and checks all variants and runs them in turn for `seconds`. False where there is
  // nothing to decide. kWrongTarget where this machine can't run the target.
  base::Result<bool> measure(double seconds);

  struct Decision {
    std::string key;
    tune::TuningEntry entry;
    tune::TuningEntry usual;  // what is done without tuning
  };
  // The fastest candidate of each open region.
  std::vector<Decision> decisions() const;

  const std::string& target() const { return target_; }  // in full
  size_t variants() const { return variants_.size(); }
  size_t refused() const { return refused_; }  // variants that are outside the tolerance

  // Medians of runs in turn: without and with these decisions. The latter plan is checked, too:
  // both are 0 where the oracle refuses it.
  struct Gain {
    double before_s = 0;
    double after_s = 0;
  };
  base::Result<Gain> compare(const std::vector<Decision>& decisions, double seconds);

 private:
  struct Variant {
    std::unique_ptr<PlanRunner> runner;
    std::vector<Samples> launches;  // by command
    bool is_good = true;
  };
  using Chooser = std::function<std::optional<tune::Choice>(const lower::Task& task)>;

  base::Result<std::unique_ptr<PlanRunner>> compile(const Chooser& choose, bool profile);
  base::Status add_variant(size_t number);
  base::Status prepare_reference(PlanRunner& runner);
  base::Result<double> error_of(size_t variant, PlanRunner& runner) const;
  std::optional<tune::Choice> usual(const lower::Task& task);

  std::string model_;
  emit::CompileOptions options_;
  Known known_;
  Console& console_;
  TuningProbe probe_;
  std::string device_;
  std::string target_;
  std::vector<TunedLaunch> launches_;
  std::vector<Variant> variants_;
  size_t refused_ = 0;
  std::vector<io::Tensor> inputs_;
  std::vector<std::vector<double>> expected_;
  double error_allowed_ = 1;  // in tolerances: 1, or a little more than without tuning
};

}  // namespace camshaft::command
