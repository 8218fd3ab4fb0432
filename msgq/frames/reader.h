// SPDX-License-Identifier: MIT
// The reader's side of a pool.
//
//   auto reader = FrameReader::join("road", {.name = "modeld"});
//   auto frame = (*reader)->receive(Take::kNewest, deadline_ns);   // a lease: nobody overwrites it
//   auto access = frame->begin_access();
//   use(access->bytes(), frame->descriptor());                     // or let a device read memory()
//   frame->release();
//
// A lease costs one atomic operation and no system call. It ends with the FrameLease, or when the
// process ends in whatever way. A process that forks shares its leases with the child: let the
// child call exec(), which closes its share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "msgq/frames/descriptor.h"
#include "msgq/frames/frame_memory.h"
#include "msgq/frames/layout.h"
#include "msgq/frames/memory.h"
#include "msgq/frames/pool_socket.h"
#include "msgq/queue/fork_guard.h"
#include "runtime/base/status.h"

namespace camshaft::frames {

struct ReaderOptions {
  queue::DomainOptions domain = {};
  std::string name = {};    // for people: who holds frames
  int64_t deadline_ns = 0;  // how long to wait for the pool, on the monotonic clock; 0: not
  const DmaCalls* dma_calls = nullptr;  // null: the system's
};

enum class Take : uint8_t {
  kNewest,  // passes over what is older
  kNext,    // every frame that is still in the pool, in order
};

class FrameReader;

// A frame that stays as it is until release(), which the destructor calls too.
class FrameLease {
 public:
  FrameLease(FrameLease&& other) noexcept;
  FrameLease& operator=(FrameLease&& other) noexcept;
  ~FrameLease();

  // A copy of the reader's own, checked: its planes lie within the memory.
  const FrameDescriptor& descriptor() const { return descriptor_; }
  FrameMemory memory() const;
  // hot path.
  base::Result<CpuAccess> begin_access(Access access = Access::kRead) noexcept;
  // The bytes of one plane within those of the frame.
  base::Bytes plane(base::Bytes frame, uint32_t index) const;

  // kCorrupt where another process took the lease away, so that what was read may be anything. hot
  // path.
  base::Status release() noexcept;

 private:
  friend class FrameReader;
  FrameLease(FrameReader& reader, const FrameDescriptor& descriptor)
      : reader_(&reader), descriptor_(descriptor) {}

  FrameReader* reader_;  // null: released
  FrameDescriptor descriptor_;
};

// One thread at a time, its leases included, which it outlives. In a child made by fork() it gives
// no frames, kNotFound, and its leases are no longer valid.
class FrameReader {
 public:
  // Load time. kNotFound (no such pool), kBusy (it has kMaxHolders readers), kDeadlineExceeded (its
  // producer does not answer), kUnsupported (another version), kCorrupt, kIo.
  static base::Result<std::unique_ptr<FrameReader>> join(std::string_view pool,
                                                         const ReaderOptions& options);
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  ~FrameReader();

  // A frame that is newer than any received before; nothing where there is none yet. kCorrupt. hot
  // path.
  base::Result<std::optional<FrameLease>> try_receive(Take take) noexcept;
  // Waits for one. kDeadlineExceeded; kNotFound where the producer has gone and no frame is left:
  // join again. hot path.
  base::Result<FrameLease> receive(Take take, int64_t deadline_ns) noexcept;
  // The frame that a message names. kNotFound where it is no longer in the pool, or is of another
  // pool. hot path.
  base::Result<FrameLease> acquire(const FrameRef& ref) noexcept;

  // Frames between those received that were published and not received, by choice or for lateness.
  uint64_t missed() const { return missed_; }
  uint64_t pool_id() const { return welcome_.pool_id; }
  uint32_t slot_count() const { return welcome_.slot_count; }
  std::string_view pool() const { return pool_; }
  // Of a slot, to be imported by a device at load time.
  FrameMemory memory(uint32_t slot) const;
  // A system call.
  bool has_producer() const noexcept { return connection_.is_open() && !is_hung_up(connection_); }

 private:
  friend class FrameLease;
  FrameReader() = default;
  void leave_to_parent() noexcept;
  base::Status refuse_child() const noexcept;
  base::Status map(JoinedPool joined);
  Shared<uint64_t>& lease_word(uint32_t slot) const { return leases_->slots[slot].word; }
  int find(Take take, uint64_t& sequence) const noexcept;
  bool lease(uint32_t slot, uint64_t sequence) noexcept;
  base::Status end_lease(uint32_t slot) noexcept;
  void strike_false_leases() noexcept;
  void look_after_starvation() noexcept;
  base::Result<std::optional<FrameLease>> take_slot(uint32_t slot, uint64_t sequence) noexcept;

  struct Slot {
    OwnedFd fd;
    Mapping mapping;
    bool is_dma_buf = false;
    uint32_t leases = 0;      // FrameLeases that share the reader's bit
    uint32_t generation = 0;  // of the frame that they are of
    uint32_t open_accesses = 0;
  };

  std::string pool_;
  const DmaCalls* calls_ = nullptr;
  Welcome welcome_;
  OwnedFd connection_;
  Mapping control_mapping_;
  Mapping leases_mapping_;
  const PoolControl* control_ = nullptr;
  PoolLeases* leases_ = nullptr;
  Slot slots_[kMaxSlots];
  uint64_t last_ = 0;  // sequence of the newest frame received
  uint64_t missed_ = 0;
  uint64_t starved_ = 0;  // the pool's count of it when leases were last looked through
  queue::ForkGuard guard_{
      [](void* reader) noexcept { static_cast<FrameReader*>(reader)->leave_to_parent(); },
      this};  // last: gone first
};

}  // namespace camshaft::frames
