// SPDX-License-Identifier: MIT
// Outputs of a plan as its model has them.
#pragma once

#include <span>
#include <vector>

#include "runtime/plan/plan.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

// The plan's outputs that the model has, in their order.
std::vector<plan::TensorInfo> model_outputs(const plan::PlanInfo& info);

// What a run gave for these: `outputs` are all of the plan's, in its order; those whose extents
// depend on data are cut to what they were in that run.
std::vector<io::NamedTensor> model_outputs(const plan::PlanInfo& info,
                                           std::span<const io::Tensor> outputs);

}  // namespace camshaft::command
