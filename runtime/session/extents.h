// SPDX-License-Identifier: MIT
// Outputs whose extents depend on data.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/bytes.h"
#include "runtime/plan/plan.h"

namespace camshaft::session {

// How long each axis of an output was in a run: as its shape says, except for counted axes, which
// `counts` (what the output's count_output held) tells. Counts are not trusted: one that no axis
// can have becomes the nearest that it can, 0 or the bound. `extents` has an element an axis. hot
// path.
void read_extents(const plan::TensorInfo& output, base::Bytes counts,
                  std::span<int64_t> extents) noexcept;

}  // namespace camshaft::session
