// SPDX-License-Identifier: MIT
#include "runtime/plan/checksum.h"

#include <cinttypes>
#include <cstdio>

// Compiled here and not linked: as fast as our compiler makes it, and no more code than we call.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace camshaft::plan {

Hash128 checksum(base::Bytes bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::string to_hex(Hash128 hash) {
  char text[33];
  std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
  return text;
}

}  // namespace camshaft::plan
