// SPDX-License-Identifier: MIT
// Splits a kernel's text into tokens, for kernel_parse.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace camshaft::ir {

enum class TokenKind : uint8_t {
  kEnd,
  kName,    // a word of letters, digits and _, not starting with a digit
  kNumber,  // 12, 0.5, 1e-05, with a dtype behind it: 7u8, 0.5f64; never a sign
  kString,  // text without its quotes
  kAlias,   // $12
  kSymbol,  // one of ( ) { } [ ] : , = + - * / % & ^ | < and .. == <= << >>
  kBad,     // a character that starts nothing
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  int line = 1;
};

// The text outlives the lexer. `//` starts a comment that ends with its line.
class KernelLexer {
 public:
  explicit KernelLexer(std::string_view text) : rest_(text) {}
  Token next();

 private:
  void skip_blanks();
  Token take(TokenKind kind, size_t length);
  size_t number_length() const;

  std::string_view rest_;
  int line_ = 1;
};

}  // namespace camshaft::ir
