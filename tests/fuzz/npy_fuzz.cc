// SPDX-License-Identifier: MIT
// Any bytes as a .npy file: an answer, never a crash, a hang or a large allocation.
#include <cstddef>
#include <cstdint>

#include "tools/io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)camshaft::io::parse_npy({reinterpret_cast<const std::byte*>(data), size}, "fuzz.npy");
  return 0;
}
