// SPDX-License-Identifier: MIT
#include "codegen/render/c_names.h"

#include <algorithm>
#include <iterator>

namespace camshaft::render {

namespace {

constexpr const char* kReserved[] = {
    "auto",     "break",   "case",    "char",     "const",    "continue", "default",  "do",
    "double",   "else",    "enum",    "extern",   "float",    "for",      "goto",     "if",
    "inline",   "int",     "long",    "register", "restrict", "return",   "short",    "signed",
    "sizeof",   "static",  "struct",  "switch",   "typedef",  "union",    "unsigned", "void",
    "volatile", "while",   "asm",     "typeof",   "bool",     "true",     "false",    "int8_t",
    "int16_t",  "int32_t", "int64_t", "uint8_t",  "uint16_t", "uint32_t", "uint64_t", "params",
    "begin",    "end",     "fma",     "sqrt",     "floor",    "ceil",     "abs",      "round_even",
    "param",
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_reserved_in_c(std::string_view name) {
  if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
    return true;
  }
  // A dtype's name, then "x" (lanes) or "_of_" (bits).
  if (name.empty() || std::string_view("fiub").find(name[0]) == std::string_view::npos)
    return false;
  const size_t digits_end = name.find_first_not_of("f0123456789", 1);
  if (digits_end == std::string_view::npos || digits_end < 2) return false;
  const std::string_view rest = name.substr(digits_end);
  return rest.starts_with("x") || rest.starts_with("_of_");
}

std::string CNamer::make(std::string_view like) {
  std::string base;
  for (const char c : like) base += is_word(c) ? c : '_';
  // Underscores at the front are the compiler's.
  if (base.empty() || base[0] == '_' || (base[0] >= '0' && base[0] <= '9')) base = "v" + base;
  if (dialect_.is_reserved(base)) base = "v_" + base;
  std::string name = base;
  for (int number = 2; !taken_.insert(name).second; ++number) {
    name = base + "_" + std::to_string(number);
  }
  return name;
}

}  // namespace camshaft::render
