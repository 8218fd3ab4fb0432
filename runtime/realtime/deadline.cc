// SPDX-License-Identifier: MIT
#include "runtime/realtime/deadline.h"

#include <time.h>

#include <algorithm>
#include <cerrno>

namespace camshaft::realtime {

void sleep_until(int64_t mono_time_ns) noexcept {
  if (mono_time_ns <= 0) return;
  const timespec until = {.tv_sec = static_cast<time_t>(mono_time_ns / 1'000'000'000),
                          .tv_nsec = static_cast<long>(mono_time_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

FrameSchedule::FrameSchedule(int64_t start_ns, int64_t period_ns, int64_t budget_ns) noexcept
    : start_ns_(start_ns), period_ns_(period_ns), budget_ns_(budget_ns) {
  CAMSHAFT_CHECK(period_ns > 0 && budget_ns > 0);
}

Frame FrameSchedule::next(int64_t now_ns) noexcept {
  const int64_t since_start_ns = std::max<int64_t>(now_ns - start_ns_, 0);
  const auto current = static_cast<uint64_t>(since_start_ns / period_ns_);
  if (current > next_) {
    skipped_ += current - next_;
    next_ = current;
  }
  const int64_t begin_ns = start_ns_ + static_cast<int64_t>(next_) * period_ns_;
  return Frame{.number = next_++, .start_ns = begin_ns, .deadline_ns = begin_ns + budget_ns_};
}

bool FrameSchedule::finish(const Frame& frame, int64_t now_ns) noexcept {
  ++finished_;
  const int64_t lateness_ns = now_ns - frame.deadline_ns;
  if (lateness_ns <= 0) {
    late_in_a_row_ = 0;
    return false;
  }
  ++late_;
  ++late_in_a_row_;
  worst_lateness_ns_ = std::max(worst_lateness_ns_, lateness_ns);
  return true;
}

}  // namespace camshaft::realtime
