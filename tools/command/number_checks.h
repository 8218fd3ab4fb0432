// SPDX-License-Identifier: MIT
// Checks of numbers on the command line, whose answers are sentences.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace camshaft::command {

// A finite number above zero, or not below it.
inline CLI::Validator number_check(bool may_be_zero) {
  return CLI::Validator(
      [may_be_zero](std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool is_number = end != text.c_str() && *end == '\0' && value <= 1e300;
        if (is_number && (value > 0 || (may_be_zero && value == 0))) return {};
        return std::string("write a number ") + (may_be_zero ? "of 0 or more" : "above 0") +
               ", not '" + text + "'";
      },
      "");
}
inline CLI::Validator above_zero() {
  return number_check(false);
}
inline CLI::Validator zero_or_more() {
  return number_check(true);
}

// A whole number of 64 bits, in digits.
inline CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end) return {};
        return "write a whole number from 0 to " + std::to_string(UINT64_MAX) + ", not '" + text +
               "'";
      },
      "");
}

// What percentiles can be.
inline CLI::Validator percent() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool is_number = end != text.c_str() && *end == '\0';
        if (is_number && value >= 1e-6 && value <= 100) return {};
        return "write numbers from 0.000001 to 100, as in 50,99,99.9, not '" + text + "'";
      },
      "");
}

}  // namespace camshaft::command
