// SPDX-License-Identifier: MIT
// The shared memory of a pool, drawn in LAYOUT.md: the control page, which only the producer can
// write, and the leases, which every holder can.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "msgq/frames/descriptor.h"

namespace camshaft::frames {

inline constexpr uint64_t kPoolMagic = 0x4c4f4f504d415243;  // "CRAMPOOL"
inline constexpr uint32_t kPoolVersion = 1;
inline constexpr uint32_t kMaxSlots = 64;
inline constexpr uint32_t kMaxHolders = 32;  // readers at a time: bits of a lease word
inline constexpr uint32_t kNameBytes = 32;   // with the final zero

template <typename T>
using Shared = std::atomic<T>;
static_assert(Shared<uint64_t>::is_always_lock_free && Shared<uint32_t>::is_always_lock_free);

struct SlotControl {
  Shared<uint64_t> sequence;  // of the frame in it; 0: none
  FrameDescriptor descriptor;
  uint8_t unused[72];
};
static_assert(sizeof(SlotControl) == 256);

// Counters since the pool was made.
struct PoolCounters {
  Shared<uint64_t> published;
  Shared<uint64_t> starved;         // begin() calls that found every buffer leased
  Shared<uint64_t> skipped_leased;  // buffers that begin() went past because of a lease
  Shared<uint64_t> dead_holders;    // that left leases or not
  Shared<uint64_t> reclaimed;       // leases taken back from dead holders
  Shared<uint64_t> repaired;        // lease words that some process had overwritten
};

struct PoolControl {
  uint64_t magic;
  uint32_t version;
  uint32_t slot_count;
  uint64_t pool_id;
  uint64_t slot_bytes;
  char name[kNameBytes];
  alignas(64) Shared<uint32_t> wake;  // a futex: one more with each frame
  Shared<uint32_t> holders;           // a bit for each that is connected
  Shared<uint64_t> newest;            // sequence of the newest frame
  alignas(64) PoolCounters counters;
  char holder_names[kMaxHolders][kNameBytes];
  alignas(256) SlotControl slots[kMaxSlots];
};
static_assert(offsetof(PoolControl, wake) == 64 && offsetof(PoolControl, counters) == 128);
static_assert(offsetof(PoolControl, holder_names) == 176 && offsetof(PoolControl, slots) == 1280);
static_assert(sizeof(PoolControl) == 1280 + 256 * kMaxSlots);

// Who holds a slot, and which frame is in it: the low half has a bit for each holder, the high half
// is the slot's generation. It is odd while the producer writes to the slot, even otherwise. One
// word, so that a lease is taken only of the frame that it was meant for.
struct LeaseWord {
  alignas(64) Shared<uint64_t> word;
};
constexpr uint32_t generation_of(uint64_t word) {
  return static_cast<uint32_t>(word >> 32);
}
constexpr uint32_t holders_of(uint64_t word) {
  return static_cast<uint32_t>(word);
}
constexpr uint64_t make_word(uint32_t generation, uint32_t holders) {
  return uint64_t{generation} << 32 | holders;
}
constexpr bool is_being_written(uint32_t generation) {
  return generation % 2 != 0;
}

struct PoolLeases {
  alignas(64) Shared<uint32_t> sleeping;  // a bit for each holder that waits for a frame
  LeaseWord slots[kMaxSlots];
};
static_assert(offsetof(PoolLeases, slots) == 64 && sizeof(PoolLeases) == 64 + 64 * kMaxSlots);

// --- The handshake
// -----------------------------------------------------------------------------------

// A reader's first packet, and the producer's answer, which carries the file descriptors of control
// page, leases and slots, in this order, unless it is a refusal.
struct Hello {
  uint64_t magic = kPoolMagic;
  uint32_t version = kPoolVersion;
  uint32_t reserved = 0;
  char holder[kNameBytes] = {};
};
static_assert(sizeof(Hello) == 48);

enum class Answer : uint32_t { kWelcome, kFull, kOtherVersion };
struct Welcome {
  uint64_t magic = kPoolMagic;
  uint32_t version = kPoolVersion;
  Answer answer = Answer::kWelcome;
  uint64_t pool_id = 0;
  uint64_t slot_bytes = 0;
  uint32_t slot_count = 0;
  uint32_t holder = 0;  // the reader's bit
};
static_assert(sizeof(Welcome) == 40);

}  // namespace camshaft::frames
