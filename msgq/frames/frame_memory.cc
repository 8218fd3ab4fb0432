// SPDX-License-Identifier: MIT
#include "msgq/frames/frame_memory.h"

#include <utility>

namespace camshaft::frames {

CpuAccess::CpuAccess(const FrameMemory& memory, Access access, const DmaCalls& calls,
                     uint32_t& open_count)
    : memory_(memory), access_(access), calls_(&calls), open_count_(&open_count) {
  ++open_count;
}

CpuAccess::CpuAccess(CpuAccess&& other) noexcept
    : memory_(other.memory_),
      access_(other.access_),
      calls_(other.calls_),
      open_count_(std::exchange(other.open_count_, nullptr)) {}

CpuAccess& CpuAccess::operator=(CpuAccess&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(access_, other.access_);
  std::swap(calls_, other.calls_);
  std::swap(open_count_, other.open_count_);
  return *this;
}

base::Result<CpuAccess> CpuAccess::begin(const FrameMemory& memory, Access access,
                                         const DmaCalls& calls, uint32_t& open_count) noexcept {
  if (access != Access::kRead && !memory.writable) {
    return base::fail(base::Code::kInvalidArgument, "frames.access",
                      "only the producer of a frame may write to it");
  }
  if (memory.is_dma_buf) CAMSHAFT_TRY(sync_for_cpu(memory.fd, access, true, calls));
  return CpuAccess(memory, access, calls, open_count);
}

base::Status CpuAccess::end() noexcept {
  if (open_count_ == nullptr) return base::ok();
  --*std::exchange(open_count_, nullptr);
  return memory_.is_dma_buf ? sync_for_cpu(memory_.fd, access_, false, *calls_) : base::ok();
}

}  // namespace camshaft::frames
