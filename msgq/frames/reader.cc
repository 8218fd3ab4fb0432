// SPDX-License-Identifier: MIT
#include "msgq/frames/reader.h"

#include <algorithm>
#include <utility>

#include "msgq/queue/futex.h"
#include "runtime/base/clock.h"

namespace camshaft::frames {
namespace {

// A producer that is killed wakes nobody, so its end is looked for this often.
constexpr int64_t kLookNs = 100'000'000;
// Frames that are overwritten while they are looked for; more means that the memory is a mess.
constexpr int kMaxTries = 1000;

}  // namespace

// --- FrameLease
// --------------------------------------------------------------------------------------

FrameLease::FrameLease(FrameLease&& other) noexcept
    : reader_(std::exchange(other.reader_, nullptr)), descriptor_(other.descriptor_) {}

FrameLease& FrameLease::operator=(FrameLease&& other) noexcept {
  std::swap(reader_, other.reader_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FrameLease::~FrameLease() {
  (void)release();
}

FrameMemory FrameLease::memory() const {
  CAMSHAFT_CHECK(reader_ != nullptr);
  return reader_->memory(descriptor_.slot);
}

base::Result<CpuAccess> FrameLease::begin_access(Access access) noexcept {
  return CpuAccess::begin(memory(), access, *reader_->calls_,
                          reader_->slots_[descriptor_.slot].open_accesses);
}

base::Bytes FrameLease::plane(base::Bytes frame, uint32_t index) const {
  CAMSHAFT_CHECK(index < descriptor_.geometry.plane_count);
  const Plane& plane = descriptor_.geometry.planes[index];
  return base::slice(frame, plane.offset_bytes,
                     uint64_t{plane.stride_bytes} * (plane.rows - 1) + plane.row_bytes);
}

base::Status FrameLease::release() noexcept {
  FrameReader* const reader = std::exchange(reader_, nullptr);
  return reader == nullptr ? base::ok() : reader->end_lease(descriptor_.slot);
}

// --- FrameReader
// -------------------------------------------------------------------------------------

base::Result<std::unique_ptr<FrameReader>> FrameReader::join(std::string_view pool,
                                                             const ReaderOptions& options) {
  CAMSHAFT_TRY_ASSIGN(JoinedPool joined,
                      join_pool(pool, options.domain, options.name, options.deadline_ns));
  std::unique_ptr<FrameReader> reader(new FrameReader());
  reader->pool_ = pool;
  reader->calls_ = options.dma_calls != nullptr ? options.dma_calls : &system_dma_calls();
  CAMSHAFT_TRY(reader->map(std::move(joined)));
  return reader;
}

base::Status FrameReader::map(JoinedPool joined) {
  welcome_ = joined.welcome;
  connection_ = std::move(joined.connection);
  CAMSHAFT_TRY(check_foreign_memory(joined.control, sizeof(PoolControl), pool_.c_str()));
  CAMSHAFT_TRY(check_foreign_memory(joined.leases, sizeof(PoolLeases), pool_.c_str()));
  CAMSHAFT_TRY_ASSIGN(control_mapping_, Mapping::map(joined.control, sizeof(PoolControl), false));
  CAMSHAFT_TRY_ASSIGN(leases_mapping_, Mapping::map(joined.leases, sizeof(PoolLeases), true));
  control_ = reinterpret_cast<const PoolControl*>(control_mapping_.data());
  leases_ = reinterpret_cast<PoolLeases*>(leases_mapping_.data());
  if (control_->magic != kPoolMagic || control_->pool_id != welcome_.pool_id) {
    return base::fail(base::Code::kCorrupt, "frames.reader",
                      "pool '%s' has a control page of another pool", pool_.c_str());
  }
  for (uint32_t i = 0; i < welcome_.slot_count; ++i) {
    Slot& slot = slots_[i];
    slot.fd = std::move(joined.slots[i]);
    CAMSHAFT_TRY(check_foreign_memory(slot.fd, welcome_.slot_bytes, pool_.c_str()));
    CAMSHAFT_TRY_ASSIGN(slot.mapping, Mapping::map(slot.fd, welcome_.slot_bytes, false));
    slot.is_dma_buf = is_dma_buf(slot.fd, *calls_);
  }
  return base::ok();
}

// In a child made by fork().
void FrameReader::leave_to_parent() noexcept {
  connection_.reset();
  leases_mapping_.replace_by_zeros();
}

base::Status FrameReader::refuse_child() const noexcept {
  return base::fail(base::Code::kNotFound, "frames.child",
                    "the reader of pool '%s' belongs to the process that forked this one: join it "
                    "again",
                    pool_.c_str());
}

FrameReader::~FrameReader() {
  for (uint32_t i = 0; i < welcome_.slot_count; ++i) CAMSHAFT_CHECK(slots_[i].leases == 0);
}

FrameMemory FrameReader::memory(uint32_t slot) const {
  CAMSHAFT_CHECK(slot < welcome_.slot_count);
  return {.host_ptr = slots_[slot].mapping.data(),
          .size_bytes = welcome_.slot_bytes,
          .fd = slots_[slot].fd.get(),
          .is_dma_buf = slots_[slot].is_dma_buf,
          .writable = false};
}

// The slot with the newest frame, or with the oldest that is newer than the last one; -1 where
// there is none. Who has received nothing begins with the newest.
int FrameReader::find(Take take, uint64_t& sequence) const noexcept {
  int found = -1;
  const bool wants_newest = take == Take::kNewest || last_ == 0;
  for (uint32_t i = 0; i < welcome_.slot_count; ++i) {
    const uint64_t candidate = control_->slots[i].sequence.load(std::memory_order_relaxed);
    if (candidate <= last_) continue;
    if (found >= 0 && (candidate > sequence) != wants_newest) continue;
    found = static_cast<int>(i);
    sequence = candidate;
  }
  return found;
}

// Sets the reader's bit, if the slot still has that frame. The word is exchanged only where its
// generation is that of the sequence number just read.
bool FrameReader::lease(uint32_t slot, uint64_t sequence) noexcept {
  Slot& own = slots_[slot];
  const uint64_t bit = uint64_t{1} << welcome_.holder;
  uint64_t word = lease_word(slot).load(std::memory_order_acquire);
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const bool is_there =
        !is_being_written(generation_of(word)) &&
        control_->slots[slot].sequence.load(std::memory_order_relaxed) == sequence &&
        (own.leases == 0 || own.generation == generation_of(word));
    if (!is_there) return false;
    if (lease_word(slot).compare_exchange_weak(word, word | bit, std::memory_order_acq_rel,
                                               std::memory_order_acquire)) {
      own.generation = generation_of(word);
      ++own.leases;
      return true;
    }
  }
  return false;
}

base::Status FrameReader::end_lease(uint32_t slot) noexcept {
  Slot& own = slots_[slot];
  CAMSHAFT_CHECK(own.leases > 0);
  const uint64_t bit = uint64_t{1} << welcome_.holder;
  --own.leases;
  const uint64_t word = own.leases == 0
                            ? lease_word(slot).fetch_and(~bit, std::memory_order_acq_rel)
                            : lease_word(slot).load(std::memory_order_acquire);
  if ((word & bit) != 0 && generation_of(word) == own.generation) return base::ok();
  return base::fail(base::Code::kCorrupt, "frames.release",
                    "a lease of pool '%s' was taken away: what was read of the frame is of no use",
                    pool_.c_str());
}

// Strikes out the reader's bit where it has no lease: another process wrote it there, and the
// producer, who can't tell it from a lease, would never use that buffer again.
void FrameReader::strike_false_leases() noexcept {
  const uint64_t bit = uint64_t{1} << welcome_.holder;
  for (uint32_t i = 0; i < welcome_.slot_count; ++i) {
    if (slots_[i].leases != 0) continue;
    if ((lease_word(i).load(std::memory_order_relaxed) & bit) == 0) continue;
    lease_word(i).fetch_and(~bit, std::memory_order_acq_rel);
  }
}

void FrameReader::look_after_starvation() noexcept {
  const uint64_t starved = control_->counters.starved.load(std::memory_order_relaxed);
  if (starved == starved_) return;
  starved_ = starved;
  strike_false_leases();
}

// Nothing where the frame was overwritten meanwhile.
base::Result<std::optional<FrameLease>> FrameReader::take_slot(uint32_t slot,
                                                               uint64_t sequence) noexcept {
  if (!lease(slot, sequence)) return std::optional<FrameLease>();
  FrameLease frame(*this, control_->slots[slot].descriptor);
  const FrameDescriptor& descriptor = frame.descriptor();
  base::Status status = check_descriptor(descriptor, welcome_.slot_bytes);
  if (status.is_ok() && descriptor.ref() != FrameRef{welcome_.pool_id, sequence, slot}) {
    status = base::fail(base::Code::kCorrupt, "frames.descriptor",
                        "a buffer of pool '%s' has the descriptor of another", pool_.c_str());
  }
  if (!status.is_ok()) {
    (void)end_lease(slot);  // by its number: the descriptor's may be anything
    frame.reader_ = nullptr;
    return status;
  }
  return std::optional<FrameLease>(std::move(frame));
}

base::Result<std::optional<FrameLease>> FrameReader::try_receive(Take take) noexcept {
  if (!connection_.is_open()) return refuse_child();
  look_after_starvation();
  for (int tries = 0; tries < kMaxTries; ++tries) {
    uint64_t sequence = 0;
    const int slot = find(take, sequence);
    if (slot < 0) {
      strike_false_leases();  // there is time for it
      break;
    }
    CAMSHAFT_TRY_ASSIGN(std::optional<FrameLease> frame,
                        take_slot(static_cast<uint32_t>(slot), sequence));
    if (!frame) continue;
    if (last_ != 0) missed_ += sequence - last_ - 1;
    last_ = sequence;
    return frame;
  }
  return std::optional<FrameLease>();
}

base::Result<FrameLease> FrameReader::receive(Take take, int64_t deadline_ns) noexcept {
  while (true) {
    const uint32_t seen = control_->wake.load(std::memory_order_seq_cst);
    CAMSHAFT_TRY_ASSIGN(std::optional<FrameLease> frame, try_receive(take));
    if (frame) return std::move(*frame);
    const int64_t now = base::mono_time_ns();
    if (now >= deadline_ns) {
      return base::fail(base::Code::kDeadlineExceeded, "frames.receive",
                        "pool '%s' had no new frame until the deadline", pool_.c_str());
    }
    if (!has_producer()) {
      return base::fail(base::Code::kNotFound, "frames.receive",
                        "the producer of pool '%s' has gone: join it again", pool_.c_str());
    }
    const uint32_t bit = 1u << welcome_.holder;
    // See FramePool::publish().
    leases_->sleeping.fetch_or(bit, std::memory_order_seq_cst);
    if (control_->wake.load(std::memory_order_seq_cst) == seen) {
      queue::futex_wait(&control_->wake, seen, std::min(deadline_ns, now + kLookNs));
    }
    leases_->sleeping.fetch_and(~bit, std::memory_order_relaxed);
  }
}

base::Result<FrameLease> FrameReader::acquire(const FrameRef& ref) noexcept {
  if (!connection_.is_open()) return refuse_child();
  look_after_starvation();
  if (ref.pool_id == welcome_.pool_id && ref.slot < welcome_.slot_count && ref.sequence != 0) {
    CAMSHAFT_TRY_ASSIGN(std::optional<FrameLease> frame, take_slot(ref.slot, ref.sequence));
    if (frame) return std::move(*frame);
  }
  return base::fail(base::Code::kNotFound, "frames.acquire",
                    "frame %llu is no longer in pool '%s', or is of another pool",
                    static_cast<unsigned long long>(ref.sequence), pool_.c_str());
}

}  // namespace camshaft::frames
