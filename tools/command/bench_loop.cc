// SPDX-License-Identifier: MIT
#include "tools/command/bench_loop.h"

#include <sys/resource.h>

#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/realtime/deadline.h"

namespace camshaft::command {
namespace {

using base::mono_time_ns;
using base::Result;

// Room for samples that is made beforehand; more is made as needed, between runs.
constexpr size_t kMaxReserved = 1 << 22;

Usage usage_now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {usage.ru_minflt, usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw,
          seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

Usage operator-(const Usage& after, const Usage& before) {
  return {after.minor_faults - before.minor_faults, after.major_faults - before.major_faults,
          after.voluntary_switches - before.voluntary_switches,
          after.involuntary_switches - before.involuntary_switches,
          after.cpu_seconds - before.cpu_seconds};
}

// Runs until the time is over, at least once; returns the shortest duration.
Result<int64_t> warm_up(session::Session& session, int64_t warmup_ns) {
  const int64_t end_ns = mono_time_ns() + warmup_ns;
  int64_t shortest_ns = INT64_MAX;
  int64_t now_ns = mono_time_ns();
  do {
    CAMSHAFT_TRY(session.run({}));
    const int64_t done_ns = mono_time_ns();
    shortest_ns = std::min(shortest_ns, std::max<int64_t>(1, done_ns - now_ns));
    now_ns = done_ns;
  } while (now_ns < end_ns);
  return shortest_ns;
}

size_t expected_runs(const LoopOptions& options, int64_t shortest_ns) {
  const int64_t interval_ns = std::max(shortest_ns, options.period_ns.value_or(1));
  const uint64_t runs = options.iterations > 0
                            ? options.iterations
                            : static_cast<uint64_t>(options.duration_ns / interval_ns) + 1024;
  return std::min<uint64_t>(runs, kMaxReserved);
}

class Loop {
 public:
  Loop(session::Session& session, const LoopOptions& options, LoopResult& result)
      : session_(session),
        options_(options),
        result_(result),
        start_ns_(mono_time_ns()),
        schedule_(start_ns_, options.period_ns.value_or(1),
                  options.deadline_ns.value_or(options.period_ns.value_or(1))) {}

  bool is_over(int64_t now_ns) const {
    return options_.iterations > 0 ? result_.samples.count() >= options_.iterations
                                   : now_ns - start_ns_ >= options_.duration_ns;
  }
  double share(int64_t now_ns) const {
    return options_.iterations > 0 ? static_cast<double>(result_.samples.count()) /
                                         static_cast<double>(options_.iterations)
                                   : static_cast<double>(now_ns - start_ns_) /
                                         static_cast<double>(options_.duration_ns);
  }
  // One run, when it is due; returns when it was done. None if it is due after the end: then waits
  // for that.
  Result<int64_t> step() {
    realtime::Frame frame;
    frame.deadline_ns = INT64_MAX;
    if (options_.period_ns) {
      frame = schedule_.next(mono_time_ns());
      const bool is_after_end =
          options_.iterations == 0 && frame.start_ns - start_ns_ >= options_.duration_ns;
      realtime::sleep_until(is_after_end ? start_ns_ + options_.duration_ns : frame.start_ns);
      if (is_after_end) return std::max(mono_time_ns(), start_ns_ + options_.duration_ns);
    }
    const int64_t begin_ns = mono_time_ns();
    if (!options_.period_ns && options_.deadline_ns) {
      frame.deadline_ns = begin_ns + *options_.deadline_ns;
    }
    CAMSHAFT_TRY(session_.run({}));
    const int64_t end_ns = mono_time_ns();
    result_.samples.add(end_ns - begin_ns);
    note_lateness(end_ns - frame.deadline_ns);
    if (options_.period_ns) schedule_.finish(frame, end_ns);
    return end_ns;
  }
  void finish(int64_t end_ns) {
    result_.seconds = static_cast<double>(end_ns - start_ns_) * 1e-9;
    result_.skipped = schedule_.skipped_count();
    result_.samples.sort();
  }

 private:
  void note_lateness(int64_t lateness_ns) {
    if (lateness_ns <= 0) return;
    ++result_.late;
    result_.worst_lateness_s =
        std::max(result_.worst_lateness_s, static_cast<double>(lateness_ns) * 1e-9);
  }

  session::Session& session_;
  const LoopOptions& options_;
  LoopResult& result_;
  int64_t start_ns_;
  realtime::FrameSchedule schedule_;
};

}  // namespace

Result<LoopResult> run_loop(session::Session& session, const LoopOptions& options,
                            const std::function<void(double)>& progress) {
  LoopResult result;
  CAMSHAFT_TRY_ASSIGN(const int64_t shortest_ns, warm_up(session, options.warmup_ns));
  result.samples.reserve(expected_runs(options, shortest_ns));
  const Usage before = usage_now();
  Loop loop(session, options, result);
  int64_t now_ns = 0;
  do {
    CAMSHAFT_TRY_ASSIGN(now_ns, loop.step());
    progress(std::min(1.0, loop.share(now_ns)));
  } while (!loop.is_over(now_ns));
  result.usage = usage_now() - before;
  loop.finish(now_ns);
  return result;
}

}  // namespace camshaft::command
