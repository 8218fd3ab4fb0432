// SPDX-License-Identifier: MIT
// The characters under the readers of our text forms: white space, comments, words, numbers.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

namespace camshaft::ir {

// A position in a text, copyable. Everything skips white space and `// comments` first. A failed
// read leaves the position where the error is.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : text_(text) {}

  bool at_end();
  bool peek(char c);
  // Moves past `c`, or the whole word, if it comes next.
  bool accept(char c);
  bool accept_word(std::string_view word);
  base::Status expect(char c);
  base::Status skip_past(char c);

  // Letters, digits, '_' and '.'; empty if there is none.
  std::string_view word();
  // A string in double quotes with the escapes \" \\ \xNN.
  base::Status string(std::string& result);
  // A dtype's short name.
  base::Status dtype(base::DType& result);
  // An integer or floating-point number in the range of T.
  template <typename T>
  base::Status number(T& result) {
    skip_space();
    const char* begin = text_.data() + position_;
    const std::from_chars_result end = std::from_chars(begin, text_.data() + text_.size(), result);
    if (end.ec != std::errc()) return error("expected a number");
    position_ += static_cast<size_t>(end.ptr - begin);
    return base::ok();
  }

  // Writes "line N: SENTENCE" to the log ring.
  base::Status error(const char* format, ...) const __attribute__((format(printf, 2, 3)));

 private:
  void skip_space();

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace camshaft::ir
