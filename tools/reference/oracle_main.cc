// SPDX-License-Identifier: MIT
// Runs ONNX models on the oracle, for tests against other implementations.
//
//   oracle [--exact] FOLDER
//
// FOLDER holds cases, or is one. A case is a folder in the layout of the ONNX backend tests:
// model.onnx and test_data_set_0/input_N.pb (TensorProto). For each, the outputs are written to
// test_data_set_0/actual_N.pb and a line is printed:
//
//   CASE <tab> ok | unsupported | invalid argument | corrupt | ... <tab> what is wrong
//
// where several things that are wrong with a model are separated by " | ".
//
// With --exact, values stay in double between nodes; without, each node's result is rounded to its
// dtype. The exit code is 0 if every case could be run.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "codegen/ir/literal.h"
#include "codegen/ir/oracle.h"
#include "codegen/onnx/external_files.h"
#include "codegen/onnx/onnx_proto.h"
#include "codegen/onnx/reader.h"
#include "codegen/onnx/tensor_proto.h"
#include "runtime/base/file.h"
#include "runtime/base/log_ring.h"

namespace camshaft {
namespace {

namespace fs = std::filesystem;

struct NamedTensor {
  std::string name;
  std::shared_ptr<const ir::Literal> literal;
};

base::Result<NamedTensor> read_tensor(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path));
  ::onnx::TensorProto tensor;
  onnx::Failure failure{base::Code::kCorrupt, "not a TensorProto"};
  std::shared_ptr<const ir::Literal> literal;
  if (tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    onnx::ExternalFiles none("");
    failure = {};
    literal = onnx::to_literal(tensor, &none, &failure);
  }
  if (literal == nullptr) {
    return base::fail(failure.code, "oracle.tensor", "%s: %s", path.c_str(),
                      failure.sentence.c_str());
  }
  return NamedTensor{tensor.name(), std::move(literal)};
}

base::Result<std::vector<NamedTensor>> read_inputs(const fs::path& data) {
  std::vector<NamedTensor> inputs;
  for (int i = 0;; ++i) {
    const fs::path path = data / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return inputs;
    CAMSHAFT_TRY_ASSIGN(NamedTensor input, read_tensor(path.string()));
    inputs.push_back(std::move(input));
  }
}

// The shape of output i in this run: what its count output says of extents that depend on data.
ir::Shape counted_shape(const ir::Graph& graph, const std::vector<ir::OracleTensor>& outputs,
                        size_t i) {
  ir::Shape shape = outputs[i].type.shape;
  const std::vector<int>& axes = graph.outputs[i].counted_axes;
  const std::string count_name = graph.outputs[i].name + std::string(onnx::kCountSuffix);
  for (size_t j = 0; j < outputs.size() && !axes.empty(); ++j) {
    if (graph.outputs[j].name != count_name) continue;
    for (size_t k = 0; k < axes.size(); ++k) {
      shape[static_cast<size_t>(axes[k])] = outputs[j].ints[k];
    }
  }
  return shape;
}

base::Status run_case(const fs::path& folder, ir::OracleRounding rounding,
                      std::vector<onnx::Problem>* problems) {
  const fs::path data = folder / "test_data_set_0";
  CAMSHAFT_TRY_ASSIGN(const std::vector<NamedTensor> tensors, read_inputs(data));
  onnx::ReaderOptions options;
  for (const NamedTensor& tensor : tensors)
    options.shapes[tensor.name] = tensor.literal->type.shape;
  CAMSHAFT_TRY_ASSIGN(const ir::Graph graph,
                      onnx::read_onnx((folder / "model.onnx").string(), options, problems));
  CAMSHAFT_TRY(ir::verify_graph(graph));
  std::vector<ir::OracleTensor> inputs;
  for (const ir::GraphInput& input : graph.inputs) {
    const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& each) {
      return each.name == input.name;
    });
    if (tensor == tensors.end()) {
      return base::fail(base::Code::kInvalidArgument, "oracle.input", "no input '%s' is given",
                        input.name.c_str());
    }
    inputs.push_back(ir::to_oracle(*tensor->literal));
  }
  CAMSHAFT_TRY_ASSIGN(const std::vector<ir::OracleTensor> outputs,
                      ir::run_oracle(graph, inputs, rounding));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::Literal counted =
        ir::leading_part(ir::to_literal(outputs[i]), counted_shape(graph, outputs, i));
    const std::string bytes =
        onnx::to_tensor_proto(counted, graph.outputs[i].name).SerializeAsString();
    std::ofstream file(data / ("actual_" + std::to_string(i) + ".pb"), std::ios::binary);
    file << bytes;
  }
  return base::ok();
}

std::vector<fs::path> cases_in(const fs::path& folder) {
  if (fs::exists(folder / "model.onnx")) return {folder};
  std::vector<fs::path> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
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

int run(const std::string& folder, ir::OracleRounding rounding) {
  if (!fs::is_directory(folder)) {
    std::fprintf(stderr, "oracle: %s is not a folder\n", folder.c_str());
    return 2;
  }
  int code = 0;
  for (const fs::path& each : cases_in(folder)) {
    const uint64_t sequence = base::log_sequence();
    std::vector<onnx::Problem> problems;
    const base::Status status = run_case(each, rounding, &problems);
    if (!status.is_ok()) code = base::exit_code(status.code());
    std::printf("%s\t%s\t%s\n", each.filename().c_str(), base::code_name(status.code()),
                status.is_ok() ? "" : sentence_of(problems, sequence).c_str());
  }
  return code;
}

}  // namespace
}  // namespace camshaft

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool exact = !arguments.empty() && arguments[0] == "--exact";
  if (arguments.size() != (exact ? 2U : 1U)) {
    std::fprintf(stderr, "usage: oracle [--exact] FOLDER\n");
    return 2;
  }
  return camshaft::run(arguments.back(), exact ? camshaft::ir::OracleRounding::kNone
                                               : camshaft::ir::OracleRounding::kEveryNode);
}
