// SPDX-License-Identifier: MIT
// A line lives in slot (sequence % kLogLines). A slot's version says what it holds:
//
//   0        nothing yet
//   2n       line n, whole
//   2n + 1   line n, being written
//
// A writer takes the next sequence number, claims its slot by moving the version to 2n + 1, stores
// the words and publishes 2n. A reader that finds 2n before and after its copy has line n whole.
// Words are stored with release and loaded with acquire order: a reader that saw one word of a
// newer line also sees that the version moved. A writer that finds its slot claimed or newer was
// asleep while the ring went round; its line is then one of the overwritten ones, and is dropped.
#include "runtime/base/log_ring.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "runtime/base/clock.h"

namespace camshaft::base {
namespace {

constexpr int kWords = kLogLineBytes / 8;
static_assert(kLogLineBytes % 8 == 0);

struct Slot {
  std::atomic<uint64_t> version{0};
  std::atomic<int64_t> mono_time_ns{0};
  std::atomic<LogKind> kind{LogKind::kNotice};
  std::atomic<uint64_t> words[kWords]{};
};

constinit std::atomic<uint64_t> newest{0};
constinit Slot slots[kLogLines];
static_assert(std::atomic<uint64_t>::is_always_lock_free);

bool claim(Slot& slot, uint64_t sequence) {
  uint64_t version = slot.version.load(std::memory_order_relaxed);
  const bool is_free = version % 2 == 0 && version < 2 * sequence;
  return is_free &&
         slot.version.compare_exchange_strong(version, 2 * sequence + 1, std::memory_order_acquire,
                                              std::memory_order_relaxed);
}

void publish(LogKind kind, const char* text, size_t length) {
  const uint64_t sequence = newest.fetch_add(1, std::memory_order_relaxed) + 1;
  Slot& slot = slots[sequence % kLogLines];
  if (!claim(slot, sequence)) return;
  slot.mono_time_ns.store(mono_time_ns(), std::memory_order_release);
  slot.kind.store(kind, std::memory_order_release);
  const size_t used = length / 8 + 1;  // with the final zero
  for (size_t i = 0; i < used; ++i) {
    uint64_t word;
    std::memcpy(&word, text + 8 * i, 8);
    slot.words[i].store(word, std::memory_order_release);
  }
  slot.version.store(2 * sequence, std::memory_order_release);
}

// Copies the text of line `sequence`; false if it is not there, or not whole.
bool read_text(uint64_t sequence, char (&text)[kLogLineBytes], LogKind& kind,
               int64_t& mono_time_ns) {
  const Slot& slot = slots[sequence % kLogLines];
  if (slot.version.load(std::memory_order_acquire) != 2 * sequence) return false;
  mono_time_ns = slot.mono_time_ns.load(std::memory_order_acquire);
  kind = slot.kind.load(std::memory_order_acquire);
  for (int i = 0; i < kWords; ++i) {
    const uint64_t word = slot.words[i].load(std::memory_order_acquire);
    std::memcpy(text + 8 * i, &word, 8);
  }
  text[kLogLineBytes - 1] = '\0';
  return slot.version.load(std::memory_order_relaxed) == 2 * sequence;
}

bool read_slot(uint64_t sequence, LogLine& line) {
  char text[kLogLineBytes];
  if (!read_text(sequence, text, line.kind, line.mono_time_ns)) return false;
  line.sequence = sequence;
  line.text.assign(text, ::strnlen(text, sizeof text));
  return true;
}

void print_line(LogKind kind, const char* format, va_list args) {
  char text[kLogLineBytes] = {};
  const int wanted = std::vsnprintf(text, sizeof text, format, args);
  const int length = std::clamp(wanted, 0, kLogLineBytes - 1);
  publish(kind, text, static_cast<size_t>(length));
}

}  // namespace

void log_line(const char* format, ...) {
  va_list args;
  va_start(args, format);
  print_line(LogKind::kNotice, format, args);
  va_end(args);
}

void log_failure(const char* format, ...) {
  va_list args;
  va_start(args, format);
  print_line(LogKind::kFailure, format, args);
  va_end(args);
}

uint64_t log_sequence() {
  return newest.load(std::memory_order_relaxed);
}

std::vector<LogLine> log_lines_after(uint64_t sequence) {
  const uint64_t last = log_sequence();
  const uint64_t oldest = last >= kLogLines ? last - kLogLines + 1 : 1;
  std::vector<LogLine> lines;
  LogLine line;
  for (uint64_t n = std::max(sequence + 1, oldest); n <= last; ++n) {
    if (read_slot(n, line)) lines.push_back(line);
  }
  return lines;
}

bool last_failure(char (&text)[kLogLineBytes]) {
  const uint64_t last = log_sequence();
  for (uint64_t n = last; n > 0 && last - n < kLogLines; --n) {
    LogKind kind = LogKind::kNotice;
    int64_t mono_time_ns = 0;
    if (read_text(n, text, kind, mono_time_ns) && kind == LogKind::kFailure) return true;
  }
  text[0] = '\0';
  return false;
}

}  // namespace camshaft::base
