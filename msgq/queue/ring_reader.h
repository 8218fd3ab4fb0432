// SPDX-License-Identifier: MIT
// A reader's side of the protocol, on memory that is mapped already. LAYOUT.md explains it.
#pragma once

#include <cstdint>

#include "msgq/queue/layout.h"
#include "msgq/queue/subscriber.h"

namespace camshaft::queue {

// Totals of a reader.
struct ReaderCounters {
  uint64_t received = 0;
  uint64_t dropped = 0;
  uint64_t conflated = 0;
  uint64_t corrupt = 0;
  uint64_t unreported = 0;  // of the dropped, those that no message has told yet
};

class RingReader {
 public:
  // Reads with slot `slot`, which nobody else may use. `view` must outlive the reader.
  RingReader(const TopicView& view, uint32_t slot, bool conflate, const ReaderCounters& so_far);

  void start(Start where) noexcept;
  void set_next(uint64_t sequence) noexcept;

  // The next message, leased; empty where there is none; kCorrupt where it is damaged. Its payload
  // is checked now, or by the caller once it has copied it: is_intact(), report_damaged_copy().
  enum class Check : uint8_t { kNow, kLater };
  base::Result<Message> take(Check when) noexcept;
  // Whether a message is out that has not been released. One at a time.
  bool is_holding() const { return is_holding_; }
  bool is_lease_valid() const noexcept;
  bool end_lease() noexcept;  // returns what is_lease_valid() said
  bool is_intact(const Message& message, base::Bytes bytes) const noexcept;
  base::Status report_damaged_copy() noexcept;
  // Takes back the last take(): the same message comes again, if it is not overwritten by then.
  void put_back(const MessageInfo& info) noexcept;
  // Notes messages that will never come to this reader.
  void count_missed(uint64_t count) noexcept;
  // Notes that the message taken last was revoked before it was used.
  void count_revoked(const MessageInfo& info) noexcept;

  // Whether take() would have something to say.
  bool is_ready() const noexcept;
  // The same, in an order with the wake word that lets no message slip past a sleeper.
  bool is_ready_before_sleep() const noexcept;

  uint64_t newest() const noexcept;
  uint64_t next() const { return next_; }
  const ReaderCounters& counters() const { return counters_; }
  ReaderSlot& slot() const { return slot_; }

 private:
  enum class Found : uint8_t { kNothing, kMessage, kOverwritten, kDamaged, kBehind };
  struct Description {
    uint64_t position = 0;
    uint64_t payload_check = 0;
    MessageInfo info;
  };
  Message leased(const Description& found) noexcept;
  bool is_overwritten(uint64_t position) const noexcept;
  [[gnu::cold]] Found get_past_trouble() noexcept;
  [[gnu::cold]] Found look(Description& found) const noexcept;
  [[gnu::cold]] Found look_behind(uint64_t newest) const noexcept;
  Found describe(const Entry& entry, Description& found) const noexcept;
  bool lease(const Description& found) noexcept;
  [[gnu::cold]] void skip_overwritten() noexcept;
  void conflate_to_newest() noexcept;
  bool newest_is_sane(uint64_t newest) const noexcept;
  [[gnu::cold]] base::Status report_damage(Found found) noexcept;
  void count_dropped(uint64_t count) noexcept;

  const TopicView& view_;
  ReaderSlot& slot_;
  bool conflate_;
  bool is_holding_ = false;
  uint64_t next_ = 1;
  ReaderCounters counters_;
  // What the memory said when damage was reported that may be repaired yet.
  uint64_t reported_stamp_ = 0;
  uint64_t reported_newest_ = 0;
};

}  // namespace camshaft::queue
