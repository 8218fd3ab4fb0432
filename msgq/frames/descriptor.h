// SPDX-License-Identifier: MIT
// What there is to know about one frame, as it lies in shared memory and travels in messages:
// little-endian, fixed offsets, no pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "msgq/frames/format.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::frames {

// Names one frame of one pool, for as long as it is in the pool.
struct FrameRef {
  uint64_t pool_id = 0;
  uint64_t sequence = 0;  // 1 for a pool's first frame; gaps are frames that were not published
  uint32_t slot = 0;

  bool operator==(const FrameRef&) const = default;
};

// Times are base::mono_time_ns().
struct FrameDescriptor {
  uint32_t version = 1;
  uint32_t slot = 0;
  uint64_t pool_id = 0;
  uint64_t sequence = 0;
  uint64_t frame_id = 0;  // as the sensor counts: gaps are frames that the sensor dropped
  int64_t exposure_start_ns = 0;
  int64_t exposure_end_ns = 0;
  int64_t published_ns = 0;
  Geometry geometry;

  FrameRef ref() const { return {pool_id, sequence, slot}; }
};
static_assert(std::is_trivially_copyable_v<FrameDescriptor>);
static_assert(sizeof(Plane) == 24 && sizeof(Geometry) == 120);
static_assert(offsetof(Geometry, planes) == 16 && offsetof(Geometry, size_bytes) == 112);
static_assert(sizeof(FrameDescriptor) == 176 && offsetof(FrameDescriptor, geometry) == 56);

// The descriptor's bytes, for a message. Borrows.
inline base::Bytes to_bytes(const FrameDescriptor& descriptor) {
  return {reinterpret_cast<const std::byte*>(&descriptor), sizeof descriptor};
}

// The other way round, trusting nothing: kCorrupt with a sentence for another size or version,
// planes that reach beyond `buffer_bytes`, and an exposure that ends before it starts.
base::Result<FrameDescriptor> parse_descriptor(base::Bytes bytes, uint64_t buffer_bytes);
base::Status check_descriptor(const FrameDescriptor& descriptor, uint64_t buffer_bytes);

}  // namespace camshaft::frames
