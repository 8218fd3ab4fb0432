// SPDX-License-Identifier: MIT
#include "tools/command/oracle_run_desktop.h"

#include "codegen/onnx/reader.h"
#include "runtime/base/log_ring.h"

namespace camshaft::command {

using base::Result;

Result<ir::Graph> read_model(const std::string& path, const plan::PlanInfo& info,
                             std::vector<std::string>* files_read) {
  onnx::ReaderOptions options;
  for (const plan::TensorInfo& input : info.inputs) options.shapes[input.name] = input.shape;
  return onnx::read_onnx(path, options, nullptr, files_read);
}

Result<std::vector<ir::OracleTensor>> run_oracle_on(const ir::Graph& graph,
                                                    const plan::PlanInfo& info,
                                                    std::span<const io::Tensor> inputs) {
  std::vector<ir::OracleTensor> ordered;
  for (const ir::GraphInput& wanted : graph.inputs) {
    const ir::TensorType& type = graph.node(wanted.node).type;
    bool found = false;
    for (size_t i = 0; i < info.inputs.size() && !found; ++i) {
      found = info.inputs[i].name == wanted.name && inputs[i].dtype == type.dtype &&
              inputs[i].shape == type.shape;
      if (found) ordered.push_back(ir::to_oracle({type, inputs[i].bytes}));
    }
    if (!found) {
      return base::fail(base::Code::kInvalidArgument, "compare.input",
                        "the model's input '%s' (%s) is no input of the plan", wanted.name.c_str(),
                        ir::to_string(type).c_str());
    }
  }
  return ir::run_oracle(graph, ordered);
}

std::vector<double> to_doubles(const ir::OracleTensor& tensor) {
  if (base::is_float(tensor.type.dtype)) return tensor.floats;
  if (tensor.type.dtype != base::DType::kUInt64) return {tensor.ints.begin(), tensor.ints.end()};
  std::vector<double> numbers;
  for (const int64_t bits : tensor.ints) {
    numbers.push_back(static_cast<double>(static_cast<uint64_t>(bits)));
  }
  return numbers;
}

}  // namespace camshaft::command
