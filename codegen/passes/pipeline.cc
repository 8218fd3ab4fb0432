// SPDX-License-Identifier: MIT
#include "codegen/passes/pipeline.h"

#include <algorithm>
#include <utility>

#include "codegen/passes/passes.h"
#include "codegen/passes/rewriter.h"
#include "runtime/base/clock.h"
#include "runtime/base/nearest.h"

namespace camshaft::passes {
namespace {

struct Pass {
  std::string_view name;
  Graph (*run)(const Graph& graph);
};

// Constants first, so that later passes meet literals instead of arithmetic on them; then what
// brings elementwise nodes next to each other; then what needs them there.
constexpr Pass kPasses[] = {
    {"remove_dead", remove_dead},
    {"fold_constants", fold_constants},
    {"simplify_casts", simplify_casts},
    {"simplify_arithmetic", simplify_arithmetic},
    {"merge_constant_operands", merge_constant_operands},
    {"slice_gathers", slice_gathers},
    {"simplify_movement", simplify_movement},
    {"sink_broadcasts", sink_broadcasts},
    {"sink_reshapes", sink_reshapes},
    {"merge_pads", merge_pads},
    {"widen_halves", widen_halves},
    {"fold_channel_scale", fold_channel_scale},
    {"sort_channels", sort_channels},
    {"merge_common_subexpressions", merge_common_subexpressions},
};

// A few rounds settle a network. Passes that feed each other for ever are a bug, which this bound
// turns into an error.
constexpr int kMaxRounds = 32;

base::Status check_names(const std::set<std::string>& disabled) {
  for (const std::string& name : disabled) {
    const bool known = std::any_of(std::begin(kPasses), std::end(kPasses),
                                   [&](const Pass& pass) { return pass.name == name; });
    if (known) continue;
    std::string all;
    for (const Pass& pass : kPasses) all += (all.empty() ? "" : ", ") + std::string(pass.name);
    return base::fail(base::Code::kInvalidArgument, "pipeline.disabled",
                      "no pass is named '%s'%s; the passes are %s", name.c_str(),
                      base::did_you_mean(name, kPasses, &Pass::name).c_str(), all.c_str());
  }
  return base::ok();
}

// Runs one pass; `changed` says whether it did anything.
base::Status run_pass(const Pass& pass, const PipelineOptions& options, Graph& graph,
                      PassReport& report, bool& changed) {
  const int64_t start_ns = base::mono_time_ns();
  Graph next = pass.run(graph);
  changed = !equal_graphs(graph, next);
  report.duration_ns += base::mono_time_ns() - start_ns;
  ++report.runs;
  if (!changed) return base::ok();
  ++report.changes;
  graph = std::move(next);
  if (options.dump) options.dump(pass.name, graph);
  if (options.verify && !verify_graph(graph).is_ok()) {
    return base::fail(base::Code::kInternal, "pipeline.verify",
                      "pass %s left the graph '%s' broken", std::string(pass.name).c_str(),
                      graph.name.c_str());
  }
  return base::ok();
}

}  // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

base::Result<Graph> run_pipeline(Graph graph, const PipelineOptions& options) {
  CAMSHAFT_TRY(check_names(options.disabled));
  std::vector<Pass> passes;
  std::vector<PassReport> reports;
  for (const Pass& pass : kPasses) {
    if (options.disabled.contains(std::string(pass.name))) continue;
    passes.push_back(pass);
    reports.push_back({pass.name});
  }
  bool settled = false;
  for (int round = 0; round < kMaxRounds && !settled; ++round) {
    settled = true;
    for (size_t i = 0; i < passes.size(); ++i) {
      bool changed = false;
      CAMSHAFT_TRY(run_pass(passes[i], options, graph, reports[i], changed));
      settled = settled && !changed;
    }
  }
  if (options.report != nullptr) *options.report = reports;
  if (!settled) {
    return base::fail(base::Code::kInternal, "pipeline.rounds",
                      "the passes still change the graph '%s' after %d rounds", graph.name.c_str(),
                      kMaxRounds);
  }
  return graph;
}

}  // namespace camshaft::passes
