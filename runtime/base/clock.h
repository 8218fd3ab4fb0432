// SPDX-License-Identifier: MIT
// The one clock of the runtime: CLOCK_MONOTONIC. Every time stamp and deadline is on it.
#pragma once

#include <cstdint>

namespace camshaft::base {

// Nanoseconds on CLOCK_MONOTONIC. Any thread; never blocks; no system call where the kernel maps
// the clock into the process. Hot path.
int64_t mono_time_ns() noexcept;

// What has passed since then. As mono_time_ns().
inline double seconds_since(int64_t start_ns) noexcept {
  return static_cast<double>(mono_time_ns() - start_ns) * 1e-9;
}

}  // namespace camshaft::base
