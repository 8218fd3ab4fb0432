// SPDX-License-Identifier: MIT
// How long this process could not run: stopped by a signal, or on a machine that did other work. A
// test that waits for something takes that off, so that it judges the program and not the machine.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "runtime/base/clock.h"

namespace camshaft::test {

// A thread that sleeps for a while again and again, and notes when it comes back too late.
class StallClock {
 public:
  StallClock() : thread_([this] { tick_for_ever(); }) {}
  StallClock(const StallClock&) = delete;
  StallClock& operator=(const StallClock&) = delete;
  ~StallClock() {
    stop_ = true;
    thread_.join();
  }

  // Of all stalls that have begun since the object was made.
  int64_t stalled_ns() const {
    const std::lock_guard lock(mutex_);
    return stalled_ns_ + stall_until(base::mono_time_ns());
  }

 private:
  static constexpr int64_t kTickNs = 50'000'000;
  static constexpr int64_t kUsualNs = 50'000'000;  // as late as a busy machine makes a thread

  int64_t stall_until(int64_t now_ns) const {
    const int64_t late_ns = now_ns - last_ns_ - kTickNs;
    return late_ns > kUsualNs ? late_ns : 0;
  }
  void tick_for_ever() {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kTickNs));
      const std::lock_guard lock(mutex_);
      const int64_t now_ns = base::mono_time_ns();
      stalled_ns_ += stall_until(now_ns);
      last_ns_ = now_ns;
    }
  }

  mutable std::mutex mutex_;
  int64_t stalled_ns_ = 0;
  int64_t last_ns_ = base::mono_time_ns();
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // last: it uses all of the others
};

// Measures a time without the stalls in it.
class RunningTime {
 public:
  explicit RunningTime(const StallClock& clock)
      : clock_(clock), start_ns_(base::mono_time_ns()), stalled_ns_(clock.stalled_ns()) {}
  int64_t elapsed_ns() const {
    const int64_t stalled_ns = clock_.stalled_ns() - stalled_ns_;
    return base::mono_time_ns() - start_ns_ - stalled_ns;
  }

 private:
  const StallClock& clock_;
  int64_t start_ns_;
  int64_t stalled_ns_;
};

}  // namespace camshaft::test
