// SPDX-License-Identifier: MIT
// The suite's own rules: it must not be possible for it to pass by mistake.
#include "tests/conformance/suite.h"

#include <catch2/catch.hpp>
#include <set>

using namespace camshaft::conformance;

TEST_CASE("unsupported and expected failures are kept apart", "[conformance]") {
  const KnownException unsupported = {"t", Exception::kUnsupported, "never"};
  const KnownException expected = {"t", Exception::kExpectedFailure, "not yet"};
  CHECK(judge(nullptr, std::nullopt) == Verdict::kPass);
  CHECK(judge(nullptr, "wrong") == Verdict::kFail);
  CHECK(judge(&unsupported, std::nullopt) == Verdict::kSkipped);
  CHECK(judge(&expected, "wrong") == Verdict::kFailedAsExpected);
  CHECK(judge(&expected, std::nullopt) == Verdict::kUnexpectedPass);
}

TEST_CASE("a failing expectation throws", "[conformance]") {
  const auto check = [](int value) { EXPECT(value == 1); };
  CHECK_NOTHROW(check(1));
  CHECK_THROWS_AS(check(2), Failure);
}

TEST_CASE("exceptions name tests that exist, with a reason", "[conformance]") {
  std::set<std::string> names;
  for (const Catch::TestCase& test :
       Catch::getAllTestCasesSorted(*Catch::getCurrentContext().getConfig())) {
    names.insert(test.name);
  }
  for (const BackendRow& row : backend_rows()) {
    for (const KnownException& known : row.exceptions) {
      CHECK(names.count(std::string("every backend: ") + known.test) == 1);
      CHECK(std::string(known.reason) != "");
    }
  }
}
