// SPDX-License-Identifier: MIT
// Limits that the compiler and the runtime share.
#pragma once

#include <cstdint>

namespace camshaft::base {

// The most bytes of a tensor or a buffer, far above what models need, so that sums of a few sizes
// can't overflow. The compiler refuses models, and the runtime plans, with anything larger.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

}  // namespace camshaft::base
