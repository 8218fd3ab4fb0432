// SPDX-License-Identifier: MIT
// The log ring: the last sentences that the process wrote, about failures and about what else is
// worth telling, in fixed memory. Written from any thread without a lock or an allocation; read by
// whoever reports (the command, a log daemon, a crash handler).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace camshaft::base {

inline constexpr int kLogLineBytes = 512;  // including the final zero
inline constexpr int kLogLines = 256;      // older lines are overwritten

enum class LogKind : uint8_t {
  kNotice,   // something to know about work that went on
  kFailure,  // why something failed
};

struct LogLine {
  uint64_t sequence = 0;  // 1 for the process's first line; gaps mean overwritten lines
  int64_t mono_time_ns = 0;
  LogKind kind = LogKind::kNotice;
  std::string text;
};

// Appends a notice, one line (cut to kLogLineBytes - 1). Lock-free; no allocation.
void log_line(const char* format, ...) __attribute__((format(printf, 1, 2)));
// The same about a failure; base::fail() does this.
void log_failure(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Sequence number of the newest line; 0 before the first.
uint64_t log_sequence();

// The lines after `sequence` that are still in the ring, oldest first. Allocates; a line being
// written meanwhile is left out.
std::vector<LogLine> log_lines_after(uint64_t sequence);

// The newest line about a failure that is still in the ring: for most failures, the sentence that
// belongs to the Status just returned. False, and an empty text, where there is none. No allocation.
bool last_failure(char (&text)[kLogLineBytes]);

}  // namespace camshaft::base
