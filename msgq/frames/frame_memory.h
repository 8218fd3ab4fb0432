// SPDX-License-Identifier: MIT
// One frame's buffer as its holder sees it: what a device imports, and the CPU's way in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "msgq/frames/memory.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::frames {

// What hal::ForeignMemory wants to know: a host pointer always, and a descriptor that is a dma-buf
// where `is_dma_buf`. The same in every frame of a slot, so a device imports each slot once.
// Borrowed from the pool or reader.
struct FrameMemory {
  std::byte* host_ptr = nullptr;  // page-aligned; readers may only read
  uint64_t size_bytes = 0;
  int fd = -1;
  bool is_dma_buf = false;
  bool writable = false;
};

// The time in which the CPU touches a buffer. On a dma-buf its beginning and end are told to the
// kernel, which does what the caches need; on other memory nothing has to be done. Ends with the
// object; the frame outlives it.
class CpuAccess {
 public:
  // kIo where the kernel refuses; kInvalidArgument for writing to what is read-only. hot path.
  static base::Result<CpuAccess> begin(const FrameMemory& memory, Access access,
                                       const DmaCalls& calls, uint32_t& open_count) noexcept;
  CpuAccess(CpuAccess&& other) noexcept;
  CpuAccess& operator=(CpuAccess&& other) noexcept;
  ~CpuAccess() { (void)end(); }

  // Empty after end().
  base::Bytes bytes() const { return span(); }
  // Empty unless writing was asked for.
  std::span<std::byte> writable_bytes() const {
    return access_ == Access::kRead ? std::span<std::byte>() : span();
  }
  // kIo where the kernel refuses: what was written may not be seen by the device. hot path.
  base::Status end() noexcept;

 private:
  CpuAccess(const FrameMemory& memory, Access access, const DmaCalls& calls, uint32_t& open_count);
  std::span<std::byte> span() const {
    return open_count_ == nullptr ? std::span<std::byte>()
                                  : std::span<std::byte>(memory_.host_ptr, memory_.size_bytes);
  }

  FrameMemory memory_;
  Access access_;
  const DmaCalls* calls_;
  uint32_t* open_count_;  // null: ended
};

}  // namespace camshaft::frames
