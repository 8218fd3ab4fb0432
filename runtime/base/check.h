// SPDX-License-Identifier: MIT
// Bugs: a broken invariant prints where and what to the log ring and standard error, then aborts.
#pragma once

namespace camshaft::base {

// Prints "FILE:LINE: check failed: TEXT", records it in the log ring, and aborts. Does not allocate.
[[noreturn]] void check_failed(const char* file, int line, const char* text);

}  // namespace camshaft::base

// Always on. For invariants whose breaking is our bug, never for what a file or a caller sent.
#define CAMSHAFT_CHECK(condition)                                              \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      ::camshaft::base::check_failed(__FILE__, __LINE__, #condition);          \
  } while (false)

// On in debug and sanitizer builds; for checks on the hot path.
#ifdef CAMSHAFT_DCHECKS
#define CAMSHAFT_DCHECK(condition) CAMSHAFT_CHECK(condition)
#else
#define CAMSHAFT_DCHECK(condition) \
  do {                             \
    if (false) {                   \
      (void)(condition);           \
    }                              \
  } while (false)
#endif
