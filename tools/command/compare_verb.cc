// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "tools/command/difference.h"
#include "tools/command/input_options.h"
#include "tools/command/model_outputs.h"
#include "tools/command/number_checks.h"
#include "tools/command/plan_runner.h"
#include "tools/command/reference.h"
#include "tools/command/report.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Status;

struct Options {
  PlanOptions plan;
  ReferenceOptions reference;
  InputOptions inputs;
  Tolerance tolerance;
  int trials = 3;
  bool bisect = false;
};

struct Outcome {
  std::vector<NamedDifference> differences;
  std::optional<std::vector<io::Tensor>> failing_inputs;  // of the first trial that was outside
};

Status run_trial(const Options& options, PlanRunner& runner, Reference& reference, int trial,
                 Outcome& outcome) {
  InputOptions input_options = options.inputs;
  input_options.seed += static_cast<uint64_t>(trial);
  CAMSHAFT_TRY_ASSIGN(std::vector<io::Tensor> inputs,
                      load_inputs(runner.info().inputs, input_options));
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> all, runner.run(inputs));
  const std::vector<io::NamedTensor> actual = model_outputs(runner.info(), all);
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> expected, reference.run(inputs));
  for (size_t i = 0; i < actual.size(); ++i) {
    outcome.differences[i].add(actual[i].tensor, expected[i]);
  }
  if (!are_within(outcome.differences) && !outcome.failing_inputs) {
    outcome.failing_inputs = std::move(inputs);
  }
  return base::ok();
}

// With all inputs from files there is nothing to vary.
int trial_count(const Options& options, const plan::PlanInfo& info) {
  InputOptions only_files = options.inputs;
  only_files.fill_missing = false;
  return load_inputs(info.inputs, only_files).has_value() ? 1 : options.trials;
}

Status run_bisect(const Options& options, PlanRunner& runner, const Outcome& outcome,
                  Console& console, Json& body) {
  if (!options.bisect || !outcome.failing_inputs) return base::ok();
  CAMSHAFT_TRY_ASSIGN(std::vector<io::Tensor> outputs, runner.run(*outcome.failing_inputs));
  const BisectOptions bisect_options{options.reference.path, runner.session().target().target,
                                     options.plan.device, options.tolerance, std::move(outputs)};
  return bisect(bisect_options, runner.file(), *outcome.failing_inputs, console, body["bisect"]);
}

// What the plan's dtype has to do with a difference: an end for a sentence, or "".
std::string dtype_caveat(const plan::PlanInfo& info, const std::vector<NamedDifference>& all) {
  if (!info.float_dtype || *info.float_dtype == base::DType::kFloat32) return "";
  const char* dtype = base::dtype_name(*info.float_dtype);
  const bool overflows = std::any_of(all.begin(), all.end(), [](const NamedDifference& named) {
    return named.difference.not_finite_alone() > 0;
  });
  if (overflows) {
    return format_text(
        "; the plan stores %s, which may not hold its values: compile with --dtype "
        "f32",
        dtype);
  }
  return format_text(
      "; the plan stores %s: --rtol and --atol must allow for its rounding, which "
      "compile tells as the relative rms",
      dtype);
}

Status compare(const Options& options, Console& console, Json& body) {
  if (options.bisect && is_plan_file(options.reference.path)) {
    return base::fail(Code::kInvalidArgument, "compare.bisect",
                      "--bisect needs the ONNX model as --ref, not a plan");
  }
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, open_plan_file(options.plan.path, options.plan.key));
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), options.plan));
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<Reference> reference,
                      open_reference(options.reference, runner->file()));
  const int trials = trial_count(options, runner->info());
  console.forget_sentences();
  Outcome outcome;
  for (const plan::TensorInfo& output : model_outputs(runner->info())) {
    outcome.differences.push_back({output.name, Difference(options.tolerance)});
  }
  for (int trial = 0; trial < trials; ++trial) {
    console.progress(trial + 1, trials, "compare with " + options.reference.path);
    CAMSHAFT_TRY(run_trial(options, *runner, *reference, trial, outcome));
  }
  const bool within = are_within(outcome.differences);
  body = setting_json(options.plan.path, *runner);
  body["reference"] = {{"file", options.reference.path}, {"engine", reference->engine()}};
  body["tolerance"] = {{"atol", options.tolerance.atol}, {"rtol", options.tolerance.rtol}};
  body["trials"] = trials;
  body["within"] = within;
  body["outputs"] = differences_json(outcome.differences);
  console.print(setting_text(options.plan.path, *runner) +
                format_text("against %s by %s, %d set%s of inputs, atol %g, rtol %g\n\n",
                            options.reference.path.c_str(), reference->engine().c_str(), trials,
                            trials == 1 ? "" : "s", options.tolerance.atol,
                            options.tolerance.rtol) +
                differences_text(outcome.differences));
  CAMSHAFT_TRY(run_bisect(options, *runner, outcome, console, body));
  if (within) return base::ok();
  console.forget_sentences();
  return base::fail(Code::kOutOfTolerance, "compare.outside", "%s is outside tolerance of %s%s%s",
                    options.plan.path.c_str(), options.reference.path.c_str(),
                    dtype_caveat(runner->info(), outcome.differences).c_str(),
                    reference->caveat().c_str());
}

void declare_options(CLI::App& app, Options& options) {
  options.inputs.fill_missing = true;
  options.reference.engine = "onnxruntime";
  add_plan_options(app, options.plan, true);
  app.add_option(
         "--ref,-r", options.reference.path,
         "The reference: an ONNX model, or a plan, of which the first target that fits runs")
      ->type_name("FILE")
      ->required();
  app.add_option("--engine", options.reference.engine,
                 "What runs a model: onnxruntime (by Python, see tools/setup.sh) or oracle (double "
                 "precision, built in, slow)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"onnxruntime", "oracle"}))
      ->capture_default_str();
  app.add_option("--ref-device", options.reference.device, "Device for a reference plan")
      ->type_name("NAME");
  app.add_option("--atol", options.tolerance.atol, "Absolute tolerance")
      ->type_name("X")
      ->check(zero_or_more())
      ->capture_default_str();
  app.add_option("--rtol", options.tolerance.rtol, "Relative tolerance")
      ->type_name("X")
      ->check(zero_or_more())
      ->capture_default_str();
  add_input_options(app, options.inputs, false);
  app.add_option("--trials", options.trials, "Sets of random inputs, of seed, seed + 1, ...")
      ->type_name("N")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_flag("--bisect", options.bisect,
               "If outside, name the pass or the first value at fault (needs the model)");
  app.footer(
      "An element is within tolerance if |plan - reference| <= atol + rtol * |reference|; exit "
      "5 if one is\nnot.\nInputs that no file gives are random; frozen ones have the value that "
      "they were "
      "compiled with.\n\nExample: camshaft compare "
      "net.plan --ref net.onnx --bisect");
}

}  // namespace

Action declare_compare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  declare_options(app, *options);
  return [options](Console& console) {
    Json body = Json::object();
    const Status status = compare(*options, console, body);
    return status.is_ok() ? console.finish(std::move(body)) : console.fail(status, std::move(body));
  };
}

}  // namespace camshaft::command
