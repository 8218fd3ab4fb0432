// SPDX-License-Identifier: MIT
#include "runtime/base/check.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include <catch2/catch.hpp>

#include "runtime/base/log_ring.h"
#include "runtime/base/status.h"

namespace camshaft::base {
namespace {

struct Ending {
  int signal = 0;
  int exit_code = 0;
  std::string error_text;
};

// Runs `body` in a child process that exits 0 after it.
template <typename Body>
Ending run_in_child(const Body& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGABRT, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  Ending ending;
  char buffer[512];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    ending.error_text.append(buffer, static_cast<size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ending.exit_code = WEXITSTATUS(status);
  return ending;
}

TEST_CASE("a failed check says where and what, and aborts") {
  const int two = 2;
  const Ending ending = run_in_child([&] { CAMSHAFT_CHECK(two == 3); });
  CHECK(ending.signal == SIGABRT);
  CHECK_THAT(ending.error_text, Catch::Contains("check_test.cc:"));
  CHECK_THAT(ending.error_text, Catch::Contains("check failed: two == 3\n"));
}

TEST_CASE("a check that holds costs nothing but its condition") {
  int evaluated = 0;
  const Ending ending = run_in_child([&] { CAMSHAFT_CHECK(++evaluated == 1); });
  CHECK(ending.signal == 0);
  CHECK(ending.exit_code == 0);
  CHECK(ending.error_text.empty());
}

TEST_CASE("DCHECK checks in checked builds only, and evaluates nothing in others") {
  const Ending ending = run_in_child([] {
    int evaluated = 0;
    CAMSHAFT_DCHECK(++evaluated == 2);
    ::_exit(10 + evaluated);
  });
#ifdef CAMSHAFT_DCHECKS
  CHECK(ending.signal == SIGABRT);
#else
  CHECK(ending.exit_code == 10);
#endif
}

TEST_CASE("asking a failed result for its value is a bug, and says why it failed") {
  const Ending ending = run_in_child([] {
    Result<int> result = fail(Code::kIo, "test", "the cup is empty");
    log_line("a notice after it");
    ::_exit(result.value());
  });
  CHECK(ending.signal == SIGABRT);
  CHECK_THAT(ending.error_text,
             Catch::EndsWith("has_value_\nthe failure before it: the cup is empty\n"));
}

}  // namespace
}  // namespace camshaft::base
