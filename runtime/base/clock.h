// SPDX-License-Identifier: MIT
// The one clock of the runtime: CLOCK_MONOTONIC. Every time stamp and deadline is on it.
#pragma once

#include <cstdint>

namespace camshaft::base {

// Nanoseconds on CLOCK_MONOTONIC. Any thread; never blocks; no system call where the kernel maps
// the clock into the process. Hot path.
int64_t mono_time_ns() noexcept;

}  // namespace camshaft::base
