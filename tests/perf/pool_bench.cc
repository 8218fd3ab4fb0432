// SPDX-License-Identifier: MIT
// What the thread pool costs: a barrier between steps, the start of a list for workers that spin
// and for workers that sleep, and processor time while idle.
//
//   pool_bench [THREADS...]     default: 1, 2, 4, ... up to the usable CPUs
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "devices/cpu/host_cpu.h"
#include "devices/cpu/thread_pool.h"
#include "runtime/base/clock.h"
#include "runtime/realtime/deadline.h"

using namespace camshaft;

namespace {

constexpr uint32_t kSpinNs = 30'000;
constexpr int kRounds = 300;

void do_nothing(void* const*, int64_t, int64_t) {}

cpu::StepList make_list(uint32_t steps, uint32_t parts) {
  cpu::StepList list;
  list.steps.assign(steps, cpu::Step{.parts = parts, .extent = parts, .function = do_nothing});
  list.params.push_back(nullptr);
  list.most_parts = parts;
  return list;
}

// Nanoseconds of one run: the median and the 99th percentile of many, each after `pause_ns` of
// rest.
struct Times {
  double median_ns = 0;
  double p99_ns = 0;
};
Times time_runs(cpu::ThreadPool& pool, const cpu::StepList& list, int64_t pause_ns) {
  std::vector<int64_t> times;
  for (int i = 0; i < kRounds; ++i) {
    if (pause_ns > 0) realtime::sleep_until(base::mono_time_ns() + pause_ns);
    const int64_t start_ns = base::mono_time_ns();
    pool.run(list);
    times.push_back(base::mono_time_ns() - start_ns);
  }
  std::sort(times.begin(), times.end());
  return {static_cast<double>(times[kRounds / 2]), static_cast<double>(times[kRounds * 99 / 100])};
}

double idle_share(cpu::ThreadPool& pool, const cpu::StepList& list) {
  pool.run(list);
  realtime::sleep_until(base::mono_time_ns() + 5'000'000);
  const auto cpu_time_ns = [] {
    timespec time = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double before_ns = cpu_time_ns();
  realtime::sleep_until(base::mono_time_ns() + 500'000'000);
  return (cpu_time_ns() - before_ns) / 500e6;
}

int measure(uint32_t threads) {
  auto pool = cpu::ThreadPool::start({.threads = threads, .spin_ns = kSpinNs});
  if (!pool) return 1;
  constexpr uint32_t kSteps = 1000;
  const cpu::StepList long_list = make_list(kSteps, threads);
  const cpu::StepList short_list = make_list(1, threads);
  const Times steps = time_runs(**pool, long_list, 0);
  const Times awake = time_runs(**pool, short_list, 0);
  const Times asleep = time_runs(**pool, short_list, 2'000'000);
  std::printf("%7u %15.1f %15.1f %15.1f %15.1f %15.1f %12.3f %%\n", threads,
              steps.median_ns / kSteps, steps.p99_ns / kSteps, awake.median_ns, asleep.median_ns,
              asleep.p99_ns, 100 * idle_share(**pool, long_list));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<uint32_t> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(static_cast<uint32_t>(std::atoi(argv[i])));
  for (uint32_t n = 1; argc == 1 && n <= cpu::usable_cpu_count(); n *= 2) counts.push_back(n);
  std::printf("%s, spinning for %u us; times in ns\n", cpu::host_cpu().name, kSpinNs / 1000);
  std::printf("%7s %15s %15s %15s %15s %15s %14s\n", "threads", "step", "step p99", "run, awake",
              "run, asleep", "asleep p99", "idle CPU");
  int failed = 0;
  for (const uint32_t threads : counts) failed |= measure(threads);
  return failed;
}
