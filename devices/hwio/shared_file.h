// SPDX-License-Identifier: MIT
// Memory behind a descriptor that somebody else made: memory files and dma-bufs. Load time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"

namespace camshaft::hwio {

// A duplicate of a caller's descriptor, closed with this object.
class SharedFile {
 public:
  SharedFile() = default;  // none
  // `handle` is the number of a descriptor, which stays the caller's. kInvalidArgument where it is
  // not open in this process.
  static base::Result<SharedFile> duplicate(uint64_t handle);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  int get() const { return fd_; }
  // Gives the duplicate away, to who closes it.
  int give_away();
  // How much memory is behind it; 0 where the system doesn't say.
  uint64_t size_bytes() const;

 private:
  explicit SharedFile(int fd) : fd_(fd) {}

  int fd_ = -1;
};

// Bytes of a file, shared with everyone who has it, in this process's memory.
class SharedMapping {
 public:
  SharedMapping() = default;  // none
  // The bytes must be there: see SharedFile::size_bytes(). kIo, with the system's reason, where it
  // refuses.
  static base::Result<SharedMapping> map(const SharedFile& file, uint64_t offset_bytes,
                                         uint64_t size_bytes, bool writable);
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  // Of the byte at the offset: as far from the start of a page as the offset is.
  std::byte* data() const { return data_; }

 private:
  void* pages_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace camshaft::hwio
