// SPDX-License-Identifier: MIT
#include "codegen/render/c_names.h"

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
    "convert",  "param",   "linux",   "unix",
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

CNamer::CNamer() : taken_(std::begin(kReserved), std::end(kReserved)) {}

std::string CNamer::make(std::string_view like) {
  std::string base;
  for (const char c : like) base += is_word(c) ? c : '_';
  // Underscores at the front are the compiler's.
  if (base.empty() || base[0] == '_' || (base[0] >= '0' && base[0] <= '9')) base = "v" + base;
  std::string name = base;
  for (int number = 2; !taken_.insert(name).second; ++number) {
    name = base + "_" + std::to_string(number);
  }
  return name;
}

}  // namespace camshaft::render
