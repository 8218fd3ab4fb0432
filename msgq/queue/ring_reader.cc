// SPDX-License-Identifier: MIT
#include "msgq/queue/ring_reader.h"

#include <algorithm>
#include <utility>

#include "msgq/queue/lease.h"
#include "msgq/queue/payload_check.h"

namespace camshaft::queue {
namespace {

constexpr uint64_t kMostBehind = uint64_t{1} << 40;  // further from `newest` is noise
constexpr int kMostAttempts = 16;

}  // namespace

Message::Message(Message&& other) noexcept
    : info_(std::exchange(other.info_, {})),
      data_(std::exchange(other.data_, nullptr)),
      payload_check_(other.payload_check_),
      reader_(std::exchange(other.reader_, nullptr)) {}

Message& Message::operator=(Message&& other) noexcept {
  if (this != &other) {
    (void)release();
    info_ = std::exchange(other.info_, {});
    data_ = std::exchange(other.data_, nullptr);
    payload_check_ = other.payload_check_;
    reader_ = std::exchange(other.reader_, nullptr);
  }
  return *this;
}

bool Message::still_valid() const noexcept {
  return reader_ == nullptr || reader_->is_lease_valid();
}

bool Message::release() noexcept {
  const bool was_valid = reader_ == nullptr || reader_->end_lease();
  info_ = {};
  data_ = nullptr;
  reader_ = nullptr;
  return was_valid;
}

RingReader::RingReader(const TopicView& view, uint32_t slot, bool conflate,
                       const ReaderCounters& so_far)
    : view_(view), slot_(view.slots[slot]), conflate_(conflate), counters_(so_far) {}

void RingReader::set_next(uint64_t sequence) noexcept {
  next_ = sequence;
  slot_.cursor.store(next_, std::memory_order_relaxed);
}

void RingReader::start(Start where) noexcept {
  const Progress& progress = view_.publisher->progress;
  const uint64_t first = view_.constants.first_sequence + 1;
  const uint64_t newest = progress.newest.load(std::memory_order_acquire);
  switch (where) {
    case Start::kNext:
      return set_next(std::max(newest + 1, first));
    case Start::kNewest:
      return set_next(std::max(newest, first));
    case Start::kOldest:
      return set_next(
          std::max(std::min(progress.oldest.load(std::memory_order_relaxed), newest + 1), first));
  }
}

uint64_t RingReader::newest() const noexcept {
  return view_.publisher->progress.newest.load(std::memory_order_acquire);
}

bool RingReader::newest_is_sane(uint64_t newest) const noexcept {
  return newest >= next_ && newest - next_ < kMostBehind &&
         view_.entry(newest).stamp.load(std::memory_order_acquire) >= 2 * newest;
}

bool RingReader::is_ready() const noexcept {
  const uint64_t stamp = view_.entry(next_).stamp.load(std::memory_order_acquire);
  return stamp >= 2 * next_ && stamp != reported_stamp_;
}

bool RingReader::is_ready_before_sleep() const noexcept {
  const uint64_t newest = view_.publisher->progress.newest.load(std::memory_order_seq_cst);
  return (newest >= next_ && newest != reported_newest_) || is_ready();
}

RingReader::Found RingReader::look(Description& found) const noexcept {
  const Entry& entry = view_.entry(next_);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const uint64_t stamp = entry.stamp.load(std::memory_order_acquire);
    if (stamp == 2 * next_) {
      const Found result = describe(entry, found);
      if (result != Found::kNothing) return result;
      continue;  // it changed meanwhile
    }
    const uint64_t newest = view_.publisher->progress.newest.load(std::memory_order_acquire);
    if (stamp > 2 * next_) {
      if (stamp == reported_stamp_) return Found::kNothing;
      return newest_is_sane(newest) && stamp / 2 <= newest + 1 ? Found::kOverwritten
                                                               : Found::kDamaged;
    }
    if (newest < next_) return newest + 2 < next_ ? look_behind(newest) : Found::kNothing;
    if (!newest_is_sane(newest)) {
      return newest == reported_newest_ ? Found::kNothing : Found::kDamaged;
    }
    // `newest` is counted after the stamp is set, so the next look finds it, or it is damaged.
    if (entry.stamp.load(std::memory_order_acquire) < 2 * next_) return Found::kDamaged;
  }
  return Found::kNothing;
}

// The publisher is behind what this reader wants: one of the two read damaged memory.
RingReader::Found RingReader::look_behind(uint64_t newest) const noexcept {
  const bool is_true = view_.entry(newest).stamp.load(std::memory_order_acquire) == 2 * newest;
  return is_true && newest != reported_newest_ ? Found::kBehind : Found::kNothing;
}

RingReader::Found RingReader::describe(const Entry& entry, Description& found) const noexcept {
  found.position = entry.position.load(std::memory_order_acquire);
  found.payload_check = entry.payload_check.load(std::memory_order_acquire);
  const uint64_t size_bytes = entry.size_bytes.load(std::memory_order_acquire);
  const uint64_t time = entry.mono_time_ns.load(std::memory_order_acquire);
  const uint64_t tag = entry.tag.load(std::memory_order_acquire);
  const uint64_t check = entry.check.load(std::memory_order_acquire);
  if (entry.stamp.load(std::memory_order_acquire) != 2 * next_) return Found::kNothing;
  found.info = {.sequence = next_,
                .mono_time_ns = static_cast<int64_t>(time),
                .size_bytes = size_bytes,
                .tag = tag};
  const bool is_whole = check == entry_check(view_.constants.generation, next_, found.position,
                                             size_bytes, time, tag, found.payload_check) &&
                        size_bytes <= view_.max_message_bytes() && found.position % kLineBytes == 0;
  return is_whole ? Found::kMessage : Found::kDamaged;
}

// Says what is read, then asks whether the publisher has left it: see RingWriter::extend.
bool RingReader::lease(const Description& found) noexcept {
  if (found.info.size_bytes == 0) return true;
  const Range range = {(found.position & (view_.constants.ring_bytes - 1)) / kLineBytes,
                       lines_of(found.info.size_bytes)};
  slot_.lease.store(lease_of(range), std::memory_order_seq_cst);
  is_holding_ = !is_overwritten(found.position);
  if (!is_holding_) slot_.lease.store(0, std::memory_order_release);
  return is_holding_;
}

bool RingReader::is_lease_valid() const noexcept {
  std::atomic_thread_fence(std::memory_order_acquire);  // what was read was read before this
  return (slot_.lease.load(std::memory_order_acquire) & kLeaseRevoked) == 0;
}

bool RingReader::end_lease() noexcept {
  const bool was_valid = is_lease_valid();
  slot_.lease.store(0, std::memory_order_release);
  is_holding_ = false;
  return was_valid;
}

// Goes on with a message that will stay for a while, not with the one overwritten next.
void RingReader::skip_overwritten() noexcept {
  const Progress& progress = view_.publisher->progress;
  const uint64_t newest = progress.newest.load(std::memory_order_acquire);
  uint64_t resume = next_ + 1;
  if (newest_is_sane(newest)) {
    const uint64_t kept = std::min<uint64_t>(newest, view_.constants.entries);
    const uint64_t oldest =
        std::clamp(progress.oldest.load(std::memory_order_relaxed), newest + 1 - kept, newest);
    resume = std::max(resume, oldest + (newest - oldest) / 4);
  }
  count_dropped(resume - next_);
  set_next(resume);
}

void RingReader::count_dropped(uint64_t count) noexcept {
  counters_.unreported += count;
  counters_.dropped += count;
  slot_.dropped.store(counters_.dropped, std::memory_order_relaxed);
}

void RingReader::count_missed(uint64_t count) noexcept {
  if (!conflate_) return count_dropped(count);
  counters_.conflated += count;
  slot_.conflated.store(counters_.conflated, std::memory_order_relaxed);
}

void RingReader::count_revoked(const MessageInfo& info) noexcept {
  counters_.unreported += info.dropped;
  slot_.received.store(--counters_.received, std::memory_order_relaxed);
  count_dropped(1);
}

void RingReader::conflate_to_newest() noexcept {
  const uint64_t newest = view_.publisher->progress.newest.load(std::memory_order_acquire);
  if (newest <= next_ || !newest_is_sane(newest)) return;
  count_missed(newest - next_);
  set_next(newest);
}

base::Status RingReader::report_damage(Found found) noexcept {
  ++counters_.corrupt;
  slot_.corrupt.store(counters_.corrupt, std::memory_order_relaxed);
  const uint64_t newest = view_.publisher->progress.newest.load(std::memory_order_acquire);
  if (found == Found::kBehind) {
    set_next(newest + 1);
  } else if (newest_is_sane(newest)) {
    set_next(next_ + 1);  // this one will not be repaired
  } else {                // nothing is known until the publisher sends again
    reported_newest_ = newest;
    reported_stamp_ = view_.entry(next_).stamp.load(std::memory_order_acquire);
  }
  return {base::Code::kCorrupt, "queue.message"};
}

// The usual course in few branches and few lines of code: after a sleep all of it is cold.
base::Result<Message> RingReader::take(Check when) noexcept {
  if (conflate_) conflate_to_newest();
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    Description found;
    const Entry& entry = view_.entry(next_);
    if (entry.stamp.load(std::memory_order_acquire) != 2 * next_ ||
        describe(entry, found) != Found::kMessage || !lease(found)) [[unlikely]] {
      const Found trouble = get_past_trouble();
      if (trouble == Found::kMessage) continue;
      if (trouble == Found::kNothing) return Message();
      return report_damage(trouble);
    }
    Message message = leased(found);
    if (when == Check::kNow && !is_intact(message, message.bytes())) [[unlikely]] {
      if (!message.release()) continue;  // taken back meanwhile: it is overwritten
      return report_damage(Found::kDamaged);
    }
    message.info_.dropped = std::exchange(counters_.unreported, 0);
    slot_.received.store(++counters_.received, std::memory_order_relaxed);
    set_next(next_ + 1);
    return base::Result<Message>(std::move(message));
  }
  return Message();
}

// Goes on behind what was overwritten. kMessage: try again.
RingReader::Found RingReader::get_past_trouble() noexcept {
  Description found;
  const Found result = look(found);
  const bool is_gone = result == Found::kOverwritten ||
                       (result == Found::kMessage && is_overwritten(found.position));
  if (is_gone) skip_overwritten();
  return is_gone ? Found::kMessage : result;
}

bool RingReader::is_overwritten(uint64_t position) const noexcept {
  return view_.publisher->reservation.reserved.load(std::memory_order_seq_cst) >
         position + view_.constants.ring_bytes;
}

Message RingReader::leased(const Description& found) noexcept {
  Message message;
  message.info_ = found.info;
  message.data_ = view_.payload(found.position);
  message.payload_check_ = found.payload_check;
  message.reader_ = is_holding_ ? this : nullptr;
  return message;
}

bool RingReader::is_intact(const Message& message, base::Bytes bytes) const noexcept {
  return payload_check(view_.constants, bytes.data(), bytes.size()) == message.payload_check_;
}

base::Status RingReader::report_damaged_copy() noexcept {
  slot_.received.store(--counters_.received, std::memory_order_relaxed);
  slot_.corrupt.store(++counters_.corrupt, std::memory_order_relaxed);
  return {base::Code::kCorrupt, "queue.payload"};
}

void RingReader::put_back(const MessageInfo& info) noexcept {
  counters_.unreported += info.dropped;
  slot_.received.store(--counters_.received, std::memory_order_relaxed);
  set_next(info.sequence);
}

}  // namespace camshaft::queue
