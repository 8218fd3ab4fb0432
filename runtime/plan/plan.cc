// SPDX-License-Identifier: MIT
#include "runtime/plan/plan.h"

#include <algorithm>

#include "runtime/base/bytes.h"

namespace camshaft::plan {

uint64_t TensorInfo::size_bytes() const {
  uint64_t size = static_cast<uint64_t>(base::dtype_size_bytes(dtype));
  for (const int64_t extent : shape) size *= static_cast<uint64_t>(extent);
  return size;
}

uint64_t run_bytes(const PlanInfo& info, const TargetInfo& target) {
  std::optional<uint64_t> total = target.arena_bytes;
  const auto add = [&](uint64_t bytes) {
    if (total) total = base::checked_add(*total, bytes);
  };
  for (const StateInfo& state : target.states) add(state.size_bytes);
  for (const TensorInfo& input : info.inputs) add(input.size_bytes());
  for (const TensorInfo& output : info.outputs) add(output.size_bytes());
  return total.value_or(UINT64_MAX);
}

bool is_model_output(const PlanInfo& info, size_t output) {
  if (info.exceeded_output == output) return false;
  return std::none_of(info.outputs.begin(), info.outputs.end(), [&](const TensorInfo& other) {
    return !other.counted_axes.empty() && other.count_output == output;
  });
}

}  // namespace camshaft::plan
