// SPDX-License-Identifier: MIT
#include "runtime/base/check.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/base/log_ring.h"

namespace camshaft::base {

void check_failed(const char* file, int line, const char* text) {
  // A value was taken of a Result that has none, perhaps: then the failure before says why.
  char before[kLogLineBytes];
  const bool has_failed = last_failure(before);
  char message[kLogLineBytes];
  std::snprintf(message, sizeof message, "%s:%d: check failed: %s", file, line, text);
  log_failure("%s", message);
  for (const char* part :
       {static_cast<const char*>(message), "\n", has_failed ? "the failure before it: " : "",
        static_cast<const char*>(before), has_failed ? "\n" : ""}) {
    // Nothing can be done where standard error is closed.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, std::strlen(part));
  }
  std::abort();
}

}  // namespace camshaft::base
