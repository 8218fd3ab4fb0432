// SPDX-License-Identifier: MIT
#include "runtime/realtime/deadline.h"

#include <catch2/catch.hpp>

#include "runtime/base/clock.h"

using camshaft::realtime::Frame;
using camshaft::realtime::FrameSchedule;
using camshaft::realtime::sleep_until;

TEST_CASE("frames begin on the grid, whatever happened before", "[realtime]") {
  FrameSchedule schedule(1000, 100, 80);
  Frame frame = schedule.next(990);
  CHECK(frame.number == 0);
  CHECK(frame.start_ns == 1000);
  CHECK(frame.deadline_ns == 1080);
  CHECK_FALSE(schedule.finish(frame, 1080));
  frame = schedule.next(1081);
  CHECK(frame.number == 1);
  CHECK(frame.start_ns == 1100);
  CHECK(schedule.finish(frame, 1195));  // 15 late
  frame = schedule.next(1195);
  CHECK(frame.number == 2);
  CHECK(frame.start_ns == 1200);
  CHECK(schedule.finish(frame, 1281));
  CHECK(schedule.late_in_a_row() == 2);
  CHECK(schedule.finished_count() == 3);
  CHECK(schedule.late_count() == 2);
  CHECK(schedule.worst_lateness_ns() == 15);
  CHECK(schedule.skipped_count() == 0);
  CHECK_FALSE(schedule.finish(schedule.next(1290), 1300));
  CHECK(schedule.late_in_a_row() == 0);
}

TEST_CASE("frames that are missed altogether are skipped and counted", "[realtime]") {
  FrameSchedule schedule(0, 100, 100);
  CHECK(schedule.next(0).number == 0);
  // Frame 1 began at 100: it is still the current one at 199.
  CHECK(schedule.next(199).number == 1);
  CHECK(schedule.skipped_count() == 0);
  const Frame frame = schedule.next(550);
  CHECK(frame.number == 5);
  CHECK(frame.start_ns == 500);
  CHECK(schedule.skipped_count() == 3);
  CHECK(schedule.next(0).number == 6);  // a clock that does not move repeats nothing
}

TEST_CASE("sleeping ends at its time or at once", "[realtime]") {
  const int64_t until_ns = camshaft::base::mono_time_ns() + 2'000'000;
  sleep_until(until_ns);
  CHECK(camshaft::base::mono_time_ns() >= until_ns);
  sleep_until(until_ns);
  sleep_until(0);
  sleep_until(-1);
}
