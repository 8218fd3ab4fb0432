// SPDX-License-Identifier: MIT
// The checksum of a payload. Compiled in: the first message after a sleep should not have to go
// through a cold page of a library.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

#include "msgq/queue/layout.h"

namespace camshaft::queue {

// XXH3 of the payload where the topic checks payloads of this size, or 0.
inline uint64_t payload_check(const Constants& constants, const std::byte* payload,
                              uint64_t size_bytes) noexcept {
  return size_bytes <= constants.check_up_to_bytes ? XXH3_64bits(payload, size_bytes) : 0;
}

}  // namespace camshaft::queue
