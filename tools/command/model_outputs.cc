// SPDX-License-Identifier: MIT
#include "tools/command/model_outputs.h"

#include "runtime/base/check.h"
#include "runtime/session/extents.h"

namespace camshaft::command {

std::vector<plan::TensorInfo> model_outputs(const plan::PlanInfo& info) {
  std::vector<plan::TensorInfo> selected;
  for (size_t i = 0; i < info.outputs.size(); ++i) {
    if (plan::is_model_output(info, i)) selected.push_back(info.outputs[i]);
  }
  return selected;
}

std::vector<io::NamedTensor> model_outputs(const plan::PlanInfo& info,
                                           std::span<const io::Tensor> outputs) {
  CAMSHAFT_CHECK(outputs.size() == info.outputs.size());
  std::vector<io::NamedTensor> selected;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!plan::is_model_output(info, i)) continue;
    const plan::TensorInfo& output = info.outputs[i];
    std::vector<int64_t> extents = output.shape;
    if (!output.counted_axes.empty()) {
      session::read_extents(output, outputs[output.count_output].bytes, extents);
    }
    selected.push_back({output.name, io::leading_part(outputs[i], std::move(extents))});
  }
  return selected;
}

}  // namespace camshaft::command
