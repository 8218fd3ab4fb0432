// SPDX-License-Identifier: MIT
// The pool's only means of synchronisation: a number that grows, written by one thread and awaited
// by others, who spin for a while and then sleep in the kernel.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <climits>
#include <cstdint>

namespace camshaft::cpu {

// Tells the processor that this is a spinning loop.
inline void relax_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // waits for tens of cycles; `yield` waits for none on most cores
#endif
}

// Two cache lines, because x86 fetches neighbouring lines in pairs.
class alignas(128) Milestone {
 public:
  // Sets a greater value and wakes who sleeps for it. What this thread wrote before is visible to
  // those who see the value. A system call only if somebody sleeps. hot path.
  void advance(uint64_t value) noexcept {
    // Sequentially consistent, as is the sleeper's increment and re-check: either we see the
    // sleeper, or it sees the value.
    value_.store(value, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }

  // Returns the value once it is at least `target`, after at most `spins` looks without sleeping.
  // hot path.
  uint64_t wait(uint64_t target, uint32_t spins) noexcept {
    for (uint32_t spin = 0; spin <= spins; ++spin) {
      const uint64_t value = value_.load(std::memory_order_acquire);
      if (value >= target) return value;
      relax_cpu();
    }
    return sleep_until(target);
  }

  // In one order with all advance(): who advances one number and then looks at another one that
  // somebody advances before looking at the first sees it, or is seen.
  uint64_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }

 private:
  uint64_t sleep_until(uint64_t target) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    uint64_t value = 0;
    while ((value = value_.load(std::memory_order_seq_cst)) < target) {
      // Returns at once if the value has changed meanwhile. It can't have changed by a multiple of
      // 2^32 in between.
      futex(FUTEX_WAIT_PRIVATE, static_cast<uint32_t>(value));
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return value;
  }

  void futex(int operation, uint32_t argument) noexcept {
    static_assert(std::endian::native == std::endian::little);  // the low half comes first
    static_assert(sizeof value_ == sizeof(uint64_t) && std::atomic<uint64_t>::is_always_lock_free);
    ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&value_), operation, argument, nullptr,
              nullptr, 0);
  }

  std::atomic<uint64_t> value_ = 0;
  std::atomic<uint32_t> sleepers_ = 0;
};

}  // namespace camshaft::cpu
