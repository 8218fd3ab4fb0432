// SPDX-License-Identifier: MIT
#include "codegen/ir/kernel_lexer.h"

#include <algorithm>

#include "codegen/ir/kernel_syntax.h"

namespace camshaft::ir {
namespace {

// How many characters from `from` on satisfy `belongs`.
template <typename Predicate>
size_t run_length(std::string_view text, size_t from, Predicate belongs) {
  size_t end = from;
  while (end < text.size() && belongs(text[end])) ++end;
  return end - from;
}

}  // namespace

void KernelLexer::skip_blanks() {
  while (!rest_.empty()) {
    if (rest_.starts_with("//")) {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r' || rest_[0] == '\n') {
      line_ += rest_[0] == '\n';
      rest_.remove_prefix(1);
    } else {
      return;
    }
  }
}

Token KernelLexer::take(TokenKind kind, size_t length) {
  const Token token{kind, rest_.substr(0, length), line_};
  rest_.remove_prefix(length);
  return token;
}

size_t KernelLexer::number_length() const {
  size_t length = run_length(rest_, 0, is_digit);
  const auto at = [&](size_t i) { return i < rest_.size() ? rest_[i] : '\0'; };
  // 0..64 is a range, not the float 0.
  if (at(length) == '.' && at(length + 1) != '.') {
    ++length;
    length += run_length(rest_, length, is_digit);
  }
  if (at(length) == 'e') {
    const size_t sign = at(length + 1) == '-' || at(length + 1) == '+' ? 1 : 0;
    if (is_digit(at(length + 1 + sign))) {
      length += 1 + sign;
      length += run_length(rest_, length, is_digit);
    }
  }
  return length + run_length(rest_, length, is_name_char);  // the dtype
}

Token KernelLexer::next() {
  skip_blanks();
  if (rest_.empty()) return {TokenKind::kEnd, {}, line_};
  const char c = rest_[0];
  if (is_digit(c)) return take(TokenKind::kNumber, number_length());
  if (is_name_char(c)) return take(TokenKind::kName, run_length(rest_, 0, is_name_char));
  if (c == '$') return take(TokenKind::kAlias, 1 + run_length(rest_, 1, is_digit));
  if (c == '"') {
    const size_t end = rest_.find_first_of("\"\n", 1);
    if (end == std::string_view::npos || rest_[end] == '\n') return take(TokenKind::kBad, 1);
    Token token = take(TokenKind::kString, end + 1);
    token.text = token.text.substr(1, end - 1);
    return token;
  }
  for (const std::string_view symbol : {"..", "==", "<=", "<<", ">>"}) {
    if (rest_.starts_with(symbol)) return take(TokenKind::kSymbol, symbol.size());
  }
  const bool known = std::string_view("(){}[]:,=+-*/%&^|<").find(c) != std::string_view::npos;
  return take(known ? TokenKind::kSymbol : TokenKind::kBad, 1);
}

}  // namespace camshaft::ir
