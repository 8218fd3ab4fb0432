// SPDX-License-Identifier: MIT
#include "msgq/frames/pool.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "msgq/queue/domain.h"
#include "msgq/queue/futex.h"
#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"

namespace camshaft::frames {
namespace {

void count(Shared<uint64_t>& counter, uint64_t more = 1) {
  counter.fetch_add(more, std::memory_order_relaxed);
}

base::Status check_options(const PoolOptions& options) {
  if (options.slots < 2 || options.slots > kMaxSlots) {
    return base::fail(base::Code::kInvalidArgument, "frames.pool",
                      "pool '%s' can't have %u buffers: use 2 to %u", options.name.c_str(),
                      options.slots, kMaxSlots);
  }
  if (options.geometry.size_bytes == 0) {
    return base::fail(base::Code::kInvalidArgument, "frames.pool",
                      "pool '%s' has frames of 0 bytes: lay them out first", options.name.c_str());
  }
  return check_geometry(options.geometry, options.geometry.size_bytes, options.name.c_str());
}

}  // namespace

// --- WritableFrame
// -----------------------------------------------------------------------------------

WritableFrame::WritableFrame(WritableFrame&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), slot_(other.slot_) {}

WritableFrame& WritableFrame::operator=(WritableFrame&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(slot_, other.slot_);
  return *this;
}

WritableFrame::~WritableFrame() {
  if (pool_ != nullptr) pool_->abandon(slot_);
}

FrameMemory WritableFrame::memory() const {
  CAMSHAFT_CHECK(pool_ != nullptr);
  const FramePool::Slot& slot = pool_->slots_[slot_];
  return {.host_ptr = slot.memory.mapping.data(),
          .size_bytes = pool_->geometry_.size_bytes,
          .fd = slot.memory.fd.get(),
          .is_dma_buf = slot.is_dma_buf,
          .writable = true};
}

base::Result<CpuAccess> WritableFrame::begin_access(Access access) noexcept {
  return CpuAccess::begin(memory(), access, *pool_->calls_, pool_->slots_[slot_].open_accesses);
}

// --- FramePool
// ---------------------------------------------------------------------------------------

base::Result<std::unique_ptr<FramePool>> FramePool::open(const PoolOptions& options) {
  CAMSHAFT_TRY(check_options(options));
  std::unique_ptr<FramePool> pool(new FramePool());
  CAMSHAFT_TRY_ASSIGN(pool->server_, PoolServer::open(options.name, options.domain));
  pool->name_ = options.name;
  pool->calls_ = options.dma_calls != nullptr ? options.dma_calls : &system_dma_calls();
  pool->geometry_ = options.geometry;
  pool->pool_id_ = queue::random_word();
  pool->slot_count_ = options.slots;
  CAMSHAFT_TRY(pool->make_memory(options));
  pool->fill_control(options);
  return pool;
}

base::Status FramePool::make_memory(const PoolOptions& options) {
  CAMSHAFT_TRY_ASSIGN(control_memory_, SharedMemory::make_memfd("camshaft-frames-control",
                                                                sizeof(PoolControl), true));
  CAMSHAFT_TRY_ASSIGN(leases_memory_, SharedMemory::make_memfd("camshaft-frames-leases",
                                                               sizeof(PoolLeases), false));
  fds_[0] = control_memory_.fd.get();
  fds_[1] = leases_memory_.fd.get();
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t bytes = base::align_up(geometry_.size_bytes, page_bytes);
  for (uint32_t i = 0; i < slot_count_; ++i) {
    Slot& slot = slots_[i];
    CAMSHAFT_TRY_ASSIGN(slot.memory,
                        SharedMemory::make(options.memory, "camshaft-frame", bytes, *calls_));
    slot.is_dma_buf = slot.memory.kind != MemoryKind::kMemfd;
    fds_[2 + i] = slot.memory.fd.get();
  }
  return base::ok();
}

void FramePool::fill_control(const PoolOptions& options) {
  control_ = new (control_memory_.mapping.data()) PoolControl();
  leases_ = new (leases_memory_.mapping.data()) PoolLeases();
  control_->magic = kPoolMagic;
  control_->version = kPoolVersion;
  control_->slot_count = slot_count_;
  control_->pool_id = pool_id_;
  control_->slot_bytes = geometry_.size_bytes;
  std::snprintf(control_->name, sizeof control_->name, "%s", options.name.c_str());
  welcome_.pool_id = pool_id_;
  welcome_.slot_bytes = geometry_.size_bytes;
  welcome_.slot_count = slot_count_;
}

// In a child made by fork().
void FramePool::leave_to_parent() noexcept {
  is_left_to_parent_ = true;
  server_.leave_to_parent();
  control_memory_.mapping.replace_by_zeros();
  leases_memory_.mapping.replace_by_zeros();
  for (Slot& slot : slots_) slot.memory.mapping.replace_by_zeros();
}

base::Status FramePool::refuse_child() noexcept {
  return base::fail(base::Code::kNotFound, "frames.child",
                    "pool '%s' belongs to the process that forked this one: open one of this "
                    "process's own",
                    name_.c_str());
}

base::Result<WritableFrame> FramePool::begin() noexcept {
  if (is_left_to_parent_) return refuse_child();
  serve();
  for (uint32_t attempt = 0; attempt <= slot_count_; ++attempt) {
    const int slot = find_oldest_free();
    if (slot < 0) break;
    if (take(static_cast<uint32_t>(slot))) {
      return WritableFrame(*this, static_cast<uint32_t>(slot));
    }  // else a reader has just leased it
  }
  return starved();
}

int FramePool::find_oldest_free() noexcept {
  int oldest = -1;
  uint32_t older_leased = 0;
  for (uint32_t i = 0; i < slot_count_; ++i) {
    const Slot& slot = slots_[i];
    if (is_being_written(slot.generation) || !is_free(i)) continue;
    if (oldest < 0 || slot.sequence < slots_[oldest].sequence) oldest = static_cast<int>(i);
  }
  if (oldest < 0) return oldest;
  for (uint32_t i = 0; i < slot_count_; ++i) {
    older_leased += slots_[i].sequence < slots_[oldest].sequence ? 1 : 0;
  }
  if (older_leased > 0) count(control_->counters.skipped_leased, older_leased);
  return oldest;
}

// Whether no reader that is there has a lease. Mends a word that says what can't be.
bool FramePool::is_free(uint32_t slot) noexcept {
  Shared<uint64_t>& word = lease_word(slot);
  uint64_t seen = word.load(std::memory_order_acquire);
  const auto mended = [&](uint64_t from) {
    return make_word(slots_[slot].generation, holders_of(from) & server_.holders());
  };
  for (int tries = 0; seen != mended(seen) && tries < 100; ++tries) {
    if (!word.compare_exchange_weak(seen, mended(seen), std::memory_order_acq_rel)) continue;
    count(control_->counters.repaired);
    seen = mended(seen);
  }
  return seen == make_word(slots_[slot].generation, 0);
}

// From here on no reader can lease the frame that was in the slot.
bool FramePool::take(uint32_t slot) noexcept {
  Slot& own = slots_[slot];
  uint64_t expected = make_word(own.generation, 0);
  const bool taken = lease_word(slot).compare_exchange_strong(
      expected, make_word(own.generation + 1, 0), std::memory_order_acq_rel);
  if (!taken) return false;
  ++own.generation;
  own.sequence = 0;
  own.open_accesses = 0;
  control_->slots[slot].sequence.store(0, std::memory_order_relaxed);
  return true;
}

base::Result<FrameRef> FramePool::publish(WritableFrame frame, const FrameInfo& info) noexcept {
  CAMSHAFT_CHECK(frame.pool_ == this);
  if (is_left_to_parent_) return refuse_child();
  Slot& slot = slots_[frame.slot_];
  if (slot.open_accesses != 0 || info.exposure_end_ns < info.exposure_start_ns) {
    return base::fail(base::Code::kInvalidArgument, "frames.publish",
                      "a frame of pool '%s' can't be published: %s", name_.c_str(),
                      slot.open_accesses != 0 ? "end the CPU's access first"
                                              : "its exposure ends before it starts");
  }
  slot.sequence = ++sequence_;
  ++slot.generation;
  FrameDescriptor descriptor;
  descriptor.slot = frame.slot_;
  descriptor.pool_id = pool_id_;
  descriptor.sequence = slot.sequence;
  descriptor.frame_id = info.frame_id;
  descriptor.exposure_start_ns = info.exposure_start_ns;
  descriptor.exposure_end_ns = info.exposure_end_ns;
  descriptor.published_ns = base::mono_time_ns();
  descriptor.geometry = geometry_;
  control_->slots[frame.slot_].descriptor = descriptor;
  control_->slots[frame.slot_].sequence.store(slot.sequence, std::memory_order_relaxed);
  lease_word(frame.slot_).store(make_word(slot.generation, 0), std::memory_order_release);
  frame.pool_ = nullptr;
  count(control_->counters.published);
  control_->newest.store(slot.sequence, std::memory_order_release);
  // A reader sets its bit before it looks at `wake` and at the frames, so either it sees this one
  // or its bit is seen here.
  control_->wake.fetch_add(1, std::memory_order_seq_cst);
  if (leases_->sleeping.load(std::memory_order_seq_cst) != 0) {
    queue::futex_wake_all(&control_->wake);
  }
  return descriptor.ref();
}

void FramePool::abandon(uint32_t slot) noexcept {
  ++slots_[slot].generation;
  lease_word(slot).store(make_word(slots_[slot].generation, 0), std::memory_order_release);
}

void FramePool::serve() noexcept {
  if (is_left_to_parent_) return;
  const PoolServer::Changes changes =
      server_.serve(welcome_, std::span<const int>(fds_).first(2 + slot_count_));
  if (changes.left != 0) take_back(changes.left);
  for (uint32_t i = 0; i < kMaxHolders; ++i) {
    if ((changes.joined >> i & 1) != 0) {
      std::memcpy(control_->holder_names[i], server_.holder_name(i), kNameBytes);
    }
  }
  if ((changes.left | changes.joined) != 0) {
    control_->holders.store(server_.holders(), std::memory_order_release);
  }
}

void FramePool::take_back(uint32_t holders) noexcept {
  leases_->sleeping.fetch_and(~holders, std::memory_order_relaxed);
  for (uint32_t i = 0; i < slot_count_; ++i) {
    const uint64_t before = lease_word(i).fetch_and(~uint64_t{holders}, std::memory_order_acq_rel);
    const int taken = __builtin_popcount(holders_of(before) & holders);
    if (taken != 0) count(control_->counters.reclaimed, static_cast<uint64_t>(taken));
  }
  count(control_->counters.dead_holders, static_cast<uint64_t>(__builtin_popcount(holders)));
}

// Says who holds how many buffers; no allocation.
base::Status FramePool::starved() noexcept {
  count(control_->counters.starved);
  char who[400] = "";
  size_t length = 0;
  for (uint32_t holder = 0; holder < kMaxHolders; ++holder) {
    uint32_t held = 0;
    for (uint32_t i = 0; i < slot_count_; ++i) {
      held += holders_of(lease_word(i).load(std::memory_order_relaxed)) >> holder & 1;
    }
    if (held == 0 || length + 1 >= sizeof who) continue;
    const int more = std::snprintf(who + length, sizeof who - length, "%s%s holds %u",
                                   length == 0 ? "" : ", ", server_.holder_name(holder), held);
    length += static_cast<size_t>(more);
  }
  return base::fail(base::Code::kBusy, "frames.starved",
                    "all %u buffers of pool '%s' are in use, so a frame is skipped: %s",
                    slot_count_, name_.c_str(), length == 0 ? "by the producer itself" : who);
}

PoolStats FramePool::stats() const noexcept {
  const auto read = [](const Shared<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const PoolCounters& counters = control_->counters;
  PoolStats stats = {.published = read(counters.published),
                     .starved = read(counters.starved),
                     .skipped_leased = read(counters.skipped_leased),
                     .dead_holders = read(counters.dead_holders),
                     .reclaimed = read(counters.reclaimed),
                     .repaired = read(counters.repaired),
                     .holders = server_.holders()};
  for (uint32_t i = 0; i < slot_count_; ++i) {
    stats.leased_slots += holders_of(lease_word(i).load(std::memory_order_relaxed)) != 0 ? 1 : 0;
  }
  return stats;
}

}  // namespace camshaft::frames
