// SPDX-License-Identifier: MIT
// What is behind a buffer handle.
//
// Memory that the host may see stays mapped, at the same address, for as long as no work has it:
// submit() unmaps what its commands use before them, and maps it again after them. This is what
// OpenCL 1.2 asks for; drivers of devices that share the host's memory move nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "devices/hal/foreign_lease.h"
#include "devices/opencl/api.h"

namespace camshaft::opencl {

struct FreeMemory {
  void operator()(std::byte* data) const { std::free(data); }
};

struct Memory {
  hal::ForeignLease lease;  // first, so that the owner is told last
  std::unique_ptr<std::byte, FreeMemory> owned;
  Object<cl_mem> object;
  uint64_t offset_bytes = 0;  // of the buffer in the object
  uint64_t size_bytes = 0;
  std::byte* host = nullptr;  // its address while mapped; null: never mapped
  bool is_mapped = false;
};

}  // namespace camshaft::opencl
