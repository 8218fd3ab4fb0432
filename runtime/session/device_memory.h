// SPDX-License-Identifier: MIT
// Buffers that a session owns on its device. Load time only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/hal/device.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::session {

// Released with this object, which the device must outlive. Zero-filled at first.
class OwnedBuffer {
 public:
  OwnedBuffer() = default;  // no buffer
  // No buffer for 0 bytes.
  static base::Result<OwnedBuffer> allocate(hal::Device& device, uint64_t size_bytes,
                                            hal::MemoryKind kind);
  OwnedBuffer(OwnedBuffer&& other) noexcept;
  OwnedBuffer& operator=(OwnedBuffer&& other) noexcept;
  ~OwnedBuffer();

  hal::Buffer buffer() const { return allocation_.buffer; }
  uint64_t size_bytes() const { return size_bytes_; }
  // Of host-visible memory.
  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(allocation_.host_ptr), size_bytes_};
  }

 private:
  hal::Device* device_ = nullptr;
  hal::Allocation allocation_;
  uint64_t size_bytes_ = 0;
};

// Copies bytes of the host into a buffer that the host may not see, through a small host-visible
// one. Blocks.
base::Status upload(hal::Device& device, hal::Buffer destination, base::Bytes bytes);

}  // namespace camshaft::session
