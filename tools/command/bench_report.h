// SPDX-License-Identifier: MIT
// What `camshaft bench` is told, measures and prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "tools/command/bench_loop.h"
#include "tools/command/input_options.h"
#include "tools/command/kernel_report.h"
#include "tools/command/peak.h"
#include "tools/command/plan_runner.h"
#include "tools/io/json.h"

namespace camshaft::command {

// As given on the command line.
struct BenchOptions {
  PlanOptions plan;
  InputOptions inputs;
  double duration_s = 3;
  uint64_t iterations = 0;
  double warmup_s = 0.5;
  double rate_hz = 0;
  double deadline_ms = 0;
  std::vector<double> percents = {50, 90, 99, 99.9};
  std::string cpus;
  int priority = 0;
  bool lock_memory = false;
  bool kernels = false;
  bool peak = false;
};

// All that was measured.
struct BenchResults {
  double load_s = 0;
  double first_run_s = 0;
  LoopResult loop;
  std::optional<Peak> peak;
  std::optional<KernelProfile> profile;
};

// The settings in effect, and the tables of what was measured.
std::string bench_text(const BenchOptions& options, const BenchResults& results,
                       const plan::TargetInfo& target, bool is_for_terminal);
io::Json bench_json(const BenchOptions& options, const BenchResults& results,
                    const plan::TargetInfo& target);

}  // namespace camshaft::command
