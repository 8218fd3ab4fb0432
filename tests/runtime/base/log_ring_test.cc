// SPDX-License-Identifier: MIT
#include "runtime/base/log_ring.h"

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/base/clock.h"

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

// A line whose every part tells who wrote it, so that a mixture of two shows.
std::string make_line(int writer, int number) {
  const std::string word = std::to_string(writer) + "." + std::to_string(number) + " ";
  std::string text;
  while (text.size() < 300 + static_cast<size_t>(number % 100)) text += word;
  return text;
}

bool is_whole(const std::string& text) {
  int writer = 0;
  int number = 0;
  return std::sscanf(text.c_str(), "%d.%d ", &writer, &number) == 2 &&
         text == make_line(writer, number);
}

TEST_CASE("the test of wholeness sees torn lines") {
  const std::string text = make_line(1, 50);
  CHECK(is_whole(text));
  CHECK(!is_whole(text.substr(0, 296) + make_line(2, 50).substr(296)));
  CHECK(!is_whole(make_line(1, 49).substr(0, 8) + text.substr(8)));
  CHECK(!is_whole(text.substr(0, text.size() - 5)));
}

TEST_CASE("readers never see a torn line, however many threads write") {
  constexpr int kWriters = 3;
  constexpr int kLinesEach = 4000;
  const uint64_t before = log_sequence();
  std::atomic<int> running{kWriters};
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([w, &running] {
      for (int i = 0; i < kLinesEach; ++i) log_line("%s", make_line(w, i).c_str());
      running.fetch_sub(1);
    });
  }
  int64_t seen = 0;
  int64_t torn = 0;
  int64_t unordered = 0;
  do {
    uint64_t last = 0;
    for (const LogLine& line : log_lines_after(before)) {
      ++seen;
      torn += is_whole(line.text) ? 0 : 1;
      unordered += line.sequence > last ? 0 : 1;
      last = line.sequence;
    }
  } while (running.load() > 0);
  for (std::thread& writer : writers) writer.join();
  CHECK(seen > 0);
  CHECK(torn == 0);
  CHECK(unordered == 0);
  CHECK(log_sequence() == before + kWriters * kLinesEach);
}

}  // namespace
}  // namespace camshaft::base
