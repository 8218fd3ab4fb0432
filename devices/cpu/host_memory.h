// SPDX-License-Identifier: MIT
// Memory of the CPU device: whole pages from the operating system, so that large buffers can have
// huge pages and all can be backed before the first frame needs them.
#pragma once

#include <cstdint>

#include "devices/hwio/memory.h"
#include "runtime/base/status.h"

namespace camshaft::cpu {

struct MemoryPolicy {
  bool huge_pages = false;  // ask for transparent huge pages from 1 MiB on; a hint
  bool prefault =
      true;  // back every page now: no page fault later, and no memory that is not there
};

class HostMemory {
 public:
  HostMemory() = default;  // no memory
  // Zero-filled, page-aligned. Load time; `calls` must outlive the memory. Fails with kOutOfMemory.
  static base::Result<HostMemory> allocate(uint64_t size_bytes, const MemoryPolicy& policy,
                                           hwio::MemoryCalls& calls);

  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::byte* mapped_ = nullptr;  // the whole mapping, which alignment may have made larger
  uint64_t mapped_bytes_ = 0;
  hwio::MemoryCalls* calls_ = nullptr;
};

}  // namespace camshaft::cpu
