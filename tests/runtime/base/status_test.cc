// SPDX-License-Identifier: MIT
#include "runtime/base/status.h"

#include <cerrno>
#include <memory>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "runtime/base/log_ring.h"

namespace camshaft::base {
namespace {

constexpr Code kAllCodes[] = {Code::kOk,
                              Code::kInvalidArgument,
                              Code::kUnsupported,
                              Code::kWrongTarget,
                              Code::kOutOfTolerance,
                              Code::kDeadlineExceeded,
                              Code::kCorrupt,
                              Code::kNotFound,
                              Code::kIo,
                              Code::kOutOfMemory,
                              Code::kDeviceFault,
                              Code::kInternal,
                              Code::kBoundExceeded,
                              Code::kBusy};

std::string newest_line() {
  return log_lines_after(log_sequence() - 1).at(0).text;
}

TEST_CASE("codes have names of their own and the documented exit codes") {
  std::set<std::string> names;
  for (const Code code : kAllCodes) {
    names.insert(code_name(code));
    CHECK((exit_code(code) == 0) == (code == Code::kOk));
  }
  CHECK(names.size() == std::size(kAllCodes));
  CHECK(exit_code(Code::kInvalidArgument) == 2);
  CHECK(exit_code(Code::kNotFound) == 2);
  CHECK(exit_code(Code::kUnsupported) == 3);
  CHECK(exit_code(Code::kWrongTarget) == 4);
  CHECK(exit_code(Code::kOutOfTolerance) == 5);
  CHECK(exit_code(Code::kBoundExceeded) == 5);
  CHECK(exit_code(Code::kBusy) == 2);
  CHECK(exit_code(Code::kDeadlineExceeded) == 6);
  CHECK(exit_code(Code::kCorrupt) == 7);
}

TEST_CASE("fail writes one line and returns code and site") {
  const uint64_t before = log_sequence();
  const Status status = fail(Code::kCorrupt, "test.site", "section %d is bad", 3);
  CHECK(status.code() == Code::kCorrupt);
  CHECK(std::string(status.site()) == "test.site");
  CHECK(status.native_error() == 0);
  CHECK(log_sequence() == before + 1);
  CHECK(newest_line() == "section 3 is bad");
}

TEST_CASE("fail_errno appends the system's reason, even to an overlong sentence") {
  const Status status = fail_errno(Code::kIo, "test.io", ENOSPC, "can't write %s", "x.plan");
  CHECK(status.native_error() == ENOSPC);
  CHECK(newest_line() == "can't write x.plan: No space left on device");

  const std::string longest(2 * kLogLineBytes, 'p');
  CHECK(!fail_errno(Code::kIo, "test.io", ENOSPC, "can't write %s", longest.c_str()).is_ok());
  CHECK(newest_line().size() == 500);
  CHECK(newest_line().ends_with("ppp: No space left on device"));
}

TEST_CASE("a sentence is cut at 500 bytes") {
  CHECK(!fail(Code::kIo, "test.io", "%s", std::string(600, 'a').c_str()).is_ok());
  CHECK(newest_line() == std::string(500, 'a'));
}

// Counts how many of its kind live.
struct Counted {
  explicit Counted(int* count) : count(count) { ++*count; }
  Counted(Counted&& other) noexcept : count(other.count) { ++*count; }
  Counted(const Counted&) = delete;
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --*count; }
  int* count;
};

TEST_CASE("a result owns its value across moves and assignments") {
  int count = 0;
  {
    Result<Counted> first{Counted(&count)};
    CHECK(count == 1);
    Result<Counted> second = std::move(first);
    CHECK(count == 2);  // the moved-from one too
    second = Result<Counted>(Status(Code::kIo, "test"));
    CHECK(!second.has_value());
    CHECK(second.error().code() == Code::kIo);
    CHECK(count == 1);
    second = Result<Counted>(Counted(&count));
    CHECK(second.has_value());
    CHECK(second.error().is_ok());
  }
  CHECK(count == 0);
}

TEST_CASE("a result holds what can't be copied") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> value = std::move(result).value();
  CHECK(*value == 5);
}

Result<int> half_of(int number) {
  if (number % 2 != 0) return Status(Code::kInvalidArgument, "test.odd");
  return number / 2;
}
Result<int> quarter_of(int number) {
  CAMSHAFT_TRY_ASSIGN(const int half, half_of(number));
  CAMSHAFT_TRY(half_of(half));
  return half_of(half);
}

TEST_CASE("TRY hands the first error up and values on") {
  CHECK(quarter_of(8).value() == 2);
  CHECK(quarter_of(6).error().code() == Code::kInvalidArgument);
  CHECK(quarter_of(5).error().code() == Code::kInvalidArgument);
}

}  // namespace
}  // namespace camshaft::base
