// SPDX-License-Identifier: MIT
#include "tools/io/npy_header.h"

#include "runtime/base/bytes.h"

namespace camshaft::io {
namespace {

using base::Code;
using base::Status;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  // 'text' or "text", without escapes.
  bool take_string(std::string& value) {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value.find('\\') == std::string::npos;
  }
  bool take_number(int64_t& value) {
    skip_space();
    const size_t begin = at_;
    std::optional<int64_t> number = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      number = base::checked_mul(*number, 10);
      if (number) number = base::checked_add(*number, text_[at_] - '0');
      if (!number) return false;
    }
    take("L");  // of files that Python 2 wrote
    value = *number;
    return at_ > begin;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// "(3, 4)", "(3,)" or "()".
bool take_shape(Scanner& scanner, std::vector<int64_t>& shape) {
  if (!scanner.take("(")) return false;
  while (!scanner.take(")")) {
    int64_t extent = 0;
    if (shape.size() == kMaxNpyRank || !scanner.take_number(extent)) return false;
    shape.push_back(extent);
    if (!scanner.take(",")) return scanner.take(")");
  }
  return true;
}

bool take_bool(Scanner& scanner, bool& value) {
  value = scanner.take("True");
  return value || scanner.take("False");
}

// One `'key': value`; `seen` has a bit a key.
bool take_item(Scanner& scanner, NpyHeader& header, unsigned& seen, bool& is_structured) {
  std::string key;
  if (!scanner.take_string(key) || !scanner.take(":")) return false;
  const unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
  if (bit == 0 || (seen & bit) != 0) return false;
  seen |= bit;
  if (bit == 2) return take_bool(scanner, header.fortran_order);
  if (bit == 4) return take_shape(scanner, header.shape);
  is_structured = scanner.take("[");
  return !is_structured && scanner.take_string(header.descr);
}

bool take_header(Scanner& scanner, NpyHeader& header, bool& is_structured) {
  unsigned seen = 0;
  if (!scanner.take("{")) return false;
  while (!scanner.take("}")) {
    if (!take_item(scanner, header, seen, is_structured)) return false;
    if (!scanner.take(",")) {
      if (!scanner.take("}")) return false;
      break;
    }
  }
  return seen == 7 && scanner.at_end();
}

}  // namespace

base::Result<NpyHeader> parse_npy_header(std::string_view text, const std::string& file) {
  NpyHeader header;
  Scanner scanner(text);
  bool is_structured = false;
  if (take_header(scanner, header, is_structured)) return header;
  if (is_structured) {
    return base::fail(Code::kInvalidArgument, "npy.structured",
                      "%s holds an array of records; save plain numbers", file.c_str());
  }
  return base::fail(Code::kCorrupt, "npy.header",
                    "%s is damaged: its header is not NumPy's; save the array again", file.c_str());
}

std::string npy_header_text(const NpyHeader& header) {
  std::string shape;
  for (const int64_t extent : header.shape) {
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  }
  if (header.shape.size() == 1) shape += ",";
  return "{'descr': '" + header.descr +
         "', 'fortran_order': " + (header.fortran_order ? "True" : "False") + ", 'shape': (" +
         shape + "), }";
}

}  // namespace camshaft::io
