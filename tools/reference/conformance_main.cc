// SPDX-License-Identifier: MIT
// Runs ONNX models on Camshaft's implementations, for tests against expected values and against
// other implementations.
//
//   conformance [--on exact,oracle,llvm,cpu] [--threads N] [--jobs N] [--limit S] [--together N]
//               FOLDER
//
// FOLDER holds cases, or is one (see backend_case.h). Each case is run on each implementation, in a
// process that may crash or hang without harm to the others. The outputs of every data set are
// written beside its inputs as IMPLEMENTATION_N.pb, and a line is printed, in no certain order:
//
//   CASE <tab> IMPLEMENTATION <tab> ok | unsupported | invalid argument | ... <tab> what is wrong
//
// where several things that are wrong with a model are separated by " | ". "crashed" and "timed
// out" are further words. "oracle" rounds each node's result to its dtype, "exact" keeps doubles
// between nodes. The exit code is 0 if every case could be run.
//
// With --together, N cases at a time are compiled and run as one model, which saves what a driver
// takes for each program; those of which not all can be run are then run one after the other.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tools/reference/backend_case.h"
#include "tools/reference/case_run.h"
#include "tools/reference/forked_jobs.h"
#include "tools/reference/implementation.h"

namespace camshaft::reference {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder;
  std::vector<std::string> on = {kOracle};
  int threads = 1;
  size_t together = 1;
  JobOptions jobs;
};

// Runs all cases on all implementations, several as one model, in processes; what became of them,
// by job (case after case, each on all implementations), where that is known.
std::vector<std::string> run_together(const Options& options, const std::vector<fs::path>& cases,
                                      std::vector<Implementation>& implementations) {
  const size_t each = implementations.size();
  const size_t most = options.together;
  const size_t groups = (cases.size() + most - 1) / most;
  const auto group = [&](size_t index) {
    const size_t first = index / each * most;
    return std::span(cases).subspan(first, std::min(most, cases.size() - first));
  };
  const auto job = [&](size_t index) {
    std::string lines;
    for (const std::string& text :
         run_cases_together(group(index), implementations[index % each])) {
      lines += text + "\n";
    }
    return lines;
  };
  std::vector<std::string> texts(cases.size() * each);
  const auto report = [&](size_t index, JobEnd end, const std::string& text) {
    if (end != JobEnd::kDone) return;
    std::istringstream lines(text);
    for (size_t i = 0; i < group(index).size(); ++i) {
      std::getline(lines, texts[(index / each * most + i) * each + index % each]);
    }
  };
  run_forked(groups * each, options.jobs, job, report);
  return texts;
}

int run(const Options& options) {
  const std::vector<fs::path> cases = cases_in(options.folder);
  std::vector<Implementation> implementations;
  for (const std::string& name : options.on) {
    implementations.emplace_back(name, options.threads);
  }
  const size_t each = implementations.size();
  std::vector<std::string> known(cases.size() * each);
  if (options.together > 1) known = run_together(options, cases, implementations);
  std::vector<size_t> left;
  bool all_ran = true;
  const auto print = [&](size_t index, const std::string& text) {
    if (text.rfind("ok\t", 0) != 0) all_ran = false;
    std::printf("%s\t%s\t%s\n", cases[index / each].filename().c_str(),
                implementations[index % each].name().c_str(), text.c_str());
  };
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].empty()) {
      left.push_back(i);
    } else {
      print(i, known[i]);
    }
  }
  const auto job = [&](size_t i) {
    return run_case(cases[left[i] / each], implementations[left[i] % each]);
  };
  const auto report = [&](size_t i, JobEnd end, const std::string& text) {
    const char* word = end == JobEnd::kCrashed ? "crashed\t" : "timed out\t";
    print(left[i], (end == JobEnd::kDone ? "" : word) + text);
  };
  run_forked(left.size(), options.jobs, job, report);
  return all_ran ? 0 : 1;
}

}  // namespace
}  // namespace camshaft::reference

int main(int argc, char** argv) {
  using namespace camshaft;
  reference::Options options;
  CLI::App app("Runs ONNX test cases on the oracle and on CPU targets", "conformance");
  app.add_option("FOLDER", options.folder, "Cases, or one case")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--on", options.on, "Implementations: oracle, exact, llvm, cpu, llvm:znver3, ...")
      ->delimiter(',');
  app.add_option("--threads", options.threads, "Threads of a target's plans");
  app.add_option("--jobs,-j", options.jobs.processes, "Cases that run at a time")
      ->check(CLI::PositiveNumber);
  app.add_option("--limit", options.jobs.limit_s, "Most seconds for a case");
  app.add_option("--together", options.together, "Cases that are compiled and run as one model")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return reference::run(options);
}
