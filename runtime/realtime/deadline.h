// SPDX-License-Identifier: MIT
// Frames at a fixed rate: when each begins, until when it must be done, and how often it was not.
#pragma once

#include <cstdint>

#include "runtime/base/status.h"

namespace camshaft::realtime {

// Sleeps until a time on CLOCK_MONOTONIC; returns at once if it has passed. Blocks; no allocation.
void sleep_until(int64_t mono_time_ns) noexcept;

struct Frame {
  uint64_t number = 0;      // from 0; a gap means frames that were skipped
  int64_t start_ns = 0;     // when it should begin
  int64_t deadline_ns = 0;  // when it must be done
};

// A schedule and its statistics. Frame n begins at start + n * period, whatever happened before: a
// late frame does not shift those after it. One thread at a time; hot path throughout.
class FrameSchedule {
 public:
  // Frames begin at `start_ns`, and must be done `budget_ns` after their beginning.
  FrameSchedule(int64_t start_ns, int64_t period_ns, int64_t budget_ns) noexcept;

  // The next frame that has not begun at `now_ns`, or the one that began within the last period.
  // Frames that were missed altogether are skipped and counted.
  Frame next(int64_t now_ns) noexcept;
  // Notes that a frame was done at `now_ns`. Returns whether that was late.
  bool finish(const Frame& frame, int64_t now_ns) noexcept;

  uint64_t finished_count() const { return finished_; }
  uint64_t late_count() const { return late_; }
  uint64_t skipped_count() const { return skipped_; }
  // Late frames since the last one in time: what a supervisor acts on.
  uint64_t late_in_a_row() const { return late_in_a_row_; }
  int64_t worst_lateness_ns() const { return worst_lateness_ns_; }  // 0: none was late

 private:
  int64_t start_ns_;
  int64_t period_ns_;
  int64_t budget_ns_;
  uint64_t next_ = 0;
  uint64_t finished_ = 0;
  uint64_t late_ = 0;
  uint64_t late_in_a_row_ = 0;
  uint64_t skipped_ = 0;
  int64_t worst_lateness_ns_ = 0;
};

}  // namespace camshaft::realtime
