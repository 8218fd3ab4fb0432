// SPDX-License-Identifier: MIT
// What a reader holds, in one word: a range of the ring that the publisher must not write to.
#pragma once

#include <cstdint>

#include "msgq/queue/layout.h"

namespace camshaft::queue {

// Where in the ring a payload lies, in lines.
struct Range {
  uint64_t offset_lines = 0;
  uint64_t lines = 0;
};

constexpr uint64_t lines_of(uint64_t size_bytes) {
  return (size_bytes + kLineBytes - 1) / kLineBytes;
}

inline constexpr uint64_t kLeaseHeld = uint64_t{1} << 63;
inline constexpr uint64_t kLeaseRevoked = uint64_t{1} << 62;  // set by the publisher
inline constexpr int kLeaseFieldBits = 31;
inline constexpr uint64_t kLeaseFieldMask = (uint64_t{1} << kLeaseFieldBits) - 1;
static_assert(kMaxRingBytes / kLineBytes <= kLeaseFieldMask);

constexpr uint64_t lease_of(Range range) {
  return kLeaseHeld | range.lines << kLeaseFieldBits | range.offset_lines;
}

// The range of a lease that holds something in a ring of `ring_lines`; no lines where it does not,
// was revoked, or makes no sense.
constexpr Range held_range(uint64_t lease, uint64_t ring_lines) {
  const Range range = {lease & kLeaseFieldMask, (lease >> kLeaseFieldBits) & kLeaseFieldMask};
  const bool holds = (lease & (kLeaseHeld | kLeaseRevoked)) == kLeaseHeld &&
                     range.offset_lines < ring_lines && range.lines <= ring_lines / 2;
  return holds ? range : Range{};
}

}  // namespace camshaft::queue
