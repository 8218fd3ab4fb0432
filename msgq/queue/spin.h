// SPDX-License-Identifier: MIT
// Looking before sleeping.
#pragma once

#include <algorithm>
#include <cstdint>

#include "msgq/queue/futex.h"
#include "runtime/base/clock.h"

namespace camshaft::queue {

inline void cpu_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks until `is_ready` or for `spin_ns`, and not beyond the deadline. Returns what it saw last.
template <typename Predicate>
bool spin_until(int64_t spin_ns, int64_t deadline_ns, const Predicate& is_ready) noexcept {
  if (is_ready()) return true;
  if (spin_ns <= 0) return false;
  const int64_t end_ns = std::min(time_after(base::mono_time_ns(), spin_ns), deadline_ns);
  do {
    for (int i = 0; i < 32; ++i) {
      if (is_ready()) return true;
      cpu_pause();
    }
  } while (base::mono_time_ns() < end_ns);
  return is_ready();
}

}  // namespace camshaft::queue
