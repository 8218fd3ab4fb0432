// SPDX-License-Identifier: MIT
// Schedules of graphs that are written as text.
#pragma once

#include <catch2/catch.hpp>
#include <string_view>

#include "codegen/schedule/schedule.h"
#include "runtime/base/log_ring.h"
#include "tests/codegen/support/graph_testing.h"

namespace camshaft::schedule {

// Verified, and shown if a check fails.
inline Schedule schedule_of(std::string_view body, int32_t channel_block = 8, bool fuse = true) {
  Schedule schedule = make_schedule(ir::graph_from(body), {channel_block, fuse});
  const uint64_t before = base::log_sequence();
  const bool valid = verify_schedule(schedule).is_ok();
  for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
  UNSCOPED_INFO(print_schedule(schedule));
  REQUIRE(valid);
  return schedule;
}

}  // namespace camshaft::schedule
