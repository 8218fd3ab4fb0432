// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "runtime/base/clock.h"
#include "runtime/realtime/process.h"
#include "tools/command/bench_loop.h"
#include "tools/command/bench_report.h"
#include "tools/command/cpu_list.h"
#include "tools/command/input_options.h"
#include "tools/command/kernel_report.h"
#include "tools/command/number_checks.h"
#include "tools/command/peak.h"
#include "tools/command/plan_runner.h"
#include "tools/command/report.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

using base::Result;
using base::Status;

// Runs of the profiled session: enough for a median, and no longer than a second or so.
constexpr int kMaxProfiledRuns = 200;
constexpr int kMinProfiledRuns = 5;
constexpr double kProfileSeconds = 1;

// At most 31 years, so that sums of times have room.
int64_t to_ns(double seconds) {
  return static_cast<int64_t>(std::min(seconds * 1e9, 1e18));
}

Status prepare_process(const BenchOptions& options) {
  if (options.lock_memory) CAMSHAFT_TRY(realtime::lock_memory());
  if (options.priority > 0) CAMSHAFT_TRY(realtime::set_realtime_priority(options.priority));
  return base::ok();
}

// The CPUs of the plan's threads; pins this thread, which is the first of them, to its own.
Status pin(const BenchOptions& options, const plan::PlanInfo& info, RunnerOptions& runner_options) {
  if (options.cpus.empty()) return base::ok();
  CAMSHAFT_TRY_ASSIGN(runner_options.cpus, parse_cpu_list(options.cpus));
  uint32_t threads = 1;
  for (const plan::TargetInfo& target : info.targets) threads = std::max(threads, target.threads);
  if (runner_options.cpus.size() < threads) {
    return base::fail(base::Code::kInvalidArgument, "bench.pin",
                      "--pin %s: the plan uses %u threads; name a CPU for each",
                      options.cpus.c_str(), threads);
  }
  runner_options.cpus.resize(threads);
  return realtime::pin_this_thread({runner_options.cpus.data(), 1});
}

// From the file to a session that is ready.
Result<std::unique_ptr<PlanRunner>> load(const BenchOptions& options, bool profile,
                                         double& seconds) {
  const int64_t start_ns = base::mono_time_ns();
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, open_plan_file(options.plan.path, options.plan.key));
  RunnerOptions runner_options;
  runner_options.profile = profile;
  CAMSHAFT_TRY(pin(options, file.info(), runner_options));
  CAMSHAFT_TRY_ASSIGN(std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), options.plan, runner_options));
  seconds = base::seconds_since(start_ns);
  return runner;
}

LoopOptions loop_options(const BenchOptions& options) {
  LoopOptions loop;
  loop.duration_ns = to_ns(options.duration_s);
  loop.iterations = options.iterations;
  loop.warmup_ns = to_ns(options.warmup_s);
  if (options.rate_hz > 0) loop.period_ns = std::max<int64_t>(1, to_ns(1 / options.rate_hz));
  if (options.deadline_ms > 0)
    loop.deadline_ns = std::max<int64_t>(1, to_ns(options.deadline_ms * 1e-3));
  return loop;
}

// A second session, which takes time stamps between the kernels.
Result<KernelProfile> profile_kernels(const BenchOptions& options,
                                      std::span<const io::Tensor> inputs, double run_seconds) {
  double seconds = 0;
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner, load(options, true, seconds));
  CAMSHAFT_TRY(runner->set_inputs(inputs));
  std::vector<Samples> samples(runner->session().target().commands.size());
  const int runs = std::clamp(static_cast<int>(kProfileSeconds / std::max(run_seconds, 1e-6)),
                              kMinProfiledRuns, kMaxProfiledRuns);
  for (int run = -1; run < runs; ++run) {  // the first one warms up
    CAMSHAFT_TRY(runner->session().run({}));
    const std::span<const int64_t> times = runner->session().command_times(0);
    for (size_t i = 0; run >= 0 && i < times.size() && i < samples.size(); ++i) {
      samples[i].add(times[i]);
    }
  }
  KernelProfile profile;
  for (Samples& kernel : samples) {
    if (kernel.count() > 0) kernel.sort();
    profile.seconds.push_back(kernel.count() > 0 ? kernel.percentile_s(50) : 0);
  }
  return profile;
}

Result<BenchResults> measure(const BenchOptions& options, PlanRunner& runner,
                             std::span<const io::Tensor> inputs, Console& console) {
  BenchResults results;
  const int64_t start_ns = base::mono_time_ns();
  CAMSHAFT_TRY(runner.set_inputs(inputs));
  CAMSHAFT_TRY(runner.session().run({}));
  results.first_run_s = base::seconds_since(start_ns);
  const auto progress = [&](double share) {
    console.progress("measuring: " + percent_text(share));
  };
  CAMSHAFT_TRY_ASSIGN(results.loop, run_loop(runner.session(), loop_options(options), progress));
  if (options.peak || options.kernels) results.peak = measure_peak();
  if (options.kernels) {
    CAMSHAFT_TRY_ASSIGN(results.profile,
                        profile_kernels(options, inputs, results.loop.samples.percentile_s(50)));
    results.profile->peak_gflops = results.peak->gflops;
  }
  return results;
}

Status check_deadlines(const BenchOptions& options, const LoopResult& loop) {
  if (options.deadline_ms <= 0 || loop.late + loop.skipped == 0) return base::ok();
  return base::fail(base::Code::kDeadlineExceeded, "bench.deadline",
                    "%llu of %zu runs were late, at worst by %s, and %llu periods were skipped",
                    static_cast<unsigned long long>(loop.late), loop.samples.count(),
                    duration_text(loop.worst_lateness_s).c_str(),
                    static_cast<unsigned long long>(loop.skipped));
}

Status bench(const BenchOptions& options, Console& console, Json& body) {
  CAMSHAFT_TRY(prepare_process(options));
  double load_s = 0;
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner, load(options, false, load_s));
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> inputs,
                      load_inputs(runner->info().inputs, options.inputs));
  CAMSHAFT_TRY_ASSIGN(BenchResults results, measure(options, *runner, inputs, console));
  results.load_s = load_s;
  const plan::TargetInfo& target = runner->session().target();
  console.print(setting_text(options.plan.path, *runner) +
                bench_text(options, results, target, console.prints_to_terminal()));
  body = setting_json(options.plan.path, *runner);
  body.update(bench_json(options, results, target));
  return check_deadlines(options, results.loop);
}

void declare_options(CLI::App& app, BenchOptions& options) {
  options.inputs.fill_missing = true;
  add_plan_options(app, options.plan, true);
  add_input_options(app, options.inputs, false);
  auto* duration = app.add_option("--duration", options.duration_s, "Seconds to measure")
                       ->type_name("S")
                       ->check(above_zero())
                       ->capture_default_str();
  app.add_option("--iterations", options.iterations, "Runs to measure, instead of a duration")
      ->type_name("N")
      ->check(whole_number())
      ->check(above_zero())
      ->excludes(duration);
  app.add_option("--warmup", options.warmup_s, "Seconds of runs before, which don't count")
      ->type_name("S")
      ->check(zero_or_more())
      ->capture_default_str();
  app.add_option("--rate", options.rate_hz,
                 "Runs a second, each when it is due, as with a camera; else one after another")
      ->type_name("HZ")
      ->check(above_zero());
  app.add_option(
         "--deadline", options.deadline_ms,
         "Milliseconds until a run must be done, from when it is due (with --rate) or began; exit "
         "6 "
         "if one is late. With --rate, lateness is counted without it too, against the period")
      ->type_name("MS")
      ->check(above_zero());
  app.add_option("--percentiles", options.percents, "Percentiles to show, such as 50,99,99.9")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(percent())
      ->capture_default_str();
  app.add_option("--pin", options.cpus,
                 "CPUs for the plan's threads, such as 2 or 4-7: one each, the first for the "
                 "calling thread")
      ->type_name("CPUS");
  app.add_option("--priority", options.priority, "Run with SCHED_FIFO at this priority")
      ->type_name("N")
      ->check(CLI::Range(1, 99));
  app.add_flag("--lock-memory", options.lock_memory, "Keep all memory in RAM (mlockall)");
  app.add_flag("--kernels", options.kernels,
               "Also time each kernel, in a session of its own, and hold it against --peak");
  app.add_flag("--peak", options.peak,
               "Also measure the most multiply-adds that one thread does on this machine");
  app.footer(
      "Inputs that no file gives are random. The number of threads is the plan's (compile\n"
      "--threads). Latency is the time from when a run began until it was done. With --rate,\n"
      "a run is late if it is done after its deadline, which counts from when it was due: one\n"
      "that had to wait for the run before it, or for a CPU, can be late although its latency\n"
      "is short.\n\n"
      "Examples:\n  camshaft bench roadnet.plan --rate 20 --deadline 20\n"
      "  camshaft bench roadnet.plan --kernels --json > profile.json");
}

}  // namespace

Action declare_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  declare_options(app, *options);
  return [options](Console& console) {
    Json body = Json::object();
    const Status status = bench(*options, console, body);
    return status.is_ok() ? console.finish(std::move(body)) : console.fail(status, std::move(body));
  };
}

}  // namespace camshaft::command
