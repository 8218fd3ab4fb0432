// SPDX-License-Identifier: MIT
#include "tools/command/bench_report.h"

#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

double total_flops(const plan::TargetInfo& target) {
  double flops = 0;
  for (const plan::CommandInfo& command : target.commands) {
    flops += static_cast<double>(command.flops);
  }
  return flops;
}

std::string settings_text(const BenchOptions& options) {
  const std::string length =
      options.iterations > 0
          ? format_text("%llu runs", static_cast<unsigned long long>(options.iterations))
          : duration_text(options.duration_s);
  std::string text =
      "settings: " + length + " after " + duration_text(options.warmup_s) + " of warm-up, ";
  text += options.rate_hz > 0 ? format_text("%g runs a second", options.rate_hz)
                              : "one run after another";
  if (options.deadline_ms > 0) text += format_text(", deadline %g ms", options.deadline_ms);
  text += options.cpus.empty() ? ", not pinned" : ", pinned to CPUs " + options.cpus;
  if (options.priority > 0) text += format_text(", SCHED_FIFO priority %d", options.priority);
  if (options.lock_memory) text += ", memory locked";
  text += options.inputs.files.empty() ? ", random inputs of seed " : ", inputs from files, seed ";
  return text + std::to_string(options.inputs.seed) + "\n";
}

std::string latency_text(const BenchOptions& options, const Samples& samples) {
  std::vector<Column> columns = {
      {"", Align::kLeft}, {"min", Align::kRight}, {"mean", Align::kRight}};
  std::vector<std::string> cells = {"latency, ms", format_text("%.4f", samples.min_s() * 1e3),
                                    format_text("%.4f", samples.mean_s() * 1e3)};
  for (const double percent : options.percents) {
    columns.push_back({"p" + percent_name(percent), Align::kRight});
    cells.push_back(format_text("%.4f", samples.percentile_s(percent) * 1e3));
  }
  columns.push_back({"max", Align::kRight});
  cells.push_back(format_text("%.4f", samples.max_s() * 1e3));
  Table table(columns);
  table.add_row(cells);
  std::string text = table.text();
  if (options.rate_hz > 0) {
    text +=
        "latency counts from when a run began, lateness from when it was due: one that began late "
        "can be\nlate however short it was\n";
  }
  return text;
}

std::string results_text(const BenchOptions& options, const BenchResults& results,
                         const plan::TargetInfo& target) {
  const LoopResult& loop = results.loop;
  Table table({{""}, {"", Align::kRight}, {""}});
  table.add_row(
      {"load", duration_text(results.load_s), "file checked, device open, session ready"});
  table.add_row({"first run", duration_text(results.first_run_s)});
  const double per_second = static_cast<double>(loop.samples.count()) / loop.seconds;
  const double gflops = total_flops(target) * 1e-9 / loop.samples.percentile_s(50);
  table.add_row({"runs", std::to_string(loop.samples.count()),
                 format_text("in %s, %.1f a second; %.2f GFLOP/s at p50",
                             duration_text(loop.seconds).c_str(), per_second, gflops)});
  if (results.peak) {
    table.add_row(
        {"peak", format_text("%.1f GFLOP/s", results.peak->gflops),
         format_text("of one thread, %s; the plan reaches %s", results.peak->method,
                     percent_text(gflops / (results.peak->gflops * target.threads)).c_str())});
  }
  if (options.rate_hz > 0 || options.deadline_ms > 0) {
    table.add_row({"late", std::to_string(loop.late),
                   format_text("done after the deadline, at worst by %s; %llu periods skipped",
                               duration_text(loop.worst_lateness_s).c_str(),
                               static_cast<unsigned long long>(loop.skipped))});
  }
  const Usage& usage = loop.usage;
  table.add_row(
      {"page faults", std::to_string(usage.minor_faults + usage.major_faults),
       format_text("%lld of them from disk", static_cast<long long>(usage.major_faults))});
  table.add_row({"switches", std::to_string(usage.voluntary_switches + usage.involuntary_switches),
                 format_text("of context, %lld of them forced",
                             static_cast<long long>(usage.involuntary_switches))});
  table.add_row({"CPU time", duration_text(usage.cpu_seconds),
                 percent_text(usage.cpu_seconds / loop.seconds) + " of one CPU"});
  return table.text() + "\n" + latency_text(options, loop.samples);
}

io::Json settings_json(const BenchOptions& options) {
  return {{"duration_s", options.iterations > 0 ? io::Json() : io::Json(options.duration_s)},
          {"iterations", options.iterations > 0 ? io::Json(options.iterations) : io::Json()},
          {"warmup_s", options.warmup_s},
          {"rate_hz", options.rate_hz > 0 ? io::Json(options.rate_hz) : io::Json()},
          {"deadline_ms", options.deadline_ms > 0 ? io::Json(options.deadline_ms) : io::Json()},
          {"pin", options.cpus.empty() ? io::Json() : io::Json(options.cpus)},
          {"priority", options.priority > 0 ? io::Json(options.priority) : io::Json()},
          {"lock_memory", options.lock_memory},
          {"inputs", options.inputs.files},
          {"seed", options.inputs.seed}};
}

}  // namespace

std::string bench_text(const BenchOptions& options, const BenchResults& results,
                       const plan::TargetInfo& target, bool is_for_terminal) {
  std::string text = settings_text(options) + "\n" + results_text(options, results, target);
  if (results.profile) text += "\n" + kernels_text(target, &*results.profile, is_for_terminal);
  return text;
}

io::Json bench_json(const BenchOptions& options, const BenchResults& results,
                    const plan::TargetInfo& target) {
  const LoopResult& loop = results.loop;
  const double flops = total_flops(target);
  io::Json json = {{"settings", settings_json(options)},
                   {"load_ms", results.load_s * 1e3},
                   {"first_run_ms", results.first_run_s * 1e3},
                   {"runs", loop.samples.count()},
                   {"seconds", loop.seconds},
                   {"runs_per_second", static_cast<double>(loop.samples.count()) / loop.seconds},
                   {"latency_ms", samples_json(loop.samples, options.percents)},
                   {"flops", flops},
                   {"gflops", flops * 1e-9 / loop.samples.percentile_s(50)}};
  json["deadline"] = {{"late", loop.late},
                      {"skipped", loop.skipped},
                      {"worst_lateness_ms", loop.worst_lateness_s * 1e3}};
  json["usage"] = {{"minor_faults", loop.usage.minor_faults},
                   {"major_faults", loop.usage.major_faults},
                   {"voluntary_switches", loop.usage.voluntary_switches},
                   {"involuntary_switches", loop.usage.involuntary_switches},
                   {"cpu_s", loop.usage.cpu_seconds}};
  if (results.peak) {
    json["peak"] = {{"gflops", results.peak->gflops}, {"method", results.peak->method}};
  }
  if (results.profile) json["kernels"] = kernels_json(target, &*results.profile);
  return json;
}

}  // namespace camshaft::command
