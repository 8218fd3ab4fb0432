// SPDX-License-Identifier: MIT
// One input or output of a session: the tensor, the session's own buffer for it, and the caller's
// memory where that is bound instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "devices/hal/device.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/session/device_memory.h"

namespace camshaft::session {

// Memory of the caller's that the device can use in place.
struct ImportedMemory {
  hal::Buffer buffer = {};
  uint64_t size_bytes = 0;
  uint64_t row_pitch_bytes = 0;   // 0: unknown
  std::byte* host_ptr = nullptr;  // null: no host address
  bool writable = false;
  hal::ImageShape image = {};
};

struct Port {
  const plan::TensorInfo* info = nullptr;  // borrowed from the plan
  uint64_t size_bytes = 0;
  bool is_output = false;
  OwnedBuffer own;       // of at least size_bytes
  ImportedMemory bound;  // buffer 0: `own` is in use
  // Of an input that the target's kernels take as an image: its shape, and that of `own`.
  hal::ImageShape image = {};
  hal::Buffer own_image = {};

  bool is_bound() const { return bound.buffer.id != 0; }
  hal::Buffer buffer() const {
    if (is_bound()) return bound.buffer;
    return image.is_image() ? own_image : own.buffer();
  }
  // The memory in use; null where it has no host address.
  std::byte* host_ptr() const { return is_bound() ? bound.host_ptr : own.bytes().data(); }
};

// Load time.
base::Result<Port> make_port(hal::Device& device, const plan::TensorInfo& info, bool is_output);

// Whether the port takes this tensor or this memory. kInvalidArgument with a sentence that says
// what is expected. hot path.
base::Status check_tensor(const Port& port, base::DType dtype, std::span<const int64_t> shape,
                          uint64_t size_bytes) noexcept;
base::Status check_memory(const Port& port, const ImportedMemory& memory) noexcept;

}  // namespace camshaft::session
