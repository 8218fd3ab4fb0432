// SPDX-License-Identifier: MIT
#include "tools/command/reference.h"

#include <array>
#include <cstdio>

#include "runtime/plan/format.h"
#include "tools/command/input_options.h"
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

class PlanReference final : public Reference {
 public:
  PlanReference(std::unique_ptr<PlanRunner> runner, const plan::PlanInfo& info, std::string path)
      : runner_(std::move(runner)), info_(info), path_(std::move(path)) {}

  const std::string& engine() const override { return engine_; }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    CAMSHAFT_TRY_ASSIGN(const std::vector<Tensor> ordered, order_inputs(inputs));
    CAMSHAFT_TRY_ASSIGN(std::vector<Tensor> outputs, runner_->run(ordered));
    std::vector<NamedTensor> named;
    for (size_t i = 0; i < outputs.size(); ++i) {
      named.push_back({runner_->info().outputs[i].name, std::move(outputs[i])});
    }
    return select_outputs(info_, std::move(named), path_);
  }

  // The inputs by name, in the order of the reference.
  Result<std::vector<Tensor>> order_inputs(std::span<const Tensor> inputs) const {
    std::vector<Tensor> ordered;
    for (const plan::TensorInfo& wanted : runner_->info().inputs) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const plan::TensorInfo& given = info_.inputs[i];
        if (given.name == wanted.name && given.dtype == wanted.dtype &&
            given.shape == wanted.shape) {
          ordered.push_back(inputs[i]);
        }
      }
    }
    if (ordered.size() == inputs.size() && ordered.size() == runner_->info().inputs.size()) {
      return ordered;
    }
    return base::fail(
        Code::kInvalidArgument, "compare.inputs", "the plans have different inputs: %s; and %s: %s",
        list_text(info_.inputs).c_str(), path_.c_str(), list_text(runner_->info().inputs).c_str());
  }

 private:
  std::unique_ptr<PlanRunner> runner_;
  const plan::PlanInfo& info_;
  std::string path_;
  std::string engine_ = "plan";
};

}  // namespace

bool is_plan_file(const std::string& path) {
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
  for (const plan::TensorInfo& output : info.outputs) {
    NamedTensor* found = nullptr;
    for (NamedTensor& named : tensors) {
      if (named.name == output.name) found = &named;
    }
    const bool fits = found != nullptr && found->tensor.dtype == output.dtype &&
                      found->tensor.shape == output.shape;
    if (!fits) {
      return base::fail(Code::kInvalidArgument, "compare.outputs",
                        "the plan's output %s is %s in %s", input_text(output).c_str(),
                        found == nullptr
                            ? "missing"
                            : io::type_text(found->tensor.dtype, found->tensor.shape).c_str(),
                        who.c_str());
    }
    selected.push_back(std::move(found->tensor));
  }
  return selected;
}

Result<std::unique_ptr<Reference>> open_reference(const ReferenceOptions& options,
                                                  const plan::PlanInfo& info) {
  if (!is_plan_file(options.path)) return open_model_reference(options, info);
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, open_plan_file(options.path, ""));
  PlanOptions plan_options;
  plan_options.device = options.device;
  CAMSHAFT_TRY_ASSIGN(std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), plan_options));
  return std::unique_ptr<Reference>(
      std::make_unique<PlanReference>(std::move(runner), info, options.path));
}

}  // namespace camshaft::command
