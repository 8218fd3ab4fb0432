// SPDX-License-Identifier: MIT
#include "tools/command/oracle_run_desktop.h"

#include "runtime/base/log_ring.h"
#include "tools/command/reference.h"

namespace camshaft::command {

using base::Result;

Result<ir::Graph> read_model(const std::string& path, const plan::PlanFile& plan,
                             onnx::ReaderSources* sources) {
  onnx::ReaderOptions options;
  options.has_shapes_of_plan = true;
  for (const plan::TensorInfo& input : plan.info().inputs) {
    options.shapes[input.name] = input.shape;
  }
  for (const plan::BoundInfo& bound : plan.info().bounds) options.bounds[bound.name] = bound.most;
  for (io::NamedTensor& named : frozen_inputs(plan)) {
    ir::Literal literal{{named.tensor.dtype, named.tensor.shape}, std::move(named.tensor.bytes)};
    options.frozen[named.name] = std::make_shared<const ir::Literal>(std::move(literal));
  }
  std::vector<onnx::Problem> problems;
  Result<ir::Graph> graph = onnx::read_onnx(path, options, &problems, sources);
  // The first one is in the log ring already.
  for (size_t i = 1; i < problems.size(); ++i) {
    base::log_failure("%s", to_string(problems[i]).c_str());
  }
  return graph;
}

Result<std::vector<ir::OracleTensor>> run_oracle_on(const ir::Graph& graph,
                                                    const plan::PlanInfo& info,
                                                    std::span<const io::Tensor> inputs,
                                                    ir::OracleRounding rounding) {
  std::vector<ir::OracleTensor> ordered;
  base::Status failure;
  for (const ir::GraphInput& wanted : graph.inputs) {
    const ir::TensorType& type = graph.node(wanted.node).type;
    bool found = false;
    for (size_t i = 0; i < info.inputs.size() && !found; ++i) {
      found = info.inputs[i].name == wanted.name && inputs[i].dtype == type.dtype &&
              inputs[i].shape == type.shape;
      if (found) ordered.push_back(ir::to_oracle({type, inputs[i].bytes}));
    }
    if (!found) {
      failure = base::fail(base::Code::kInvalidArgument, "compare.input",
                           "the model's input '%s' (%s) is no input of the plan",
                           wanted.name.c_str(), ir::to_string(type).c_str());
    }
  }
  CAMSHAFT_TRY(failure);
  return ir::run_oracle(graph, ordered, rounding);
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
