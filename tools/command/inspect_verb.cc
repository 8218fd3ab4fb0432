// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "runtime/base/file.h"
#include "runtime/plan/diff.h"
#include "runtime/plan/dump.h"
#include "tools/command/kernel_report.h"
#include "tools/command/output_file.h"
#include "tools/command/plan_report.h"
#include "tools/command/plan_runner.h"
#include "tools/command/schedule_graph.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;

struct Options {
  PlanOptions plan;
  bool kernels = false;
  bool memory = false;
  std::string profile;
  std::string source;
  std::string graph;
  std::string diff;

  // Whether anything but the page of a whole plan is asked for.
  bool wants_part() const {
    return kernels || memory || !source.empty() || !graph.empty() || !diff.empty();
  }
};

Result<const plan::TargetInfo*> find_target(const plan::PlanInfo& info, const std::string& wanted) {
  std::vector<std::string> names;
  for (const plan::TargetInfo& target : info.targets) {
    const std::string backend = target.target.substr(0, target.target.find(':'));
    if (wanted.empty() || wanted == target.target || wanted == backend) return &target;
    names.push_back(target.target);
  }
  return base::fail(Code::kInvalidArgument, "inspect.target",
                    "the plan has no target '%.80s'; it has: %s", wanted.c_str(),
                    join(names, ", ").c_str());
}

Status show_kernels(const Options& options, const plan::TargetInfo& target, Console& console,
                    Json& body) {
  std::optional<KernelProfile> profile;
  if (!options.profile.empty()) {
    CAMSHAFT_TRY_ASSIGN(profile, read_profile(options.profile, target));
  }
  console.print("kernels of " + target.target + "\n\n" +
                kernels_text(target, profile ? &*profile : nullptr, console.prints_to_terminal()) +
                "\n");
  body["kernels"] = kernels_json(target, profile ? &*profile : nullptr);
  return base::ok();
}

Status show_source(const Options& options, const plan::PlanFile& file,
                   const plan::TargetInfo& target, Console& console, Json& body) {
  CAMSHAFT_TRY_ASSIGN(std::string source, unpack_source(file, target));
  if (options.source != "all") {
    CAMSHAFT_TRY_ASSIGN(source, find_source(source, target, options.source));
  }
  console.print(source);
  body["source"] = source;
  return base::ok();
}

Status write_graph(const Options& options, const plan::PlanInfo& info,
                   const plan::TargetInfo& target, Console& console, Json& body) {
  const ScheduleGraph graph = make_schedule_graph(info, target);
  std::string text;
  if (options.graph.ends_with(".svg")) {
    text = to_svg(graph);
  } else if (options.graph.ends_with(".dot")) {
    text = to_dot(graph);
  } else {
    return base::fail(Code::kInvalidArgument, "inspect.graph",
                      "--graph %s: the name must end in .svg (a picture) or .dot (for Graphviz)",
                      options.graph.c_str());
  }
  CAMSHAFT_TRY(base::write_file_atomically(options.graph, base::as_bytes(text)));
  console.print(format_text("%s: %zu boxes and %zu arrows\n", options.graph.c_str(),
                            graph.nodes.size(), graph.edges.size()));
  body["graph"] = {
      {"file", options.graph}, {"nodes", graph.nodes.size()}, {"edges", graph.edges.size()}};
  return base::ok();
}

Status show_target(const Options& options, const plan::PlanFile& file, Console& console,
                   Json& body) {
  CAMSHAFT_TRY_ASSIGN(const plan::TargetInfo* const target,
                      find_target(file.info(), options.plan.target));
  const bool is_named = !options.plan.target.empty();
  if (is_named || options.wants_part()) body["target"] = target->target;
  if (!options.wants_part()) console.print(plan::dump_plan(file, is_named ? target : nullptr));
  if (options.kernels) CAMSHAFT_TRY(show_kernels(options, *target, console, body));
  if (options.memory) {
    console.print("memory of " + target->target + "\n\n" + memory_text(file, *target) + "\n");
    body["memory"] = memory_json(file, *target);
  }
  if (!options.source.empty()) CAMSHAFT_TRY(show_source(options, file, *target, console, body));
  if (!options.graph.empty()) {
    CAMSHAFT_TRY(write_graph(options, file.info(), *target, console, body));
  }
  return base::ok();
}

Status show_differences(const Options& options, const plan::PlanFile& file, Console& console,
                        Json& body) {
  CAMSHAFT_TRY_ASSIGN(const plan::PlanFile other, open_plan_file(options.diff, ""));
  const std::vector<std::string> lines = plan::diff_plans(file, other);
  if (lines.empty()) console.print("no difference\n");
  for (const std::string& line : lines) console.print(printable(line) + "\n");
  body["differences"] = lines;
  return base::ok();
}

Status inspect(const Options& options, Console& console, Json& body) {
  if (!options.graph.empty()) CAMSHAFT_TRY(check_writable("--graph", options.graph));
  CAMSHAFT_TRY_ASSIGN(const plan::PlanFile file,
                      open_plan_file(options.plan.path, options.plan.key));
  body = plan_json(file);
  CAMSHAFT_TRY(show_target(options, file, console, body));
  if (!options.diff.empty()) CAMSHAFT_TRY(show_differences(options, file, console, body));
  return base::ok();
}

}  // namespace

Action declare_inspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_plan_options(app, options->plan, false);
  auto* target =
      app.add_option(
             "--target", options->plan.target,
             "Target to show, such as llvm; by default all on the whole page, and the first for "
             "--kernels, --memory, --source and --graph")
          ->type_name("NAME");
  auto* kernels = app.add_flag("--kernels", options->kernels,
                               "A line a kernel: name, shape, strategy, arithmetic, bytes");
  app.add_option("--profile", options->profile,
                 "Add to --kernels what 'bench --kernels --json' has measured in this file")
      ->type_name("FILE")
      ->needs(kernels);
  app.add_flag("--memory", options->memory, "The arena map, and sizes");
  app.add_option(
         "--source", options->source,
         "Text of a kernel: its symbol, or the name or number of a line of --kernels; or all")
      ->type_name("KERNEL");
  app.add_option("--graph", options->graph,
                 "Write the schedule as a picture, FILE.svg, or for Graphviz, FILE.dot")
      ->type_name("FILE");
  app.add_option("--diff", options->diff, "What differs from this plan to that one")
      ->type_name("FILE")
      ->excludes(target);
  app.footer(
      "Nothing in the plan is run.\n\nExamples:\n  camshaft inspect roadnet.plan --kernels\n"
      "  camshaft inspect old.plan --diff new.plan");
  return [options](Console& console) {
    Json body = Json::object();
    const Status status = inspect(*options, console, body);
    return status.is_ok() ? console.finish(std::move(body)) : console.fail(status);
  };
}

}  // namespace camshaft::command
