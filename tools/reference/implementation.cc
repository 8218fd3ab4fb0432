// SPDX-License-Identifier: MIT
#include "tools/reference/implementation.h"

#include <algorithm>
#include <utility>

#include "codegen/emit/compile.h"
#include "devices/registry.h"
#include "runtime/plan/reader.h"
#include "runtime/plan/writer.h"
#include "runtime/session/session.h"

namespace camshaft::reference {

using base::Result;

namespace {

// What stands for the digest of a model's files in a plan that is never kept.
constexpr const char* kNoDigest = "conformance";

Result<std::vector<const ir::Literal*>> in_order(const ir::Graph& graph,
                                                 const std::vector<NamedTensor>& tensors) {
  std::vector<const ir::Literal*> inputs;
  for (const ir::GraphInput& input : graph.inputs) {
    const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& each) {
      return each.name == input.name;
    });
    if (tensor == tensors.end()) {
      return base::fail(base::Code::kInvalidArgument, "reference.input", "no input '%s' is given",
                        input.name.c_str());
    }
    inputs.push_back(tensor->literal.get());
  }
  return inputs;
}

Result<plan::PlanFile> compile(const ir::Graph& graph, const std::string& target, int threads) {
  emit::CompileOptions options;
  options.targets = {target};
  options.threads = threads;
  options.keep_source = false;
  CAMSHAFT_TRY_ASSIGN(const plan::PlanContents contents,
                      emit::compile_graph(graph, kNoDigest, options, nullptr));
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, plan::write_plan(contents));
  return plan::PlanFile::from_bytes(bytes);
}

}  // namespace

Implementation::Implementation(std::string name, int threads)
    : name_(std::move(name)), threads_(threads) {}

Result<std::vector<ir::Literal>> Implementation::run(const ir::Graph& graph,
                                                     const std::vector<NamedTensor>& tensors) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<const ir::Literal*> inputs, in_order(graph, tensors));
  const bool is_oracle = name_ == kOracle || name_ == kExactOracle;
  return is_oracle ? run_on_oracle(graph, inputs) : run_on_target(graph, inputs);
}

Result<std::vector<ir::Literal>> Implementation::run_on_oracle(
    const ir::Graph& graph, const std::vector<const ir::Literal*>& inputs) const {
  std::vector<ir::OracleTensor> tensors;
  for (const ir::Literal* input : inputs) tensors.push_back(ir::to_oracle(*input));
  const auto rounding =
      name_ == kExactOracle ? ir::OracleRounding::kNone : ir::OracleRounding::kEveryNode;
  CAMSHAFT_TRY_ASSIGN(const std::vector<ir::OracleTensor> outputs,
                      ir::run_oracle(graph, tensors, rounding));
  std::vector<ir::Literal> literals;
  for (const ir::OracleTensor& output : outputs) literals.push_back(ir::to_literal(output));
  return literals;
}

Result<std::vector<ir::Literal>> Implementation::run_on_target(
    const ir::Graph& graph, const std::vector<const ir::Literal*>& inputs) {
  CAMSHAFT_TRY_ASSIGN(const plan::PlanFile plan, compile(graph, name_, threads_));
  if (device_ == nullptr) {
    hal::OpenOptions open_options;
    open_options.threads = static_cast<uint32_t>(threads_);
    const std::string& device = plan.info().targets.front().device;
    CAMSHAFT_TRY_ASSIGN(device_, hal::open_device(devices::backends(), device, open_options));
  }
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<session::Session> session,
                      session::Session::open(plan, *device_, {}));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const ir::TensorType& type = inputs[i]->type;
    CAMSHAFT_TRY(session->set_input(i, {type.dtype, type.shape, inputs[i]->bytes}));
  }
  CAMSHAFT_TRY(session->run({}));
  std::vector<ir::Literal> outputs;
  for (uint32_t i = 0; i < graph.outputs.size(); ++i) {
    CAMSHAFT_TRY_ASSIGN(const base::Bytes bytes, session->output(i));
    const plan::TensorInfo& info = plan.info().outputs[i];
    outputs.push_back({{info.dtype, info.shape}, {bytes.begin(), bytes.end()}});
  }
  return outputs;
}

}  // namespace camshaft::reference
