// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "codegen/onnx/operators.h"
#include "codegen/render/process.h"
#include "tools/command/input_options.h"
#include "tools/command/model_outputs.h"
#include "tools/command/oracle_run_desktop.h"
#include "tools/command/reference.h"
#include "tools/command/text.h"
#include "tools/io/npz.h"

namespace camshaft::command {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using io::NamedTensor;
using io::Tensor;

constexpr const char* kScript = "tools/reference/ort_run.py";
constexpr const char* kScriptSays = "ort_run: ";
constexpr const char* kPython = "build/venv/bin/python";

// The nearest folder at or above that of this program in which `file` exists.
std::optional<fs::path> find_above(const char* file) {
  std::error_code error;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(); !error;
       folder = folder.parent_path()) {
    if (fs::exists(folder / file, error)) return folder / file;
    if (folder == folder.root_path()) break;
  }
  return std::nullopt;
}

bool is_quantized(const std::string& model) {
  const Result<std::set<std::string>> operators = onnx::operators_of(model);
  if (!operators) return false;
  return std::any_of(operators->begin(), operators->end(), [](const std::string& name) {
    return name.starts_with("QLinear") || name.ends_with("QuantizeLinear") ||
           name.ends_with("DequantizeLinear") || name.ends_with("Integer");
  });
}

// Runs the model by ONNX Runtime, in a Python process for each set of inputs.
class OnnxRuntimeReference final : public Reference {
 public:
  static Result<std::unique_ptr<Reference>> open(const std::string& model,
                                                 const plan::PlanFile& plan) {
    const std::optional<fs::path> script = find_above(kScript);
    if (!script) {
      return base::fail(Code::kNotFound, "compare.script",
                        "there is no %s in a folder above this program, to run the model by ONNX "
                        "Runtime; use --engine oracle",
                        kScript);
    }
    const char* named = std::getenv("CAMSHAFT_PYTHON");
    const std::optional<fs::path> near = find_above(kPython);
    const std::string python = render::find_program({named != nullptr ? named
                                                     : near           ? near->string()
                                                                      : "python3"});
    if (python.empty()) {
      return base::fail(Code::kNotFound, "compare.python",
                        "there is no Python with onnxruntime: run tools/setup.sh, name one in "
                        "CAMSHAFT_PYTHON, or use --engine oracle");
    }
    return std::unique_ptr<Reference>(new OnnxRuntimeReference(
        model, {python, script->string(), fs::absolute(model).string()}, plan));
  }

  const std::string& engine() const override { return engine_; }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    std::vector<NamedTensor> named = frozen_inputs(plan_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      named.push_back({plan_.info().inputs[i].name, inputs[i]});
    }
    CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> given, io::encode_npz(named));
    CAMSHAFT_TRY_ASSIGN(const render::MemoryFile input, render::MemoryFile::make(given));
    CAMSHAFT_TRY_ASSIGN(const render::MemoryFile output, render::MemoryFile::make());
    std::vector<std::string> command = command_;
    command.insert(command.end(), {"--inputs", input.path(), "--outputs", output.path()});
    CAMSHAFT_TRY_ASSIGN(const render::ProcessResult done, render::run_process(command));
    CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> found, output.content());
    if (done.exit_code != 0 || found.empty()) return failure(done);
    CAMSHAFT_TRY_ASSIGN(std::vector<NamedTensor> outputs,
                        io::parse_npz(found, "what ONNX Runtime gave"));
    return select_outputs(plan_.info(), std::move(outputs), "ONNX Runtime");
  }

  std::string caveat() const override {
    if (!is_quantized(model_)) return "";
    return "; the model is quantized, and onnxruntime's sums of products of bytes may saturate at "
           "16 bits: --engine oracle is the exact reference";
  }

 private:
  OnnxRuntimeReference(std::string model, std::vector<std::string> command,
                       const plan::PlanFile& plan)
      : model_(std::move(model)), command_(std::move(command)), plan_(plan) {}

  // The script's own sentence, or what became of it without one.
  base::Status failure(const render::ProcessResult& done) const {
    std::string last;
    for (const std::string& line : split(done.output, '\n')) {
      if (line.starts_with(kScriptSays)) {
        return base::fail(Code::kInvalidArgument, "compare.onnxruntime", "%s: %s", model_.c_str(),
                          printable(line.substr(std::strlen(kScriptSays))).c_str());
      }
      if (!line.empty()) last = line;
    }
    return base::fail(Code::kInvalidArgument, "compare.onnxruntime",
                      "%s, which CAMSHAFT_PYTHON may name, didn't run %s: exit code %d%s%s; is it "
                      "a Python 3 with onnxruntime?",
                      command_[0].c_str(), kScript, done.exit_code, last.empty() ? "" : ", ",
                      printable(last).c_str());
  }

  std::string model_;                 // as the user wrote it
  std::vector<std::string> command_;  // and then the files
  const plan::PlanFile& plan_;
  std::string engine_ = "onnxruntime";
};

class OracleReference final : public Reference {
 public:
  // A graph of a model with the plan's own outputs.
  OracleReference(ir::Graph graph, const plan::PlanInfo& info)
      : graph_(std::move(graph)), info_(info) {}

  // Whether it has them; a sentence for each that differs.
  base::Status check_outputs() const {
    base::Status failure;
    for (const plan::TensorInfo& output : info_.outputs) {
      std::string found = "missing";
      for (const ir::GraphOutput& other : graph_.outputs) {
        if (other.name == output.name) found = to_string(graph_.node(other.node).type);
      }
      if (found == io::type_text(output.dtype, output.shape)) continue;
      failure = base::fail(Code::kInvalidArgument, "compare.outputs",
                           "the plan's output %s is %s in the model", input_text(output).c_str(),
                           found.c_str());
    }
    return failure;
  }

  const std::string& engine() const override { return engine_; }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    CAMSHAFT_TRY_ASSIGN(const std::vector<ir::OracleTensor> results,
                        run_oracle_on(graph_, info_, inputs));
    std::vector<Tensor> outputs(info_.outputs.size());
    for (size_t i = 0; i < results.size(); ++i) {
      for (size_t k = 0; k < outputs.size(); ++k) {
        if (info_.outputs[k].name != graph_.outputs[i].name) continue;
        ir::Literal literal = ir::to_literal(results[i]);
        outputs[k] = {literal.type.dtype, literal.type.shape, std::move(literal.bytes)};
      }
    }
    return select_outputs(info_, model_outputs(info_, outputs), "the model");
  }

 private:
  ir::Graph graph_;
  const plan::PlanInfo& info_;
  std::string engine_ = "oracle";
};

}  // namespace

Result<std::unique_ptr<Reference>> open_model_reference(const ReferenceOptions& options,
                                                        const plan::PlanFile& plan) {
  if (!fs::exists(options.path)) {
    return base::fail(Code::kNotFound, "compare.ref", "there is no file %s", options.path.c_str());
  }
  if (!fs::is_regular_file(options.path)) {
    return base::fail(Code::kInvalidArgument, "compare.ref",
                      "%s is a folder, device or pipe; a regular file is needed",
                      options.path.c_str());
  }
  if (options.engine == "onnxruntime") return OnnxRuntimeReference::open(options.path, plan);
  CAMSHAFT_TRY_ASSIGN(ir::Graph graph, read_model(options.path, plan));
  auto reference = std::make_unique<OracleReference>(std::move(graph), plan.info());
  CAMSHAFT_TRY(reference->check_outputs());
  return std::unique_ptr<Reference>(std::move(reference));
}

}  // namespace camshaft::command
