// SPDX-License-Identifier: MIT
#include "msgq/queue/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace camshaft::queue {
namespace {

// As in <linux/futex.h> from Linux 5.16 on, which older systems lack.
struct WaitvEntry {
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
};
constexpr long kFutexWaitv = 449;
constexpr uint32_t kSize32 = 2;

timespec to_timespec(int64_t mono_time_ns) {
  const int64_t ns = mono_time_ns < 0 ? 0 : mono_time_ns;
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

void futex_wait(const std::atomic<uint32_t>* word, uint32_t expected,
                int64_t deadline_ns) noexcept {
  const timespec deadline = to_timespec(deadline_ns);
  ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, &deadline, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void futex_wake_all(const std::atomic<uint32_t>* word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool futex_wait_any(const FutexWait* waits, uint32_t count, int64_t deadline_ns) noexcept {
  WaitvEntry entries[kMaxFutexes];
  if (count > kMaxFutexes) return false;
  for (uint32_t i = 0; i < count; ++i) {
    entries[i] = {waits[i].expected, reinterpret_cast<uint64_t>(waits[i].word), kSize32, 0};
  }
  const timespec deadline = to_timespec(deadline_ns);
  const long result =
      ::syscall(kFutexWaitv, entries, count, 0, &deadline, static_cast<long>(CLOCK_MONOTONIC));
  return result >= 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL);
}

}  // namespace camshaft::queue
