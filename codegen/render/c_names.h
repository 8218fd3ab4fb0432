// SPDX-License-Identifier: MIT
// Identifiers for C from names that people chose.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "codegen/render/c_dialect.h"

namespace camshaft::render {

// Whether C or the text around rendered functions gives the name a meaning: keywords, types,
// macros, parameters, and the like of "f32x8" and "i32_of_f32".
bool is_reserved_in_c(std::string_view name);

// Makes identifiers: unique, legal in C, and like the name asked for.
class CNamer {
 public:
  explicit CNamer(const CDialect& dialect) : dialect_(dialect) {}
  std::string make(std::string_view like);

 private:
  const CDialect& dialect_;
  std::set<std::string> taken_;
};

}  // namespace camshaft::render
