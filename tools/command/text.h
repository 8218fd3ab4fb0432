// SPDX-License-Identifier: MIT
// Words and numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace camshaft::command {

// The sentence that printf would print.
std::string format_text(const char* format, ...) __attribute__((format(printf, 1, 2)));

std::string bytes_text(uint64_t bytes);     // "812 B", "1.21 MiB"
std::string flops_text(double flops);       // "3.64 GFLOP"
std::string duration_text(double seconds);  // "812 ns", "1.21 ms", "2.50 s"
std::string percent_text(double fraction);  // 0.934 -> "93.4 %"

// `text` without control characters, as it may go to a terminal.
std::string printable(std::string_view text);

// The parts between the separators; one empty part for an empty text.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Columns that a terminal needs for UTF-8 text, taking each character as one column.
size_t columns_of(std::string_view text);

// Text of at most so many columns (1 or more): what is too much is left out of its middle, where
// "…" stands.
std::string shortened(std::string_view text, size_t columns);

// The whole text in lines of at most so many columns (1 or more), broken behind the last '+', '/',
// '_' or space of a line's second half, or where the line is full.
std::vector<std::string> wrapped(std::string_view text, size_t columns);

}  // namespace camshaft::command
