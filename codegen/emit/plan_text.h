// SPDX-License-Identifier: MIT
// Names of a model as the plan may hold them.
#pragma once

#include <string>

namespace camshaft::emit {

// True for control characters, which a plan's texts must not hold: they go to terminals and logs.
inline bool is_control(char c) {
  return (c >= 0 && c < 0x20) || c == 0x7f;
}

// A name that only people read, with '?' for control characters.
inline std::string plan_text(std::string name) {
  for (char& c : name) c = is_control(c) ? '?' : c;
  return name;
}

}  // namespace camshaft::emit
