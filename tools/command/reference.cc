// SPDX-License-Identifier: MIT
#include "tools/command/reference.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "runtime/plan/describe.h"
#include "runtime/plan/format.h"
#include "tools/command/input_options.h"
#include "tools/command/model_outputs.h"
#include "tools/command/plan_runner.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;
using io::NamedTensor;
using io::Tensor;

std::string list_text(const std::vector<plan::TensorInfo>& tensors) {
  std::vector<std::string> parts;
  for (const plan::TensorInfo& tensor : tensors) parts.push_back(input_text(tensor));
  return join(parts, ", ");
}

// Whether a tensor can be what an output was in a run.
bool fits(const plan::TensorInfo& output, const Tensor& tensor) {
  std::vector<int64_t> shape = tensor.shape;
  if (tensor.dtype != output.dtype || shape.size() != output.shape.size()) return false;
  for (const int64_t axis : output.counted_axes) {
    shape[static_cast<size_t>(axis)] = output.shape[static_cast<size_t>(axis)];
  }
  return shape == output.shape;
}

class PlanReference final : public Reference {
 public:
  PlanReference(std::unique_ptr<PlanRunner> runner, const plan::PlanFile& plan, std::string path)
      : runner_(std::move(runner)),
        info_(plan.info()),
        frozen_(frozen_inputs(plan)),
        path_(std::move(path)) {}

  const std::string& engine() const override { return engine_; }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    CAMSHAFT_TRY_ASSIGN(const std::vector<Tensor> ordered, order_inputs(inputs));
    CAMSHAFT_TRY_ASSIGN(const std::vector<Tensor> outputs, runner_->run(ordered));
    return select_outputs(info_, model_outputs(runner_->info(), outputs), path_);
  }

  // The inputs by name, in the order of the reference; also those that only the plan has frozen.
  Result<std::vector<Tensor>> order_inputs(std::span<const Tensor> inputs) const {
    std::vector<Tensor> ordered;
    size_t used = 0;
    for (const plan::TensorInfo& wanted : runner_->info().inputs) {
      const auto fits = [&](const std::string& name, const Tensor& tensor) {
        return name == wanted.name && tensor.dtype == wanted.dtype && tensor.shape == wanted.shape;
      };
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!fits(info_.inputs[i].name, inputs[i])) continue;
        ordered.push_back(inputs[i]);
        ++used;
      }
      for (const NamedTensor& frozen : frozen_) {
        if (fits(frozen.name, frozen.tensor)) ordered.push_back(frozen.tensor);
      }
    }
    if (used == inputs.size() && ordered.size() == runner_->info().inputs.size()) return ordered;
    return base::fail(
        Code::kInvalidArgument, "compare.inputs", "the plans have different inputs: %s; and %s: %s",
        list_text(info_.inputs).c_str(), path_.c_str(), list_text(runner_->info().inputs).c_str());
  }

 private:
  std::unique_ptr<PlanRunner> runner_;
  const plan::PlanInfo& info_;
  std::vector<NamedTensor> frozen_;
  std::string path_;
  std::string engine_ = "plan";
};

}  // namespace

bool is_plan_file(const std::string& path) {
  std::error_code ignored;  // what can't be looked at is none
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::array<unsigned char, 8> head{};
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return false;
  const size_t size = std::fread(head.data(), 1, head.size(), file);
  std::fclose(file);
  return size == head.size() && std::equal(head.begin(), head.end(), plan::kMagic.begin());
}

Result<std::vector<Tensor>> select_outputs(const plan::PlanInfo& info,
                                           std::vector<NamedTensor> tensors,
                                           const std::string& who) {
  std::vector<Tensor> selected;
  Status failure;
  for (const plan::TensorInfo& output : model_outputs(info)) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& named) {
      return named.name == output.name;
    });
    if (found != tensors.end() && fits(output, found->tensor)) {
      selected.push_back(std::move(found->tensor));
      continue;
    }
    failure = base::fail(Code::kInvalidArgument, "compare.outputs",
                         "the plan's output %s is %s in %s", input_text(output).c_str(),
                         found == tensors.end()
                             ? "missing"
                             : io::type_text(found->tensor.dtype, found->tensor.shape).c_str(),
                         who.c_str());
  }
  CAMSHAFT_TRY(failure);
  return selected;
}

std::vector<NamedTensor> frozen_inputs(const plan::PlanFile& plan) {
  std::vector<NamedTensor> named;
  const std::vector<base::Bytes> values = plan::frozen_values(plan);
  for (size_t i = 0; i < values.size(); ++i) {
    const plan::TensorInfo& input = plan.info().frozen[i];
    named.push_back({input.name, {input.dtype, input.shape, {values[i].begin(), values[i].end()}}});
  }
  return named;
}

Result<std::unique_ptr<Reference>> open_reference(const ReferenceOptions& options,
                                                  const plan::PlanFile& plan) {
  if (!is_plan_file(options.path)) return open_model_reference(options, plan);
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, open_plan_file(options.path, ""));
  PlanOptions plan_options;
  plan_options.device = options.device;
  CAMSHAFT_TRY_ASSIGN(std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), plan_options));
  return std::unique_ptr<Reference>(
      std::make_unique<PlanReference>(std::move(runner), plan, options.path));
}

}  // namespace camshaft::command
