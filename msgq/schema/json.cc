// SPDX-License-Identifier: MIT
#include "msgq/schema/json.h"

#include <charconv>
#include <cmath>
#include <concepts>
#include <type_traits>

namespace camshaft::schema {
namespace {

// The length of the UTF-8 character that `text` begins with, or 0 where it begins with none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_overlong = code < (length == 3 ? 0x800u : length == 4 ? 0x10000u : 0x80u);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return is_overlong || is_surrogate || code > 0x10ffff ? 0 : length;
}

void append_text(std::string_view text, std::string& to) {
  static constexpr char kHex[] = "0123456789abcdef";
  to += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      to += "\xef\xbf\xbd";
    } else if (c < 0x20 || c == 0x7f) {
      to += "\\u00";
      to += kHex[c >> 4];
      to += kHex[c & 15];
    } else {
      if (c == '"' || c == '\\') to += '\\';
      to += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  to += '"';
}

class Writer {
 public:
  explicit Writer(std::string& to) : to_(to) {}

  template <typename T>
  void member(const char* name, const T& value) {
    if (to_.back() != '{') to_ += ',';
    append_text(name, to_);
    to_ += ':';
    write(value);
  }

  void write(bool value) { to_ += value ? "true" : "false"; }
  void write(const std::string& value) { append_text(value, to_); }
  void write(Gear value) { append_text(enumerant_name(value), to_); }
  void write(HealthState value) { append_text(enumerant_name(value), to_); }
  void write(std::integral auto value) { write_number(value); }
  void write(float value) {
    if (std::isfinite(value)) {
      write_number(value);
    } else {
      to_ += "null";
    }
  }

  template <typename T>
  void write(const std::vector<T>& values) {
    to_ += '[';
    for (const T& value : values) {
      if (&value != values.data()) to_ += ',';
      write(value);
    }
    to_ += ']';
  }

  template <typename T>
    requires std::is_class_v<T>
  void write(const T& value) {
    to_ += '{';
    fields(value, [this](const char* name, const auto& field) { this->member(name, field); });
    to_ += '}';
  }

 private:
  void write_number(auto value) {
    char digits[32];
    to_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }

  std::string& to_;
};

}  // namespace

std::string to_json(const Message& message) {
  std::string text = "{";
  Writer writer(text);
  writer.member("service", message.service);
  writer.member("monoTimeNs", message.mono_time_ns);
  writer.member("valid", message.valid);
  writer.member("reason", message.reason);
  const char* const name = body_name(message.body.index());
  writer.member("body", std::string(name));
  std::visit([&](const auto& body) { writer.member(name, body); }, message.body);
  return text + "}";
}

std::string json_text(std::string_view text) {
  std::string quoted;
  append_text(text, quoted);
  return quoted;
}

}  // namespace camshaft::schema
