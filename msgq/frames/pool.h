// SPDX-License-Identifier: MIT
// The producer's side of a pool of frame buffers.
//
//   auto pool = FramePool::open({.name = "road", .geometry = *lay_out(kNv12, 1920, 1080)});
//   for each frame:
//     auto frame = (*pool)->begin();                    // kBusy: every buffer is leased
//     auto access = frame->begin_access(Access::kWrite);
//     fill(access->writable_bytes());                   // or let a device write to frame->memory()
//     access->end();
//     auto ref = (*pool)->publish(std::move(*frame), {.frame_id = n, .exposure_start_ns = ...});
//
// Readers find published frames by themselves (reader.h), or by a message that holds the FrameRef.
// A buffer is used again when no reader has a lease of it, the one with the oldest frame first.
// When the pool goes, readers keep what they hold until they let go of it.
//
// One thread at a time. The pool outlives its WritableFrames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "msgq/frames/descriptor.h"
#include "msgq/frames/frame_memory.h"
#include "msgq/frames/layout.h"
#include "msgq/frames/memory.h"
#include "msgq/frames/pool_socket.h"
#include "msgq/queue/fork_guard.h"
#include "runtime/base/status.h"

namespace camshaft::frames {

struct PoolOptions {
  std::string name = {};  // letters, digits, '_', '-', '.'
  queue::DomainOptions domain = {};
  Geometry geometry = {};
  uint32_t slots = 8;  // buffers: as many as readers hold at most, and two
  MemoryKind memory = MemoryKind::kMemfd;
  const DmaCalls* dma_calls = nullptr;  // null: the system's
};

struct FrameInfo {
  uint64_t frame_id = 0;
  int64_t exposure_start_ns = 0;  // base::mono_time_ns()
  int64_t exposure_end_ns = 0;
};

struct PoolStats {
  uint64_t published = 0;
  uint64_t starved = 0;         // begin() calls that found every buffer leased
  uint64_t skipped_leased = 0;  // buffers with older frames that begin() left to their readers
  uint64_t dead_holders = 0;    // readers that left
  uint64_t reclaimed = 0;       // leases taken back from readers that left
  uint64_t repaired = 0;        // lease words that some process had overwritten
  uint32_t holders = 0;         // a bit for each reader
  uint32_t leased_slots = 0;
};

class FramePool;

// A buffer that the producer may write to. Abandoned, unless published, with the object.
class WritableFrame {
 public:
  WritableFrame(WritableFrame&& other) noexcept;
  WritableFrame& operator=(WritableFrame&& other) noexcept;
  ~WritableFrame();

  uint32_t slot() const { return slot_; }
  FrameMemory memory() const;
  base::Result<CpuAccess> begin_access(Access access) noexcept;

 private:
  friend class FramePool;
  WritableFrame(FramePool& pool, uint32_t slot) : pool_(&pool), slot_(slot) {}

  FramePool* pool_;  // null: published or moved from
  uint32_t slot_;
};

// In a child made by fork() it is of no use, and harms nothing: kNotFound.
class FramePool {
 public:
  // Load time. kInvalidArgument, kBusy (another producer has the name), kUnsupported (no such
  // memory here), kOutOfMemory, kIo.
  static base::Result<std::unique_ptr<FramePool>> open(const PoolOptions& options);
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // A buffer that nobody else has; serves readers first. kBusy, with a sentence that says who holds
  // how many, where there is none: the frame has to be skipped. hot path.
  base::Result<WritableFrame> begin() noexcept;

  // Lets readers see the frame. kInvalidArgument where the CPU's access has not ended, or the
  // exposure ends before it starts; the frame is abandoned then. hot path.
  base::Result<FrameRef> publish(WritableFrame frame, const FrameInfo& info) noexcept;

  // Lets readers join and takes leases back from those that are gone; begin() does that too. To be
  // called now and then by a producer that begins no frames. hot path.
  void serve() noexcept;

  PoolStats stats() const noexcept;
  // As the reader said itself; empty where there is none of that number.
  const char* holder_name(uint32_t holder) const { return server_.holder_name(holder); }
  uint64_t pool_id() const { return pool_id_; }
  const Geometry& geometry() const { return geometry_; }
  uint32_t slot_count() const { return slot_count_; }

 private:
  friend class WritableFrame;
  // The producer's own record: what is in shared memory is never trusted.
  struct Slot {
    SharedMemory memory;
    bool is_dma_buf = false;
    uint32_t generation = 0;
    uint64_t sequence = 0;
    uint32_t open_accesses = 0;
  };

  FramePool() = default;
  void leave_to_parent() noexcept;
  base::Status refuse_child() noexcept;
  base::Status make_memory(const PoolOptions& options);
  void fill_control(const PoolOptions& options);
  Shared<uint64_t>& lease_word(uint32_t slot) const { return leases_->slots[slot].word; }
  bool is_free(uint32_t slot) noexcept;
  bool take(uint32_t slot) noexcept;
  int find_oldest_free() noexcept;
  void take_back(uint32_t holders) noexcept;
  void abandon(uint32_t slot) noexcept;
  base::Status starved() noexcept;

  std::string name_;
  const DmaCalls* calls_ = nullptr;
  Geometry geometry_;
  uint64_t pool_id_ = 0;
  uint32_t slot_count_ = 0;
  uint64_t sequence_ = 0;
  SharedMemory control_memory_;
  SharedMemory leases_memory_;
  PoolControl* control_ = nullptr;
  PoolLeases* leases_ = nullptr;
  Slot slots_[kMaxSlots];
  int fds_[2 + kMaxSlots] = {};
  Welcome welcome_;
  PoolServer server_;
  bool is_left_to_parent_ = false;
  queue::ForkGuard guard_{
      [](void* pool) noexcept { static_cast<FramePool*>(pool)->leave_to_parent(); },
      this};  // last: gone first
};

}  // namespace camshaft::frames
