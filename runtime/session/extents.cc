// SPDX-License-Identifier: MIT
#include "runtime/session/extents.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace camshaft::session {

void read_extents(const plan::TensorInfo& output, base::Bytes counts,
                  std::span<int64_t> extents) noexcept {
  CAMSHAFT_CHECK(extents.size() == output.shape.size());
  CAMSHAFT_CHECK(counts.size() == output.counted_axes.size() * sizeof(int64_t));
  std::copy(output.shape.begin(), output.shape.end(), extents.begin());
  for (size_t i = 0; i < output.counted_axes.size(); ++i) {
    const auto count = base::load_le<int64_t>(counts.data() + i * sizeof(int64_t));
    int64_t& extent = extents[static_cast<size_t>(output.counted_axes[i])];
    extent = std::clamp<int64_t>(count, 0, extent);
  }
}

}  // namespace camshaft::session
