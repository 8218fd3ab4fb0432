// SPDX-License-Identifier: MIT
// Any bytes as a .npz file: an answer, never a crash, a hang or a large allocation.
#include <cstddef>
#include <cstdint>

#include "tools/io/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)camshaft::io::parse_npz({reinterpret_cast<const std::byte*>(data), size}, "fuzz.npz");
  return 0;
}
