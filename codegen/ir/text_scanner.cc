// SPDX-License-Identifier: MIT
#include "codegen/ir/text_scanner.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace camshaft::ir {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

}  // namespace

void TextScanner::skip_space() {
  while (position_ < text_.size()) {
    if (text_.substr(position_, 2) == "//") {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    } else {
      return;
    }
  }
}

bool TextScanner::at_end() {
  skip_space();
  return position_ == text_.size();
}

bool TextScanner::peek(char c) {
  return !at_end() && text_[position_] == c;
}

bool TextScanner::accept(char c) {
  if (!peek(c)) return false;
  ++position_;
  return true;
}

bool TextScanner::accept_word(std::string_view expected) {
  const size_t start = position_;
  if (word() == expected) return true;
  position_ = start;
  return false;
}

base::Status TextScanner::expect(char c) {
  if (accept(c)) return base::ok();
  return error("expected '%c'", c);
}

base::Status TextScanner::skip_past(char c) {
  const size_t found = text_.find(c, position_);
  if (found == std::string_view::npos) return error("expected '%c'", c);
  position_ = found + 1;
  return base::ok();
}

std::string_view TextScanner::word() {
  skip_space();
  const size_t start = position_;
  while (position_ < text_.size() && is_word_char(text_[position_])) ++position_;
  return text_.substr(start, position_ - start);
}

base::Status TextScanner::string(std::string& result) {
  CAMSHAFT_TRY(expect('"'));
  result.clear();
  while (position_ < text_.size() && text_[position_] != '"') {
    if (text_[position_] != '\\') {
      result += text_[position_++];
      continue;
    }
    const char escaped = position_ + 1 < text_.size() ? text_[position_ + 1] : '\0';
    if (escaped == '"' || escaped == '\\') {
      result += escaped;
      position_ += 2;
      continue;
    }
    unsigned code = 0;
    const char* digits = text_.data() + std::min(position_ + 2, text_.size());
    const char* limit = text_.data() + std::min(position_ + 4, text_.size());
    if (escaped != 'x' || std::from_chars(digits, limit, code, 16).ptr != digits + 2) {
      return error("unknown escape in a string");
    }
    result += static_cast<char>(code);
    position_ += 4;
  }
  if (position_ >= text_.size()) return error("string without an end");
  ++position_;
  return base::ok();
}

base::Status TextScanner::dtype(base::DType& result) {
  const std::string_view name = word();
  const std::optional<base::DType> found = base::dtype_from_name(name);
  if (!found) {
    return error("'%.*s' is not an element type", static_cast<int>(name.size()), name.data());
  }
  result = *found;
  return base::ok();
}

base::Status TextScanner::error(const char* format, ...) const {
  char sentence[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(sentence, sizeof(sentence), format, args);
  va_end(args);
  const auto line =
      1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(position_), '\n');
  return base::fail(base::Code::kInvalidArgument, "text", "line %lld: %s",
                    static_cast<long long>(line), sentence);
}

}  // namespace camshaft::ir
