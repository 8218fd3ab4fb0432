// SPDX-License-Identifier: MIT
// Identifiers for C from names that people chose.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace camshaft::render {

// Makes identifiers: unique, legal in C, and like the name asked for.
class CNamer {
 public:
  // Keywords, the types of stdint.h and the names that rendered functions use are taken from the
  // start.
  CNamer();
  std::string make(std::string_view like);

 private:
  std::set<std::string> taken_;
};

}  // namespace camshaft::render
