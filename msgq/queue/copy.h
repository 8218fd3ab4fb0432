// SPDX-License-Identifier: MIT
// Copies between private and shared memory that somebody else may write at the same time, where a
// publisher takes a message back from a reader that is copying it. Both sides move whole words
// atomically, so the copy may be of no use but is no undefined behaviour; the reader asks
// afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "msgq/queue/layout.h"

namespace camshaft::queue {

// Shared payloads begin at a multiple of 64 bytes and own all of their last word.
inline void copy_from_shared(std::byte* to, const std::byte* shared, uint64_t bytes) noexcept {
  const auto* words = reinterpret_cast<const uint64_t*>(shared);
  const uint64_t whole = bytes / 8;
  for (uint64_t i = 0; i < whole; ++i) {
    const uint64_t word = __atomic_load_n(words + i, __ATOMIC_RELAXED);
    std::memcpy(to + 8 * i, &word, 8);
  }
  if (bytes % 8 == 0) return;
  const uint64_t word = __atomic_load_n(words + whole, __ATOMIC_RELAXED);
  std::memcpy(to + 8 * whole, &word, bytes % 8);
}

inline void copy_to_shared(std::byte* shared, const std::byte* from, uint64_t bytes) noexcept {
  auto* words = reinterpret_cast<uint64_t*>(shared);
  const uint64_t whole = bytes / 8;
  for (uint64_t i = 0; i < whole; ++i) {
    uint64_t word;
    std::memcpy(&word, from + 8 * i, 8);
    __atomic_store_n(words + i, word, __ATOMIC_RELAXED);
  }
  if (bytes % 8 == 0) return;
  uint64_t word = 0;
  std::memcpy(&word, from + 8 * whole, bytes % 8);
  __atomic_store_n(words + whole, word, __ATOMIC_RELAXED);
}

}  // namespace camshaft::queue
