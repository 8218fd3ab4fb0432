// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_passes.h"

#include <algorithm>
#include <utility>

#include "codegen/ir/remove_dead_statements.h"

namespace camshaft::ir {

Kernel prepare_kernel(Kernel kernel, int32_t max_lanes, const MathSupport& support) {
  if (has_images(kernel)) {
    max_lanes = std::min(max_lanes, static_cast<int32_t>(base::kTexelElements));
  }
  kernel = vectorize_loops(std::move(kernel), max_lanes);
  kernel = unroll_loops(std::move(kernel));
  kernel = decompose_math(std::move(kernel), support);
  return remove_dead_statements(std::move(kernel));
}

}  // namespace camshaft::ir
