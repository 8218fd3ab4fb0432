// SPDX-License-Identifier: MIT
// Runs ONNX models on Camshaft's implementations, for tests against expected values and against
// other implementations.
//
//   conformance [--on exact,oracle,llvm,cpu] [--threads N] [--jobs N] [--limit S] FOLDER
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
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/literal.h"
#include "codegen/onnx/reader.h"
#include "runtime/base/log_ring.h"
#include "tools/io/tensor.h"
#include "tools/reference/backend_case.h"
#include "tools/reference/forked_jobs.h"
#include "tools/reference/implementation.h"

namespace camshaft::reference {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder;
  std::vector<std::string> on = {kOracle};
  int threads = 1;
  JobOptions jobs;
};

// The shape of output i in this run: what its count output says of extents that depend on data.
ir::Shape counted_shape(const ir::Graph& graph, const std::vector<ir::Literal>& outputs, size_t i) {
  ir::Shape shape = outputs[i].type.shape;
  const std::vector<int>& axes = graph.outputs[i].counted_axes;
  const std::string count_name = graph.outputs[i].name + std::string(onnx::kCountSuffix);
  for (size_t j = 0; j < outputs.size() && !axes.empty(); ++j) {
    if (graph.outputs[j].name != count_name) continue;
    for (size_t k = 0; k < axes.size(); ++k) {
      shape[static_cast<size_t>(axes[k])] = outputs[j].data<int64_t>()[k];
    }
  }
  return shape;
}

base::Status run_data_set(const fs::path& model, const fs::path& data_set,
                          Implementation& implementation, std::vector<onnx::Problem>* problems) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<NamedTensor> tensors, read_inputs(data_set));
  onnx::ReaderOptions options;
  for (const NamedTensor& tensor : tensors) {
    options.shapes[tensor.name] = tensor.literal->type.shape;
  }
  CAMSHAFT_TRY_ASSIGN(const ir::Graph graph, onnx::read_onnx(model.string(), options, problems));
  CAMSHAFT_TRY(ir::verify_graph(graph));
  CAMSHAFT_TRY_ASSIGN(const std::vector<ir::Literal> outputs, implementation.run(graph, tensors));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::TensorType& type = outputs[i].type;
    io::Tensor counted = io::leading_part({type.dtype, type.shape, outputs[i].bytes},
                                          counted_shape(graph, outputs, i));
    const ir::Literal literal{{type.dtype, std::move(counted.shape)}, std::move(counted.bytes)};
    CAMSHAFT_TRY(write_output(data_set, implementation.name(), i, graph.outputs[i].name, literal));
  }
  return base::ok();
}

// What is wrong with a case, in one line.
std::string sentence_of(const std::vector<onnx::Problem>& problems, uint64_t log_sequence) {
  std::string text;
  for (const onnx::Problem& problem : problems) {
    text += (text.empty() ? "" : " | ") + onnx::to_string(problem);
  }
  if (!text.empty()) return text;
  for (const base::LogLine& line : base::log_lines_after(log_sequence)) text = line.text;
  return text;
}

// The last two fields of the case's line.
std::string run_case(const fs::path& folder, Implementation& implementation) {
  const uint64_t sequence = base::log_sequence();
  std::vector<onnx::Problem> problems;
  base::Status status;
  for (const fs::path& data_set : data_sets_of(folder)) {
    status = run_data_set(folder / "model.onnx", data_set, implementation, &problems);
    if (!status.is_ok()) break;
  }
  return std::string(base::code_name(status.code())) + "\t" +
         (status.is_ok() ? "" : sentence_of(problems, sequence));
}

int run(const Options& options) {
  const std::vector<fs::path> cases = cases_in(options.folder);
  std::vector<Implementation> implementations;
  for (const std::string& name : options.on) {
    implementations.emplace_back(name, options.threads);
  }
  const size_t each = implementations.size();
  const auto job = [&](size_t index) {
    return run_case(cases[index / each], implementations[index % each]);
  };
  bool all_ran = true;
  const auto report = [&](size_t index, JobEnd end, const std::string& text) {
    const char* word = end == JobEnd::kCrashed ? "crashed\t" : "timed out\t";
    if (end == JobEnd::kDone) word = "";
    if (text.rfind("ok\t", 0) != 0) all_ran = false;
    std::printf("%s\t%s\t%s%s\n", cases[index / each].filename().c_str(),
                implementations[index % each].name().c_str(), word, text.c_str());
  };
  run_forked(cases.size() * each, options.jobs, job, report);
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
  CLI11_PARSE(app, argc, argv);
  return reference::run(options);
}
