// SPDX-License-Identifier: MIT
// What the process said last about a failure.
#pragma once

#include <string>

#include "runtime/base/log_ring.h"

namespace camshaft::test {

inline std::string last_sentence() {
  const uint64_t newest = base::log_sequence();
  const auto lines = base::log_lines_after(newest == 0 ? 0 : newest - 1);
  return lines.empty() ? "" : lines.back().text;
}

// Whether that sentence has the text in it.
inline bool said(const char* text) {
  return last_sentence().find(text) != std::string::npos;
}

}  // namespace camshaft::test
