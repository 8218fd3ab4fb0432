// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_tokens.h"

#include <charconv>
#include <optional>

#include "codegen/ir/kernel_types.h"

namespace camshaft::ir {

void TokenReader::fail(const std::string& problem) {
  if (!ok()) return;
  error_ = base::fail(base::Code::kInvalidArgument, "kernel.parse", "kernel text, line %d: %s",
                      token_.line, problem.c_str());
}

void TokenReader::fail_expecting(std::string_view what) {
  fail("expected " + std::string(what) + ", found '" + std::string(token_.text) + "'");
}

void TokenReader::expect(std::string_view symbol) {
  if (!is_symbol(symbol)) fail_expecting("'" + std::string(symbol) + "'");
  advance();
}

void TokenReader::expect_name(std::string_view name) {
  if (!is_name(name)) fail_expecting("'" + std::string(name) + "'");
  advance();
}

Token TokenReader::take(TokenKind kind, const char* what) {
  if (token_.kind != kind) fail_expecting(what);
  const Token taken = ok() ? token_ : Token{};
  advance();
  return taken;
}

int64_t TokenReader::take_int() {
  const bool negative = accept("-");
  const Token number = take(TokenKind::kNumber, "an integer");
  const std::string text = (negative ? "-" : "") + std::string(number.text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ok() && (error != std::errc() || end != text.data() + text.size())) {
    fail("'" + text + "' is no 64-bit integer");
  }
  return value;
}

DType TokenReader::take_dtype() {
  const Token name = take(TokenKind::kName, "a dtype");
  const std::optional<DType> dtype = base::dtype_from_name(name.text);
  if (!dtype) fail("'" + std::string(name.text) + "' is no dtype");
  return dtype.value_or(DType::kFloat32);
}

int32_t TokenReader::take_lanes() {
  const int64_t lanes = take_int();
  if (lanes < 2 || lanes > kMaxLanes || !is_valid_lanes(static_cast<int32_t>(lanes))) {
    fail("lanes are a power of two from 2 to 64");
    return 2;
  }
  return static_cast<int32_t>(lanes);
}

ValueType TokenReader::take_type() {
  const std::string text(take(TokenKind::kName, "a type").text);
  const size_t x = text.find('x');
  ValueType type;
  const std::optional<DType> dtype = base::dtype_from_name(text.substr(0, x));
  if (dtype) type.dtype = *dtype;
  bool valid = dtype.has_value();
  if (x != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data() + x + 1, end, type.lanes);
    valid = valid && result.ec == std::errc() && result.ptr == end && type.lanes > 1 &&
            is_valid_lanes(type.lanes);
  }
  if (!valid) fail("'" + text + "' is no type");
  return type;
}

}  // namespace camshaft::ir
