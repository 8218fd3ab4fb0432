// SPDX-License-Identifier: MIT
// The checksum of plan files: XXH3-128. It finds accidents, not attacks; signature.h does those.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/bytes.h"

namespace camshaft::plan {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};

// XXH3-128 with seed 0. About the speed of reading memory.
Hash128 checksum(base::Bytes bytes);

// 32 hex digits, high half first, as `xxh128sum` prints it.
std::string to_hex(Hash128 hash);

}  // namespace camshaft::plan
