// SPDX-License-Identifier: MIT
#include "tools/command/text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <span>

namespace camshaft::command {
namespace {

struct Unit {
  double size;
  const char* name;
};

// `value` in the largest unit that leaves at least 1 before the point, with three digits.
template <size_t kCount>
std::string scaled_text(double value, const Unit (&units)[kCount]) {
  const Unit* unit = units;
  while (unit + 1 < units + kCount && value >= unit[1].size) ++unit;
  const double scaled = value / unit->size;
  const int decimals = scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
  return format_text("%.*f %s", decimals, scaled, unit->name);
}

// The characters of UTF-8 text.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    result.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

std::string joined(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace

std::string format_text(const char* format, ...) {
  va_list args;
  va_list again;
  va_start(args, format);
  va_copy(again, args);
  std::string text(static_cast<size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, args))), ' ');
  va_end(args);
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string bytes_text(uint64_t bytes) {
  static constexpr Unit kUnits[] = {
      {1, "B"}, {1024, "KiB"}, {1024.0 * 1024, "MiB"}, {1024.0 * 1024 * 1024, "GiB"}};
  if (bytes < 1024) return format_text("%llu B", static_cast<unsigned long long>(bytes));
  return scaled_text(static_cast<double>(bytes), kUnits);
}

std::string flops_text(double flops) {
  static constexpr Unit kUnits[] = {
      {1, "FLOP"}, {1e3, "kFLOP"}, {1e6, "MFLOP"}, {1e9, "GFLOP"}, {1e12, "TFLOP"}};
  if (flops < 1e3) return format_text("%.0f FLOP", flops);
  return scaled_text(flops, kUnits);
}

std::string duration_text(double seconds) {
  static constexpr Unit kUnits[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
  return scaled_text(seconds, kUnits);
}

std::string percent_text(double fraction) {
  return format_text("%.1f %%", 100 * fraction);
}

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string shortened(std::string_view text, size_t columns) {
  const std::vector<std::string_view> letters = characters(text);
  if (letters.size() <= columns) return std::string(text);
  const std::span<const std::string_view> all(letters);
  return joined(all.first(columns / 2)) + "\u2026" + joined(all.last(columns - columns / 2 - 1));
}

std::vector<std::string> wrapped(std::string_view text, size_t columns) {
  const std::vector<std::string_view> letters = characters(text);
  const std::span<const std::string_view> all(letters);
  std::vector<std::string> lines;
  size_t begin = 0;
  while (letters.size() - begin > columns) {
    size_t length = columns;
    while (length > columns / 2 &&
           std::string_view("+/_ ").find(letters[begin + length - 1]) == std::string_view::npos) {
      --length;
    }
    if (length <= columns / 2) length = columns;
    lines.push_back(joined(all.subspan(begin, length)));
    begin += length;
  }
  lines.push_back(joined(all.subspan(begin)));
  return lines;
}

}  // namespace camshaft::command
