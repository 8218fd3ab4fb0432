// SPDX-License-Identifier: MIT
// Memory that processes share by descriptor: memfd, or dma-buf where the system has a heap for it.
// Load time only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"

namespace camshaft::frames {

// What is asked of the kernel about dma-bufs: the seam at which tests put a simulated heap.
struct DmaCalls {
  int (*open)(const char* path, int flags);
  int (*ioctl)(int fd, unsigned long request, void* argument);
};
const DmaCalls& system_dma_calls();

// A file descriptor of ours; closed with the object.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept;
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// Shared pages in this process. Page-aligned.
class Mapping {
 public:
  Mapping() = default;
  // kIo with a sentence where the kernel refuses.
  static base::Result<Mapping> map(const OwnedFd& fd, uint64_t size_bytes, bool writable);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // See queue/fork_guard.h.
  void replace_by_zeros() noexcept;

  std::byte* data() const { return data_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t size_bytes_ = 0;
};

enum class MemoryKind : uint8_t {
  kMemfd,
  kDmaHeap,  // /dev/dma_heap/system
  kUdmabuf,  // a dma-buf over a memfd
  kAny,      // a dma-buf where the system offers one, else a memfd
};
const char* memory_kind_name(MemoryKind kind);

// Memory of a fixed size in this process, writable, with the descriptor to hand on.
struct SharedMemory {
  OwnedFd fd;
  Mapping mapping;
  MemoryKind kind = MemoryKind::kMemfd;  // which one it became

  // A memory file that nobody can resize any more. With `others_read_only`, who gets the descriptor
  // can map it for reading only. Zero-filled.
  static base::Result<SharedMemory> make_memfd(const char* name, uint64_t size_bytes,
                                               bool others_read_only);
  // kUnsupported with the reason where the system has no such memory.
  static base::Result<SharedMemory> make(MemoryKind kind, const char* name, uint64_t size_bytes,
                                         const DmaCalls& calls);
};

// Whether memory of another process is safe to map: a dma-buf, or a memory file that is sealed
// against shrinking, of at least `size_bytes`. A smaller one would fault when touched. kCorrupt.
base::Status check_foreign_memory(const OwnedFd& fd, uint64_t size_bytes, const char* whose);
bool is_dma_buf(const OwnedFd& fd, const DmaCalls& calls);

// --- CPU access
// --------------------------------------------------------------------------------------

enum class Access : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

// Tells the kernel that the CPU begins, or has ended, to touch a dma-buf, so that it cleans and
// invalidates caches where the hardware needs that (DMA_BUF_IOCTL_SYNC). Nothing for a memfd. kIo.
base::Status sync_for_cpu(int fd, Access access, bool begin, const DmaCalls& calls) noexcept;

}  // namespace camshaft::frames
