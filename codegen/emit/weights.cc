// SPDX-License-Identifier: MIT
#include "codegen/emit/weights.h"

#include <xxhash.h>

#include <cstring>

namespace camshaft::emit {

uint64_t WeightsBuilder::add(std::span<const std::byte> bytes, uint64_t alignment) {
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Place& place = it->second;
    if (place.size == bytes.size() && place.offset % alignment == 0 &&
        std::memcmp(bytes_.data() + place.offset, bytes.data(), bytes.size()) == 0) {
      return place.offset;
    }
  }
  const uint64_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
  bytes_.resize(offset, std::byte{0});
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  by_hash_.insert({hash, {offset, bytes.size()}});
  return offset;
}

}  // namespace camshaft::emit
