// SPDX-License-Identifier: MIT
// The weights section of a plan: constants one after the other, equal ones once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/plan/plan.h"

namespace camshaft::emit {

class WeightsBuilder {
 public:
  // Offset of `bytes` in the section, a multiple of `alignment` (itself one of 64); appended unless
  // they are there already.
  uint64_t add(std::span<const std::byte> bytes, uint64_t alignment = plan::kBufferAlignment);
  std::vector<std::byte> take() { return std::move(bytes_); }
  int64_t size_bytes() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  struct Place {
    uint64_t offset;
    uint64_t size;
  };
  std::vector<std::byte> bytes_;
  std::multimap<uint64_t, Place> by_hash_;
};

}  // namespace camshaft::emit
