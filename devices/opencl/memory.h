// SPDX-License-Identifier: MIT
// What is behind a buffer handle.
//
// Memory that the host may see, of a device that shares the host's: it stays mapped, at the same
// address, for as long as no work has it. submit() unmaps what its commands use before them, and
// maps it again after them. This is what OpenCL 1.2 asks for; drivers of such devices move nothing.
//
// Of a device with memory of its own: the host has a copy, in memory that the driver can move from
// and to by itself; submit() writes what its commands read before them, and reads what they write
// after them (hal::Flow).
//
// External memory (cl_khr_external_memory) belongs to others whenever no work has it: submit()
// acquires it before its commands and releases it after them.
//
// An image (image.h) shows bytes of other memory, and is used by way of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "devices/hal/foreign_lease.h"
#include "devices/hwio/shared_file.h"
#include "devices/opencl/api.h"

namespace camshaft::opencl {

struct FreeMemory {
  void operator()(std::byte* data) const { std::free(data); }
};

struct Memory {
  hal::ForeignLease lease;  // first, so that the owner is told last
  std::unique_ptr<std::byte, FreeMemory> owned;
  hwio::SharedFile file;        // of imported descriptors
  hwio::SharedMapping mapping;  // of their memory
  Object<cl_mem> object;
  uint64_t offset_bytes = 0;  // of the buffer in the object
  uint64_t size_bytes = 0;
  Object<cl_mem> copy;        // the host's, mapped; or `owned` is
  void* copy_map = nullptr;   // where
  std::byte* host = nullptr;  // its address while mapped, or of the copy; null: never seen
  bool is_mapped = false;
  bool has_copy = false;
  bool is_external = false;

  hal::ImageShape image = {};  // of an image (image.h), otherwise none
  Memory* base = nullptr;  // whose bytes from offset_bytes on it shows; null: it is the caller's
  bool is_alias = false;   // it is those bytes

  // Whether a submit that uses it does something about it before and after.
  bool changes_hands() const {
    return host != nullptr || is_external || (base != nullptr && base->changes_hands());
  }

  // Of the submit under way.
  bool is_taken = false;
  bool is_written = false;  // to the device
  bool is_read = false;     // from it, at the end
};

}  // namespace camshaft::opencl
