// SPDX-License-Identifier: MIT
// The device build can't read models.
#include "tools/command/reference.h"

namespace camshaft::command {

base::Result<std::unique_ptr<Reference>> open_model_reference(const ReferenceOptions& options,
                                                              const plan::PlanFile&) {
  return base::fail(base::Code::kInvalidArgument, "compare.model",
                    "%s is no plan, and the device build, which has no compiler, compares plans "
                    "with plans only",
                    options.path.c_str());
}

base::Status bisect(const BisectOptions&, const plan::PlanFile&, std::span<const io::Tensor>,
                    Console&, Json&) {
  return base::fail(base::Code::kInvalidArgument, "compare.bisect",
                    "--bisect needs the compiler, which the device build lacks");
}

}  // namespace camshaft::command
