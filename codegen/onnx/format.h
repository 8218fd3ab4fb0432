// SPDX-License-Identifier: MIT
// Sentences made as printf makes them.
#pragma once

#include <cstdarg>
#include <string>

namespace camshaft::onnx {

// The sentence; cut at 1000 bytes.
std::string format_text(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string format_text_list(const char* format, va_list args)
    __attribute__((format(printf, 1, 0)));

// A name from a model as it may stand in a sentence: cut if it is long, without control characters.
std::string printable(const std::string& name);

}  // namespace camshaft::onnx
