// SPDX-License-Identifier: MIT
// The measured part of `camshaft bench`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/session/session.h"
#include "tools/command/samples.h"

namespace camshaft::command {

struct LoopOptions {
  int64_t duration_ns = 0;             // ends after this, or
  uint64_t iterations = 0;             // after so many runs, if not 0
  int64_t warmup_ns = 0;               // runs that don't count before
  std::optional<int64_t> period_ns;    // a run at the beginning of each; else one after another
  std::optional<int64_t> deadline_ns;  // from a run's due time to its end; by default the period
};

// What the operating system counted during the measured runs: of the whole process.
struct Usage {
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
  double cpu_seconds = 0;  // user and system, all threads
};

struct LoopResult {
  Samples samples;       // of session.run(), sorted
  double seconds = 0;    // from the first measured run's beginning to the last one's end
  uint64_t late = 0;     // runs that were done after their deadline
  uint64_t skipped = 0;  // periods that passed without a run, because one before took too long
  double worst_lateness_s = 0;
  Usage usage;
};

// Runs the session's entry point "run" as told; at least once. `progress` is called between runs
// with the share done so far, 0 to 1. Fails as the run that fails.
base::Result<LoopResult> run_loop(session::Session& session, const LoopOptions& options,
                                  const std::function<void(double)>& progress);

}  // namespace camshaft::command
