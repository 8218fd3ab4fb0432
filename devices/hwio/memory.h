// SPDX-License-Identifier: MIT
// The seam between backends and the operating system's memory calls, so that tests can make them
// fail and count them. The other calls that drivers need (open, ioctl, registers) join it with the
// first backend that uses them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/bytes.h"

namespace camshaft::hwio {

// Results below 0 are -errno. Load time only; implementations may be called from any thread.
class MemoryCalls {
 public:
  // A new memory file that can be sealed and is closed on exec: its descriptor.
  virtual int create_memory_file(const char* name) = 0;
  // Writes all bytes at an offset, growing the file: 0.
  virtual int write_at(int fd, base::Bytes bytes, uint64_t offset) = 0;
  // Forbids any further change of the file's bytes and size: 0.
  virtual int seal(int fd) = 0;
  virtual void close(int fd) = 0;

  // mmap, mprotect and munmap with their own flags; fd -1 for anonymous memory.
  virtual int map(void* at, size_t size_bytes, int protection, int flags, int fd, uint64_t offset,
                  void** mapped) = 0;
  virtual int protect(void* at, size_t size_bytes, int protection) = 0;
  virtual void unmap(void* at, size_t size_bytes) = 0;
  // madvise; advice that the kernel refuses is no failure, so nothing is returned.
  virtual void advise(void* at, size_t size_bytes, int advice) = 0;

 protected:
  ~MemoryCalls() = default;  // nobody owns one through this type
};

// The real ones. Stateless; lives for ever.
MemoryCalls& system_memory_calls();

// Size of a page in bytes.
size_t page_size_bytes();

}  // namespace camshaft::hwio
