// SPDX-License-Identifier: MIT
#include "codegen/render/c_dialect.h"

#include <charconv>

namespace camshaft::render {

using ir::DType;

std::string float_digits(double value, bool is_single) {
  char buffer[64];
  const auto end = is_single
                       ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                       : std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string CDialect::int_literal(int64_t value, DType dtype) const {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? "true" : "false";
    case DType::kUInt32:
      return std::to_string(static_cast<uint32_t>(value)) + "u";
    case DType::kUInt64:
      return std::to_string(static_cast<uint64_t>(value)) + "ul";
    case DType::kInt32:
      return value == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(value);
    case DType::kInt64:
      return value == INT64_MIN ? "(-9223372036854775807l - 1)" : std::to_string(value) + "l";
    default:
      return std::to_string(value);
  }
}

}  // namespace camshaft::render
