// SPDX-License-Identifier: MIT
#include "codegen/onnx/format.h"

#include <cstdio>

#include "codegen/onnx/problem.h"

namespace camshaft::onnx {

std::string format_text_list(const char* format, va_list args) {
  char sentence[1000];
  std::vsnprintf(sentence, sizeof sentence, format, args);
  return sentence;
}

std::string format_text(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string sentence = format_text_list(format, args);
  va_end(args);
  return sentence;
}

std::string printable(const std::string& name) {
  constexpr size_t kShown = 120;
  std::string text = name.substr(0, kShown);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name.size() > kShown ? text + "..." : text;
}

std::string to_string(const Problem& problem) {
  if (problem.node.empty()) return problem.sentence;
  if (problem.op_type.empty()) return "'" + printable(problem.node) + "': " + problem.sentence;
  return "node '" + printable(problem.node) + "' (" + printable(problem.op_type) +
         "): " + problem.sentence;
}

}  // namespace camshaft::onnx
