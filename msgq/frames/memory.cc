// SPDX-License-Identifier: MIT
#include "msgq/frames/memory.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/magic.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "msgq/queue/fork_guard.h"
#include "runtime/base/log_ring.h"

namespace camshaft::frames {
namespace {

#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x10;
#endif
#ifndef DMA_BUF_MAGIC
constexpr long DMA_BUF_MAGIC = 0x444d4142;
#endif
constexpr const char* kHeapPath = "/dev/dma_heap/system";
constexpr const char* kUdmabufPath = "/dev/udmabuf";

int system_open(const char* path, int flags) {
  return ::open(path, flags);
}
int system_ioctl(int fd, unsigned long request, void* argument) {
  return ::ioctl(fd, request, argument);
}

base::Status refused(const char* what, uint64_t size_bytes) {
  return base::fail_errno(base::Code::kIo, "frames.memory", errno,
                          "can't %s %llu bytes of shared memory", what,
                          static_cast<unsigned long long>(size_bytes));
}

base::Result<OwnedFd> make_memory_file(const char* name, uint64_t size_bytes) {
  OwnedFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_open() || ::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) {
    return refused("make", size_bytes);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return refused("seal", size_bytes);
  }
  return fd;
}

base::Result<OwnedFd> allocate_from_heap(uint64_t size_bytes, const DmaCalls& calls) {
  const OwnedFd heap(calls.open(kHeapPath, O_RDONLY | O_CLOEXEC));
  if (!heap.is_open()) {
    return base::fail_errno(base::Code::kUnsupported, "frames.dma_heap", errno,
                            "can't use dma-bufs: %s does not open", kHeapPath);
  }
  dma_heap_allocation_data request = {};
  request.len = size_bytes;
  request.fd_flags = O_RDWR | O_CLOEXEC;
  if (calls.ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &request) != 0) {
    return base::fail_errno(base::Code::kOutOfMemory, "frames.dma_heap", errno,
                            "%s has no %llu bytes", kHeapPath,
                            static_cast<unsigned long long>(size_bytes));
  }
  return OwnedFd(static_cast<int>(request.fd));
}

base::Result<OwnedFd> wrap_memory_file(const char* name, uint64_t size_bytes,
                                       const DmaCalls& calls) {
  const OwnedFd device(calls.open(kUdmabufPath, O_RDWR | O_CLOEXEC));
  if (!device.is_open()) {
    return base::fail_errno(base::Code::kUnsupported, "frames.udmabuf", errno,
                            "can't use dma-bufs: %s does not open", kUdmabufPath);
  }
  CAMSHAFT_TRY_ASSIGN(const OwnedFd file, make_memory_file(name, size_bytes));
  udmabuf_create request = {};
  request.memfd = static_cast<uint32_t>(file.get());
  request.flags = UDMABUF_FLAGS_CLOEXEC;
  request.size = size_bytes;
  const int fd = calls.ioctl(device.get(), UDMABUF_CREATE, &request);
  if (fd < 0) {
    return base::fail_errno(base::Code::kOutOfMemory, "frames.udmabuf", errno,
                            "%s makes no dma-buf of %llu bytes", kUdmabufPath,
                            static_cast<unsigned long long>(size_bytes));
  }
  return OwnedFd(fd);
}

}  // namespace

const DmaCalls& system_dma_calls() {
  static constexpr DmaCalls kCalls = {system_open, system_ioctl};
  return kCalls;
}

OwnedFd::OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void OwnedFd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

base::Result<Mapping> Mapping::map(const OwnedFd& fd, uint64_t size_bytes, bool writable) {
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* const data = ::mmap(nullptr, size_bytes, protection, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return refused("map", size_bytes);
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_bytes_ = size_bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

void Mapping::replace_by_zeros() noexcept {
  if (data_ != nullptr) queue::replace_by_zeros(data_, size_bytes_);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

const char* memory_kind_name(MemoryKind kind) {
  static constexpr const char* kNames[] = {"memfd", "dma-heap", "udmabuf", "any"};
  return kNames[static_cast<size_t>(kind)];
}

base::Result<SharedMemory> SharedMemory::make_memfd(const char* name, uint64_t size_bytes,
                                                    bool others_read_only) {
  SharedMemory memory;
  CAMSHAFT_TRY_ASSIGN(memory.fd, make_memory_file(name, size_bytes));
  CAMSHAFT_TRY_ASSIGN(memory.mapping, Mapping::map(memory.fd, size_bytes, true));
  // The mapping that is there stays writable.
  const int seals = F_SEAL_SEAL | (others_read_only ? F_SEAL_FUTURE_WRITE : 0);
  if (::fcntl(memory.fd.get(), F_ADD_SEALS, seals) != 0) return refused("seal", size_bytes);
  return memory;
}

base::Result<SharedMemory> SharedMemory::make(MemoryKind kind, const char* name,
                                              uint64_t size_bytes, const DmaCalls& calls) {
  if (kind == MemoryKind::kMemfd) return make_memfd(name, size_bytes, true);
  if (kind == MemoryKind::kAny) {
    for (MemoryKind dma : {MemoryKind::kDmaHeap, MemoryKind::kUdmabuf}) {
      if (auto memory = make(dma, name, size_bytes, calls)) return memory;
    }
    base::log_line("frames are in memory files: the system has no dma-buf heap that opens");
    return make_memfd(name, size_bytes, true);
  }
  SharedMemory memory;
  memory.kind = kind;
  if (kind == MemoryKind::kDmaHeap) {
    CAMSHAFT_TRY_ASSIGN(memory.fd, allocate_from_heap(size_bytes, calls));
  } else {
    CAMSHAFT_TRY_ASSIGN(memory.fd, wrap_memory_file(name, size_bytes, calls));
  }
  CAMSHAFT_TRY_ASSIGN(memory.mapping, Mapping::map(memory.fd, size_bytes, true));
  return memory;
}

base::Status check_foreign_memory(const OwnedFd& fd, uint64_t size_bytes, const char* whose) {
  struct statfs system = {};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  const bool is_sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  if (!is_sealed &&
      (::fstatfs(fd.get(), &system) != 0 || static_cast<long>(system.f_type) != DMA_BUF_MAGIC)) {
    return base::fail(base::Code::kCorrupt, "frames.foreign_memory",
                      "%s: its memory may shrink while it is in use, so it is not mapped", whose);
  }
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  if (size < 0 || static_cast<uint64_t>(size) < size_bytes) {
    return base::fail(base::Code::kCorrupt, "frames.foreign_memory",
                      "%s: a buffer has %lld bytes, not %llu", whose, static_cast<long long>(size),
                      static_cast<unsigned long long>(size_bytes));
  }
  return base::ok();
}

bool is_dma_buf(const OwnedFd& fd, const DmaCalls& calls) {
  dma_buf_sync nothing = {.flags = DMA_BUF_SYNC_READ | DMA_BUF_SYNC_END};
  return calls.ioctl(fd.get(), DMA_BUF_IOCTL_SYNC, &nothing) == 0;
}

base::Status sync_for_cpu(int fd, Access access, bool begin, const DmaCalls& calls) noexcept {
  dma_buf_sync sync = {};
  static_assert(DMA_BUF_SYNC_READ == 1 && DMA_BUF_SYNC_WRITE == 2);
  sync.flags = static_cast<uint64_t>(access) | (begin ? DMA_BUF_SYNC_START : DMA_BUF_SYNC_END);
  while (calls.ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    return base::fail_errno(base::Code::kIo, "frames.sync", errno,
                            "can't %s the CPU's access to a dma-buf", begin ? "begin" : "end");
  }
  return base::ok();
}

}  // namespace camshaft::frames
