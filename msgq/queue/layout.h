// SPDX-License-Identifier: MIT
// What lies in the shared memory of a topic; LAYOUT.md draws it and says who may write what when.
// Everything that changes is an atomic. Everything is validated where it is read: another process
// may have written anything.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "runtime/base/status.h"

namespace camshaft::queue {

inline constexpr uint64_t kMagic = 0x0a51'4654'4653'4d43;  // "CMSFTFQ\n" in memory
inline constexpr uint32_t kLayoutVersion = 2;
inline constexpr uint32_t kMaxReaderSlots = 64;
inline constexpr uint64_t kLineBytes = 64;  // of a cache, and the alignment of payloads
inline constexpr uint64_t kMaxRingBytes = uint64_t{1} << 35;
inline constexpr uint32_t kMaxEntries = 1u << 20;
inline constexpr int kReaderNameBytes = 32;

// Written before the file gets its name, and the same for its whole life. 128 bytes.
struct Constants {
  uint64_t magic = kMagic;
  uint32_t layout_version = kLayoutVersion;
  uint32_t page_bytes = 0;  // regions begin at multiples of it
  uint64_t file_bytes = 0;
  uint64_t ring_bytes = 0;  // a power of two, at least a page
  uint32_t entries = 0;     // a power of two
  uint32_t reader_slots = 0;
  uint64_t schema_hash = 0;        // what the payloads mean; 0: anything
  uint64_t check_up_to_bytes = 0;  // payloads up to this size carry a checksum
  uint64_t generation = 0;         // random, tells this file from the topic's others
  uint64_t first_sequence = 0;     // messages of this file are numbered from this + 1
  uint64_t unused_numbers = 0;     // so many numbers up to that no message has
  uint64_t unused[5] = {};
  uint64_t checksum = 0;  // of all the above
};
static_assert(sizeof(Constants) == 128);
static_assert(offsetof(Constants, ring_bytes) == 24 && offsetof(Constants, reader_slots) == 36 &&
              offsetof(Constants, schema_hash) == 40 && offsetof(Constants, first_sequence) == 64 &&
              offsetof(Constants, unused_numbers) == 72);
static_assert(offsetof(Constants, file_bytes) == 16 && offsetof(Constants, generation) == 56 &&
              offsetof(Constants, checksum) == 120);

// What the publisher changes now and then. In a line of its own, so that readers keep it in cache.
struct alignas(kLineBytes) Reservation {
  // Payload bytes below reserved - ring_bytes may be overwritten at any time. Never decreases.
  std::atomic<uint64_t> reserved;
  std::atomic<uint32_t> state;  // a TopicState
};
enum TopicState : uint32_t {
  kStateLive = 0,
  kStateMoved = 0x4556'4f4d,  // "MOVE": another file has the topic's name now: open again
};

// What the publisher changes with every message.
struct alignas(kLineBytes) Progress {
  std::atomic<uint64_t> newest;         // sequence number of the newest whole message
  std::atomic<uint64_t> oldest;         // of the oldest that is still there; a hint
  std::atomic<uint64_t> payload_bytes;  // of all messages of this publisher
  std::atomic<uint64_t> refused;        // messages that it could not send
  std::atomic<uint64_t> revoked;        // leases that it took away
  std::atomic<uint64_t> publisher_pid;  // for people
};

struct PublisherArea {
  Constants constants;
  Reservation reservation;
  Progress progress;
};
static_assert(sizeof(PublisherArea) == 256);
static_assert(offsetof(PublisherArea, reservation) == 128);
static_assert(offsetof(PublisherArea, progress) == 192);

// The word that readers of the topic sleep on: counter << 2 | flags.
struct alignas(kLineBytes) WakeLine {
  std::atomic<uint32_t> word;
};
inline constexpr uint32_t kWakeSleepers = 1;  // somebody sleeps on the word itself
inline constexpr uint32_t kWakeBells = 2;     // somebody sleeps on a bell (see bells.h)
inline constexpr uint32_t kWakeFlags = kWakeSleepers | kWakeBells;

// One reader: what it holds, and what others want to see of it. Owned by whoever holds the slot's
// file lock, so a dead process's slot is free without anybody noticing first.
struct alignas(kLineBytes) ReaderSlot {
  std::atomic<uint64_t> lease;   // see lease.h; 0: holds nothing
  std::atomic<uint64_t> cursor;  // sequence number of the next message it wants
  std::atomic<uint64_t> received;
  std::atomic<uint64_t> dropped;                  // overwritten before it came
  std::atomic<uint64_t> conflated;                // passed over because it wants only the newest
  std::atomic<uint64_t> corrupt;                  // damaged messages
  std::atomic<uint32_t> bell;                     // where it wants to be woken; 0: at the wake word
  alignas(kLineBytes) std::atomic<uint64_t> pid;  // in its own PID namespace; for people
  std::atomic<uint64_t> opened_mono_ns;
  std::atomic<uint64_t> name[kReaderNameBytes / 8];
};
static_assert(sizeof(ReaderSlot) == 128);
static_assert(offsetof(ReaderSlot, pid) == 64);

// One message: entry (sequence % entries) describes message `sequence`.
struct alignas(kLineBytes) Entry {
  std::atomic<uint64_t> stamp;     // 2n: message n, whole; 2n - 1: n is being written; 0: nothing
  std::atomic<uint64_t> position;  // of the payload, in bytes since the topic began
  std::atomic<uint64_t> size_bytes;
  std::atomic<uint64_t> mono_time_ns;
  std::atomic<uint64_t> tag;
  std::atomic<uint64_t> payload_check;  // XXH3 of the payload, or 0
  std::atomic<uint64_t> check;          // of all the others
};
static_assert(sizeof(Entry) == 64);
static_assert(offsetof(Entry, size_bytes) == 16 && offsetof(Entry, payload_check) == 40 &&
              offsetof(Entry, check) == 48);
static_assert(sizeof(WakeLine) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);
static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4);
static_assert(sizeof(void*) == 8, "a topic is mapped whole, its ring twice");

// File locks (open file description locks) on single bytes say who lives.
inline constexpr int64_t kPublisherLockByte = 1;
inline constexpr int64_t kFirstReaderLockByte = 64;

// Where the regions begin in the file. All are multiples of page_bytes.
struct Geometry {
  uint64_t readers_offset = 0;  // WakeLine, then ReaderSlots
  uint64_t entries_offset = 0;
  uint64_t ring_offset = 0;
  uint64_t file_bytes = 0;
};
Geometry geometry_of(const Constants& constants);

uint64_t checksum_of(const Constants& constants);

// Whether a header found in a file of `file_bytes` describes a topic that this program can use:
// kCorrupt or kUnsupported with a sentence about `what` (a path) where it does not.
base::Status verify_constants(const Constants& constants, uint64_t file_bytes, const char* what);

// One step of a hash.
constexpr uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15;
  return hash ^ (hash >> 32);
}

// The check of an entry's fields; `generation` keeps entries of other files from passing.
constexpr uint64_t entry_check(uint64_t generation, uint64_t sequence, uint64_t position,
                               uint64_t size_bytes, uint64_t mono_time_ns, uint64_t tag,
                               uint64_t payload_check) {
  uint64_t hash = mixed(generation, sequence);
  for (const uint64_t word : {position, size_bytes, mono_time_ns, tag, payload_check}) {
    hash = mixed(hash, word);
  }
  return hash;
}

// A mapped topic. Pointers into shared memory; `constants` is a validated private copy.
struct TopicView {
  Constants constants;
  PublisherArea* publisher = nullptr;
  WakeLine* wake = nullptr;
  ReaderSlot* slots = nullptr;
  Entry* entries = nullptr;
  std::byte* ring = nullptr;  // mapped twice in a row: any payload is contiguous

  Entry& entry(uint64_t sequence) const { return entries[sequence & (constants.entries - 1)]; }
  std::byte* payload(uint64_t position) const {
    return ring + (position & (constants.ring_bytes - 1));
  }
  // Half of the ring, so that one message can be written while another is read.
  uint64_t max_message_bytes() const { return constants.ring_bytes / 2; }
};

}  // namespace camshaft::queue
