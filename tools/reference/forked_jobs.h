// SPDX-License-Identifier: MIT
// Runs jobs in child processes, so that one that crashes or hangs costs nobody else's result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace camshaft::reference {

enum class JobEnd : uint8_t { kDone, kCrashed, kTimedOut };

struct JobOptions {
  int processes = 1;
  double limit_s = 60;  // for one job
};

// Runs job(i) for every i below `count`, each process one job after the other, and calls `report`
// here as they end, in no certain order. The text is what the job returned, or, where it did not
// end well, what ended it and the last line of its standard error. Call before starting threads.
void run_forked(
    size_t count, const JobOptions& options, const std::function<std::string(size_t index)>& job,
    const std::function<void(size_t index, JobEnd end, const std::string& text)>& report);

}  // namespace camshaft::reference
