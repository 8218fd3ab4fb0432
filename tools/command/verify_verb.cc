// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/command/difference.h"
#include "tools/command/golden.h"
#include "tools/command/model_outputs.h"
#include "tools/command/number_checks.h"
#include "tools/command/plan_runner.h"
#include "tools/command/report.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Status;

struct Options {
  PlanOptions plan;
  Tolerance tolerance;
};

// What running one golden's inputs showed.
struct Check {
  const plan::Golden* golden = nullptr;
  bool same_target = false;  // then the hash must be equal
  bool hash_equal = false;
  std::vector<NamedDifference> differences;

  bool is_good() const { return same_target ? hash_equal : are_within(differences); }
};

base::Result<Check> check_golden(PlanRunner& runner, const plan::Golden& golden,
                                 const Options& options) {
  const plan::PlanInfo& info = runner.info();
  const base::Bytes stored = runner.file().golden_outputs(golden);
  CAMSHAFT_TRY_ASSIGN(const std::vector<io::Tensor> outputs,
                      runner.run(unpack_golden(runner.file().golden_inputs(golden), info.inputs)));
  Check check;
  check.golden = &golden;
  check.same_target = golden.target == runner.session().target().target;
  check.hash_equal = plan::checksum(pack_golden(outputs)) ==
                     plan::Hash128{golden.output_hash_low, golden.output_hash_high};
  // The hash covers what lies beyond the extents of a run; another target may have other things
  // there.
  const std::vector<io::NamedTensor> actual = model_outputs(info, outputs);
  const std::vector<io::NamedTensor> expected =
      model_outputs(info, unpack_golden(stored, info.outputs));
  for (size_t i = 0; i < actual.size(); ++i) {
    check.differences.push_back({actual[i].name, Difference(options.tolerance)});
    check.differences.back().add(actual[i].tensor, expected[i].tensor);
  }
  return check;
}

std::string check_text(const Check& check) {
  const std::string head = "golden of " + printable(check.golden->target) + ": ";
  if (check.hash_equal) return head + "the same bits\n";
  const char* verdict = check.same_target ? "other bits than this very target gave before"
                        : check.is_good() ? "within tolerance"
                                          : "outside tolerance";
  return head + verdict + "\n" + differences_text(check.differences);
}

Json check_json(const Check& check) {
  return {{"target", check.golden->target},
          {"same_target", check.same_target},
          {"hash_equal", check.hash_equal},
          {"good", check.is_good()},
          {"outputs", differences_json(check.differences)}};
}

Status check_goldens(const Options& options, plan::PlanFile file, Console& console, Json& body) {
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), options.plan));
  console.print(setting_text(options.plan.path, *runner));
  body.update(setting_json(options.plan.path, *runner));
  body["goldens"] = Json::array();
  bool all_good = true;
  for (const plan::Golden& golden : runner->info().goldens) {
    CAMSHAFT_TRY_ASSIGN(const Check check, check_golden(*runner, golden, options));
    console.print(check_text(check));
    body["goldens"].push_back(check_json(check));
    all_good = all_good && check.is_good();
  }
  if (all_good) return base::ok();
  return base::fail(Code::kOutOfTolerance, "verify.golden",
                    "%s gives other outputs than its goldens say", options.plan.path.c_str());
}

Status verify(const Options& options, Console& console, Json& body) {
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, open_plan_file(options.plan.path, options.plan.key));
  const char* signature = !options.plan.key.empty() ? "good" : file.signer() ? "unchecked" : "none";
  body = {{"plan", options.plan.path},
          {"file_bytes", file.file_bytes()},
          {"signature", signature},
          {"goldens", Json::array()}};
  console.print(format_text("file: %s, all checksums are right\nsignature: %s\n",
                            bytes_text(file.file_bytes()).c_str(), signature));
  if (file.signer() && options.plan.key.empty()) {
    console.note("the plan is signed, but without --key the signature means nothing");
  }
  if (file.info().goldens.empty()) {
    console.note("the plan holds no golden outputs (compile --golden), so it was not run");
    return base::ok();
  }
  return check_goldens(options, std::move(file), console, body);
}

}  // namespace

Action declare_verify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_plan_options(app, options->plan, true);
  app.add_option("--atol", options->tolerance.atol,
                 "Absolute tolerance, for goldens that another target made")
      ->type_name("X")
      ->check(zero_or_more())
      ->capture_default_str();
  app.add_option("--rtol", options->tolerance.rtol, "Relative tolerance, likewise")
      ->type_name("X")
      ->check(zero_or_more())
      ->capture_default_str();
  app.footer(
      "Goldens of the target that runs must come out bit for bit. Exit 7: the file is damaged "
      "or not\nsigned by the key; 4: no device here can run it; 5: other outputs.");
  return [options](Console& console) {
    Json body = Json::object();
    const Status status = verify(*options, console, body);
    return status.is_ok() ? console.finish(std::move(body)) : console.fail(status, std::move(body));
  };
}

}  // namespace camshaft::command
