// SPDX-License-Identifier: MIT
#include "tools/command/compile_report_desktop.h"

#include "tools/command/table.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using io::Json;

double step_seconds(const CompileTrail& trail, size_t step) {
  const int64_t end_ns =
      step + 1 < trail.steps.size() ? trail.steps[step + 1].start_ns : trail.end_ns;
  return static_cast<double>(end_ns - trail.steps[step].start_ns) * 1e-9;
}

std::string targets_text(const CompileTrail& trail) {
  Table table({{"target"},
               {"nodes", Align::kRight},
               {"launches", Align::kRight},
               {"kernels", Align::kRight},
               {"work", Align::kRight},
               {"arena", Align::kRight},
               {"at least", Align::kRight},
               {"weights", Align::kRight},
               {"binary", Align::kRight},
               {"strategies"}});
  for (const emit::TargetReport& target : trail.report.targets) {
    std::vector<std::string> strategies;
    for (const auto& [name, count] : target.strategies) {
      strategies.push_back(format_text("%d %s", count, name.c_str()));
    }
    table.add_row({target.target, std::to_string(target.nodes), std::to_string(target.regions),
                   std::to_string(target.kernels), flops_text(static_cast<double>(target.flops)),
                   bytes_text(static_cast<uint64_t>(target.arena_bytes)),
                   bytes_text(static_cast<uint64_t>(target.arena_lower_bound_bytes)),
                   bytes_text(static_cast<uint64_t>(target.weight_bytes)),
                   bytes_text(static_cast<uint64_t>(target.binary_bytes)), join(strategies, ", ")});
  }
  return table.text();
}

// What speed costs in accuracy.
std::string winograd_text(const CompileTrail& trail) {
  std::string text;
  for (const emit::TargetReport& target : trail.report.targets) {
    if (target.winograd_error == 0) continue;
    text += format_text(
        "%s: rounding errors of a Winograd convolution are up to %.1e of its result (rms)\n",
        target.target.c_str(), target.winograd_error);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string compile_text(const CompileTrail& trail, const WrittenPlan& plan) {
  Table steps({{"step"}, {"time", Align::kRight}});
  for (size_t i = 0; i < trail.steps.size(); ++i) {
    steps.add_row({trail.steps[i].what, duration_text(step_seconds(trail, i))});
  }
  return targets_text(trail) + winograd_text(trail) + accuracy_text(trail.accuracy) + "\n" +
         steps.text() + "\n" + printable(plan.path) + ": " + bytes_text(plan.file_bytes) +
         ", hash " + plan.hash + "\n";
}

Json compile_json(const CompileTrail& trail, const WrittenPlan& plan) {
  Json json = {{"model", plan.model},
               {"plan", plan.path},
               {"file_bytes", plan.file_bytes},
               {"hash", plan.hash},
               {"nodes_read", trail.report.nodes}};
  json["targets"] = Json::array();
  for (const emit::TargetReport& target : trail.report.targets) {
    json["targets"].push_back({{"target", target.target},
                               {"nodes", target.nodes},
                               {"launches", target.regions},
                               {"kernels", target.kernels},
                               {"strategies", target.strategies},
                               {"flops", target.flops},
                               {"arena_bytes", target.arena_bytes},
                               {"arena_lower_bound_bytes", target.arena_lower_bound_bytes},
                               {"weights_bytes", target.weight_bytes},
                               {"binary_bytes", target.binary_bytes},
                               {"winograd_error", target.winograd_error},
                               {"seconds", target.seconds}});
  }
  if (!trail.accuracy.empty()) json["accuracy"] = accuracy_json(trail.accuracy);
  json["steps"] = Json::array();
  for (size_t i = 0; i < trail.steps.size(); ++i) {
    json["steps"].push_back({{"what", trail.steps[i].what}, {"seconds", step_seconds(trail, i)}});
  }
  return json;
}

Json problems_json(const std::vector<onnx::Problem>& problems) {
  Json list = Json::array();
  for (const onnx::Problem& problem : problems) {
    list.push_back({{"kind", base::code_name(problem.code)},
                    {"node", problem.node},
                    {"op_type", problem.op_type},
                    {"sentence", problem.sentence}});
  }
  return list;
}

}  // namespace camshaft::command
