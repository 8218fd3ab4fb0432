// SPDX-License-Identifier: MIT
// The publisher's side of the protocol, on memory that is mapped already. LAYOUT.md explains it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "msgq/queue/layout.h"
#include "msgq/queue/lease.h"

namespace camshaft::queue {

// Tells whether a reader slot's owner lives. A system call; asked only about readers in the way.
class SlotOwners {
 public:
  virtual ~SlotOwners() = default;
  virtual bool is_alive(uint32_t slot) const noexcept = 0;
};

class RingWriter {
 public:
  // Goes on where the memory says that the publisher before stopped; nothing where that makes no
  // sense. `view` and `owners` must outlive the writer. Load time only.
  static std::unique_ptr<RingWriter> attach(const TopicView& view, const SlotOwners& owners);

  // Room for a message of up to `size_bytes` (at most max_message_bytes), or null where readers
  // hold too much of the ring. With `revoke`, takes what they hold away instead.
  std::byte* reserve(uint64_t size_bytes, bool revoke) noexcept;

  // Makes the message in the first `size_bytes` of what was reserved visible, and wakes who sleeps
  // at the topic. Returns the flags of the wake word: kWakeBells where bells must ring too.
  uint32_t commit(uint64_t size_bytes, int64_t mono_time_ns, uint64_t tag,
                  uint64_t payload_hash) noexcept;

  // Wakes all sleepers, for news that are not messages. Returns what commit() does.
  uint32_t wake_all() noexcept;
  // The same, even for sleepers whose flags a publisher took that died before it woke them.
  void wake_after_death() noexcept;

  uint64_t newest() const { return newest_; }
  void count_refusal() noexcept;

 private:
  explicit RingWriter(const TopicView& view, const SlotOwners& owners);
  bool recover();
  uint64_t end_of(uint64_t sequence) const;

  // The first range in the way of [start, start + bytes), as distances in bytes from `start`; 0 to
  // 0 where there is none.
  struct Obstacle {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  Obstacle find_obstacle(uint64_t start, uint64_t bytes) const noexcept;
  bool extend(uint64_t bytes) noexcept;
  void revoke_all() noexcept;
  void move_reserved(uint64_t reserved) noexcept;

  const TopicView& view_;
  const SlotOwners& owners_;
  uint64_t newest_;
  uint64_t oldest_ = 1;
  uint64_t head_ = 0;       // position of the next payload
  uint64_t clear_end_ = 0;  // no reader holds or can get anything in [head_, clear_end_)
  uint64_t reserved_ = 0;   // what the memory says: readers keep out of what is below it
  std::unique_ptr<uint64_t[]> positions_;  // of the last messages' payloads, by entry
};

}  // namespace camshaft::queue
