// SPDX-License-Identifier: MIT
#include "runtime/base/log_ring.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace camshaft::base {
namespace {

TEST_CASE("lines come back in order, with numbers and times") {
  const uint64_t before = log_sequence();
  const int64_t started = mono_time_ns();
  log_line("first %d", 1);
  log_line("second %s", "two");
  const std::vector<LogLine> lines = log_lines_after(before);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].text == "first 1");
  CHECK(lines[1].text == "second two");
  CHECK(lines[0].sequence == before + 1);
  CHECK(lines[1].sequence == before + 2);
  CHECK(started <= lines[0].mono_time_ns);
  CHECK(lines[0].mono_time_ns <= lines[1].mono_time_ns);
  CHECK(lines[1].mono_time_ns <= mono_time_ns());
  CHECK(log_lines_after(log_sequence()).empty());
}

TEST_CASE("failures are told from notices") {
  const uint64_t before = log_sequence();
  log_line("so far so good");
  log_failure("no %s", "good");
  CHECK(fail(Code::kIo, "test.io", "worse").code() == Code::kIo);
  const std::vector<LogLine> lines = log_lines_after(before);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].kind == LogKind::kNotice);
  CHECK(lines[1].kind == LogKind::kFailure);
  CHECK(lines[1].text == "no good");
  CHECK(lines[2].kind == LogKind::kFailure);
}

TEST_CASE("the last failure is found behind notices, and only in the ring") {
  char text[kLogLineBytes];
  for (int i = 0; i < kLogLines; ++i) log_line("notice");
  CHECK(!last_failure(text));
  CHECK(std::string(text).empty());
  log_failure("first");
  log_failure("%s", std::string(600, 'x').c_str());
  log_line("notice");
  CHECK(last_failure(text));
  CHECK(std::string(text) == std::string(kLogLineBytes - 1, 'x'));
}

TEST_CASE("texts of every length up to the cut") {
  for (size_t length = 0; length < kLogLineBytes + 20; ++length) {
    const std::string text(length, 'x');
    log_line("%s", text.c_str());
    const std::vector<LogLine> lines = log_lines_after(log_sequence() - 1);
    REQUIRE(lines.size() == 1);
    REQUIRE(lines[0].text == text.substr(0, kLogLineBytes - 1));
  }
}

TEST_CASE("the ring keeps the newest lines and forgets the rest") {
  const uint64_t before = log_sequence();
  for (int i = 0; i < 2 * kLogLines + 5; ++i) log_line("line %d", i);
  const std::vector<LogLine> lines = log_lines_after(before);
  REQUIRE(lines.size() == kLogLines);
  CHECK(lines.front().text == "line " + std::to_string(kLogLines + 5));
  CHECK(lines.back().text == "line " + std::to_string(2 * kLogLines + 4));
}

// A line that says all over who wrote it and which of its lines it is, so that a mixture shows.
constexpr size_t kWordLength = 9;
struct WriterLine {
  int writer = 0;
  int number = 0;
};

std::string make_line(WriterLine line) {
  char word[32];
  std::snprintf(word, sizeof word, "%d%07d ", line.writer, line.number);
  std::string text;
  for (int i = 0; i < 20 + line.number % 30; ++i) text.append(word, kWordLength);
  return text;
}

// What the line says, or nothing if it is a mixture or a part.
std::optional<WriterLine> parse_line(const std::string& text) {
  if (text.size() < kWordLength) return std::nullopt;
  const WriterLine line = {text[0] - '0', std::atoi(text.substr(1, kWordLength - 1).c_str())};
  return text == make_line(line) ? std::optional(line) : std::nullopt;
}

TEST_CASE("the check for torn lines sees them") {
  const std::string text = make_line({1, 25});
  CHECK(parse_line(text)->number == 25);
  CHECK(!parse_line(text.substr(0, 296) + make_line({1, 55}).substr(296)));
  CHECK(!parse_line(make_line({2, 25}).substr(0, 8) + text.substr(8)));
  CHECK(!parse_line(text.substr(0, text.size() - kWordLength)));
}

constexpr int kWriters = 3;

// What a reader saw that it should not have.
struct Faults {
  int64_t lines = 0;
  int64_t torn = 0;
  int64_t misplaced = 0;  // not in the order in which its writer wrote
};

void look_for_faults(const std::vector<LogLine>& lines, Faults& faults) {
  int last_number[kWriters] = {-1, -1, -1};
  for (const LogLine& line : lines) {
    ++faults.lines;
    const std::optional<WriterLine> parsed = parse_line(line.text);
    if (!parsed) {
      ++faults.torn;
      continue;
    }
    faults.misplaced += parsed->number > last_number[parsed->writer] ? 0 : 1;
    last_number[parsed->writer] = parsed->number;
  }
}

TEST_CASE("readers never see a torn line, however many threads write") {
  constexpr int kLinesEach = 400'000;
  const uint64_t before = log_sequence();
  std::atomic<int> running{kWriters};
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([w, &running] {
      for (int i = 0; i < kLinesEach; ++i) log_line("%s", make_line({w, i}).c_str());
      running.fetch_sub(1);
    });
  }
  Faults faults;
  do {
    // The oldest lines, which are just being overwritten, are where a reader could see a mixture.
    const uint64_t oldest = std::max(log_sequence(), before + kLogLines) - kLogLines;
    look_for_faults(log_lines_after(oldest), faults);
  } while (running.load() > 0);
  for (std::thread& writer : writers) writer.join();
  CHECK(faults.lines > 0);
  CHECK(faults.torn == 0);
  CHECK(faults.misplaced == 0);
  CHECK(log_sequence() == before + kWriters * kLinesEach);
}

}  // namespace
}  // namespace camshaft::base
