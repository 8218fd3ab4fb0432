// SPDX-License-Identifier: MIT
#include "runtime/base/check.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/base/log_ring.h"

namespace camshaft::base {

void check_failed(const char* file, int line, const char* text) {
  char message[kLogLineBytes];
  std::snprintf(message, sizeof message - 1, "%s:%d: check failed: %s", file, line, text);
  log_failure("%s", message);
  std::strcat(message, "\n");
  // Nothing can be done where standard error is closed.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message, std::strlen(message));
  std::abort();
}

}  // namespace camshaft::base
