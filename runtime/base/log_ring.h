// SPDX-License-Identifier: MIT
// The log ring: the last sentences that the process wrote about failures, in fixed memory. Written
// from any thread without a lock or an allocation; read by whoever reports (the command, a log
// daemon, a crash handler).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace camshaft::base {

inline constexpr int kLogLineBytes = 512;  // including the final zero
inline constexpr int kLogLines = 256;      // older lines are overwritten

struct LogLine {
  uint64_t sequence = 0;  // 1 for the process's first line; gaps mean overwritten lines
  int64_t mono_time_ns = 0;
  std::string text;
};

// Appends one line (cut to kLogLineBytes - 1). Lock-free; no allocation.
void log_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Sequence number of the newest line; 0 before the first.
uint64_t log_sequence();

// The lines after `sequence` that are still in the ring, oldest first. Allocates; a line being
// written meanwhile is left out.
std::vector<LogLine> log_lines_after(uint64_t sequence);

}  // namespace camshaft::base
