// SPDX-License-Identifier: MIT
// What a run of queue_bench has measured, and how it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/perf/queue/channel.h"

namespace camshaft::perf {

// One channel under one set of conditions.
struct Series {
  std::string channel;
  bool is_bare = false;  // the one that the others are compared with
  Setup setup;
  bool is_loaded = false;  // beside busy processes
  std::vector<int64_t> latencies_ns = {};
  uint64_t missing = 0;  // messages that a receiver did not get

  // The latency that a share of the messages stayed below; -1 where there are none. Sorts.
  double percentile_us(double share);
};

// A table for each of sleeping and spinning, idle and loaded, with p50, p99, p99.9, and p50 and p99
// beside the bare futex's.
void print_text(std::vector<Series>& all);

// The README's table of messages and the lines below it, then all figures, as Markdown.
void print_markdown(std::vector<Series>& all);

}  // namespace camshaft::perf
