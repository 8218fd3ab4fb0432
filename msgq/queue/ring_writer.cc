// SPDX-License-Identifier: MIT
#include "msgq/queue/ring_writer.h"

#include <algorithm>

#include "msgq/queue/futex.h"
#include "runtime/base/bytes.h"

namespace camshaft::queue {
namespace {

constexpr uint64_t kMostSane = uint64_t{1}
                               << 62;  // positions and sequence numbers beyond are noise

// The payload's position and size if the entry holds message `sequence`, whole and undamaged.
bool holds(const TopicView& view, uint64_t sequence, Range* bytes) {
  const Entry& e = view.entry(sequence);
  if (e.stamp.load(std::memory_order_acquire) != 2 * sequence) return false;
  const uint64_t position = e.position.load(std::memory_order_acquire);
  const uint64_t size_bytes = e.size_bytes.load(std::memory_order_acquire);
  const uint64_t check = entry_check(view.constants.generation, sequence, position, size_bytes,
                                     e.mono_time_ns.load(std::memory_order_acquire),
                                     e.tag.load(std::memory_order_acquire),
                                     e.payload_check.load(std::memory_order_acquire));
  *bytes = {position, size_bytes};
  return check == e.check.load(std::memory_order_acquire) && position < kMostSane &&
         size_bytes <= view.max_message_bytes();
}

}  // namespace

RingWriter::RingWriter(const TopicView& view, const SlotOwners& owners)
    : view_(view),
      owners_(owners),
      newest_(view.constants.first_sequence),
      oldest_(newest_ + 1),
      positions_(new uint64_t[view.constants.entries]()) {}

std::unique_ptr<RingWriter> RingWriter::attach(const TopicView& view, const SlotOwners& owners) {
  std::unique_ptr<RingWriter> writer(new RingWriter(view, owners));
  return writer->recover() ? std::move(writer) : nullptr;
}

bool RingWriter::recover() {
  const uint64_t first = view_.constants.first_sequence;
  uint64_t newest = view_.publisher->progress.newest.load(std::memory_order_acquire);
  reserved_ = view_.publisher->reservation.reserved.load(std::memory_order_acquire);
  if (reserved_ % kLineBytes != 0 || reserved_ > kMostSane) return false;
  Range bytes;
  if (newest < first || newest > kMostSane || (newest > first && !holds(view_, newest, &bytes))) {
    newest = first;
    for (uint32_t i = 0; i < view_.constants.entries; ++i) {  // damaged: look for the newest
      const uint64_t sequence = view_.entries[i].stamp.load(std::memory_order_acquire) / 2;
      if (sequence > newest && sequence % view_.constants.entries == i &&
          holds(view_, sequence, &bytes)) {
        newest = sequence;
      }
    }
    if (newest == first) return false;
  }
  // A publisher that died before it had counted its last message.
  if (holds(view_, newest + 1, &bytes)) ++newest;
  newest_ = newest;
  oldest_ = newest + 1;
  while (oldest_ > first + 1 && newest - oldest_ + 1 < view_.constants.entries &&
         holds(view_, oldest_ - 1, &bytes) &&
         bytes.offset_lines + view_.constants.ring_bytes >= reserved_ &&
         bytes.offset_lines + bytes.lines <= reserved_) {
    --oldest_;
    positions_[oldest_ & (view_.constants.entries - 1)] = bytes.offset_lines;
  }
  head_ = clear_end_ = reserved_;
  view_.publisher->progress.newest.store(newest_, std::memory_order_seq_cst);
  view_.publisher->progress.oldest.store(oldest_, std::memory_order_relaxed);
  return true;
}

std::byte* RingWriter::reserve(uint64_t size_bytes, bool revoke) noexcept {
  const uint64_t bytes = base::align_up(size_bytes, kLineBytes);
  if (bytes > clear_end_ - head_ && !extend(bytes)) {
    if (!revoke) return nullptr;
    revoke_all();
    if (!extend(bytes)) return nullptr;
  }
  return view_.payload(head_);
}

// Looks for room from head_ on, jumping over what readers hold. Readers are told first
// (move_reserved) and asked then (the second find_obstacle): a reader does it the other way round,
// so one of the two sees the other.
bool RingWriter::extend(uint64_t bytes) noexcept {
  const uint64_t step = view_.constants.ring_bytes / 32 & ~(kLineBytes - 1);
  const uint64_t wanted = std::max(bytes, step);
  uint64_t start = head_;
  for (uint32_t attempt = 0; attempt < 4 * kMaxReaderSlots; ++attempt) {
    if (start - head_ + bytes > view_.constants.ring_bytes) return false;
    const Obstacle seen = find_obstacle(start, wanted);
    if (seen.end != 0 && seen.begin < bytes) {
      start += seen.end;
      continue;
    }
    const uint64_t clear = seen.end != 0 ? seen.begin : wanted;
    move_reserved(start + clear);
    if (find_obstacle(start, clear).end == 0) {
      head_ = start;
      clear_end_ = start + clear;
      return true;
    }
  }
  return false;
}

RingWriter::Obstacle RingWriter::find_obstacle(uint64_t start, uint64_t bytes) const noexcept {
  const uint64_t ring_bytes = view_.constants.ring_bytes;
  Obstacle nearest;
  for (uint32_t i = 0; i < view_.constants.reader_slots; ++i) {
    const uint64_t lease = view_.slots[i].lease.load(std::memory_order_seq_cst);
    const Range range = held_range(lease, ring_bytes / kLineBytes);
    if (range.lines == 0) continue;
    const uint64_t distance = (range.offset_lines * kLineBytes - start) & (ring_bytes - 1);
    const uint64_t end = distance + range.lines * kLineBytes;
    const Obstacle found =
        end > ring_bytes ? Obstacle{0, end - ring_bytes} : Obstacle{distance, end};
    if (found.begin >= bytes) continue;
    // Not cleared: a reader may take the slot at this moment, and then the same lease.
    if (!owners_.is_alive(i)) continue;
    const bool is_nearer = nearest.end == 0 || found.begin < nearest.begin;
    if (is_nearer || (found.begin == nearest.begin && found.end > nearest.end)) nearest = found;
  }
  return nearest;
}

void RingWriter::revoke_all() noexcept {
  uint64_t count = 0;
  for (uint32_t i = 0; i < view_.constants.reader_slots; ++i) {
    std::atomic<uint64_t>& word = view_.slots[i].lease;
    uint64_t lease = word.load(std::memory_order_seq_cst);
    if (held_range(lease, view_.constants.ring_bytes / kLineBytes).lines == 0) continue;
    if (!owners_.is_alive(i)) continue;
    count += word.compare_exchange_strong(lease, lease | kLeaseRevoked, std::memory_order_seq_cst);
  }
  std::atomic<uint64_t>& revoked = view_.publisher->progress.revoked;
  revoked.store(revoked.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

void RingWriter::move_reserved(uint64_t reserved) noexcept {
  if (reserved <= reserved_) return;
  reserved_ = reserved;
  view_.publisher->reservation.reserved.store(reserved, std::memory_order_seq_cst);
  const uint64_t mask = view_.constants.entries - 1;
  while (oldest_ <= newest_ && positions_[oldest_ & mask] + view_.constants.ring_bytes < reserved) {
    ++oldest_;
  }
}

uint32_t RingWriter::commit(uint64_t size_bytes, int64_t mono_time_ns, uint64_t tag,
                            uint64_t payload_hash) noexcept {
  const Constants& constants = view_.constants;
  const uint64_t sequence = newest_ + 1;
  const uint64_t time = static_cast<uint64_t>(mono_time_ns);
  Entry& e = view_.entry(sequence);
  // A reader that sees any of the new fields also sees that the stamp has changed.
  e.stamp.store(2 * sequence - 1, std::memory_order_relaxed);
  e.position.store(head_, std::memory_order_release);
  e.size_bytes.store(size_bytes, std::memory_order_release);
  e.mono_time_ns.store(time, std::memory_order_release);
  e.tag.store(tag, std::memory_order_release);
  e.payload_check.store(payload_hash, std::memory_order_release);
  e.check.store(
      entry_check(constants.generation, sequence, head_, size_bytes, time, tag, payload_hash),
      std::memory_order_release);
  e.stamp.store(2 * sequence, std::memory_order_release);

  positions_[sequence & (constants.entries - 1)] = head_;
  head_ += base::align_up(size_bytes, kLineBytes);
  newest_ = sequence;
  if (newest_ - oldest_ >= constants.entries) oldest_ = newest_ - constants.entries + 1;
  std::atomic<uint64_t>& reserved = view_.publisher->reservation.reserved;
  if (reserved.load(std::memory_order_relaxed) != reserved_) [[unlikely]] {
    reserved.store(reserved_, std::memory_order_seq_cst);  // somebody else wrote there
  }
  Progress& progress = view_.publisher->progress;
  progress.oldest.store(oldest_, std::memory_order_relaxed);
  progress.payload_bytes.store(progress.payload_bytes.load(std::memory_order_relaxed) + size_bytes,
                               std::memory_order_relaxed);
  // In one order with the wake word: a reader sets the flag, then looks at `newest`.
  progress.newest.store(sequence, std::memory_order_seq_cst);
  return wake_all();
}

uint32_t RingWriter::wake_all() noexcept {
  std::atomic<uint32_t>& word = view_.wake->word;
  uint32_t value = word.load(std::memory_order_seq_cst);
  if ((value & kWakeFlags) == 0) return 0;
  value = word.exchange((value | kWakeFlags) + 1, std::memory_order_seq_cst);
  if ((value & kWakeSleepers) != 0) futex_wake_all(&word);
  return value & kWakeFlags;
}

void RingWriter::wake_after_death() noexcept {
  view_.wake->word.fetch_add(kWakeFlags + 1, std::memory_order_seq_cst);
  futex_wake_all(&view_.wake->word);
}

void RingWriter::count_refusal() noexcept {
  std::atomic<uint64_t>& refused = view_.publisher->progress.refused;
  refused.store(refused.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace camshaft::queue
