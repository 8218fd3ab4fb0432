// SPDX-License-Identifier: MIT
// Parts of tables and documents that several verbs print.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "tools/command/plan_runner.h"
#include "tools/io/json.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

// {"name", "dtype", "shape", "unit"}, and for outputs "slices" and "counted_axes" where there are
// any.
io::Json tensor_json(const plan::TensorInfo& tensor);
io::Json tensors_json(std::span<const plan::TensorInfo> tensors);

// {"plan", "model", "target", "threads", "device"}: what runs where.
io::Json setting_json(const std::string& path, PlanRunner& runner);
// The same as two lines.
std::string setting_text(const std::string& path, PlanRunner& runner);

// Minimum, mean and maximum of the numbers among elements; NaN and infinities are counted apart.
struct Summary {
  uint64_t count = 0;
  uint64_t not_finite = 0;
  double min = 0;
  double mean = 0;
  double max = 0;
};
Summary summarize(base::DType dtype, const std::byte* data, uint64_t first, uint64_t count);
io::Json summary_json(const Summary& summary);

}  // namespace camshaft::command
