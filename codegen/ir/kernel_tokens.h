// SPDX-License-Identifier: MIT
// Reads a kernel's text token by token, and remembers the first failure.
#pragma once

#include <string>
#include <string_view>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_lexer.h"
#include "runtime/base/status.h"

namespace camshaft::ir {

// After a failure the text is at its end: what is taken then is empty or 0, nothing is accepted,
// and so every loop over tokens ends. The text outlives the reader.
class TokenReader {
 public:
  explicit TokenReader(std::string_view text) : lexer_(text) { advance(); }

  bool ok() const { return error_.is_ok(); }
  base::Status error() const { return error_; }
  // The sentence goes to the log ring, with the line of the present token, if it is the first.
  void fail(const std::string& problem);

  const Token& token() const { return token_; }
  void advance() { token_ = ok() ? lexer_.next() : Token{}; }
  bool is_symbol(std::string_view text) const { return is(TokenKind::kSymbol, text); }
  bool is_name(std::string_view text) const { return is(TokenKind::kName, text); }
  // Takes the present token if it is this one.
  bool accept(std::string_view symbol) { return ok() && is_symbol(symbol) && skip(); }
  bool accept_name(std::string_view name) { return ok() && is_name(name) && skip(); }
  // Takes it or fails.
  void expect(std::string_view symbol);
  void expect_name(std::string_view name);
  Token take(TokenKind kind, const char* what);
  std::string take_name(const char* what) { return std::string(take(TokenKind::kName, what).text); }
  int64_t take_int();
  DType take_dtype();
  int32_t take_lanes();  // more than 1
  ValueType take_type();

 private:
  bool is(TokenKind kind, std::string_view text) const {
    return token_.kind == kind && token_.text == text;
  }
  bool skip() {
    advance();
    return true;
  }
  void fail_expecting(std::string_view what);

  KernelLexer lexer_;
  Token token_;
  base::Status error_;
};

}  // namespace camshaft::ir
