// SPDX-License-Identifier: MIT
// Any bytes as a .png file: an answer, never a crash, a hang or a large allocation.
#include <cstddef>
#include <cstdint>

#include "tools/io/png.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)camshaft::io::parse_png({reinterpret_cast<const std::byte*>(data), size}, "fuzz.png");
  return 0;
}
