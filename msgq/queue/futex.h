// SPDX-License-Identifier: MIT
// Sleeping on words of shared memory. The words may be mapped at different addresses.
#pragma once

#include <atomic>
#include <cstdint>

namespace camshaft::queue {

// A deadline `span_ns` after `now_ns`; the last there is where that is beyond it.
constexpr int64_t time_after(int64_t now_ns, int64_t span_ns) {
  int64_t sum = 0;
  return __builtin_add_overflow(now_ns, span_ns, &sum) ? INT64_MAX : sum;
}

// Sleeps while *word == expected, until woken or until `deadline_ns` on the monotonic clock. May
// return for no reason.
void futex_wait(const std::atomic<uint32_t>* word, uint32_t expected, int64_t deadline_ns) noexcept;

// Wakes all that sleep on the word.
void futex_wake_all(const std::atomic<uint32_t>* word) noexcept;

inline constexpr uint32_t kMaxFutexes = 127;

// A word and the value at which to sleep.
struct FutexWait {
  const std::atomic<uint32_t>* word = nullptr;
  uint32_t expected = 0;
};

// Sleeps while all words have their expected values. At most kMaxFutexes. Returns false where the
// kernel can't (before 5.16).
bool futex_wait_any(const FutexWait* waits, uint32_t count, int64_t deadline_ns) noexcept;

}  // namespace camshaft::queue
