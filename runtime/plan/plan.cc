// SPDX-License-Identifier: MIT
#include "runtime/plan/plan.h"

namespace camshaft::plan {

uint64_t TensorInfo::size_bytes() const {
  uint64_t size = static_cast<uint64_t>(base::dtype_size_bytes(dtype));
  for (const int64_t extent : shape) size *= static_cast<uint64_t>(extent);
  return size;
}

}  // namespace camshaft::plan
