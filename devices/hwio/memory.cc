// SPDX-License-Identifier: MIT
#include "devices/hwio/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

// Since Linux 6.3: a file that can be mapped for execution but never passed to exec().
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace camshaft::hwio {
namespace {

class SystemMemoryCalls final : public MemoryCalls {
 public:
  int create_memory_file(const char* name) override {
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = ::memfd_create(name, kFlags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name, kFlags);
    return fd < 0 ? -errno : fd;
  }

  int write_at(int fd, base::Bytes bytes, uint64_t offset) override {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return written < 0 ? -errno : -EIO;
      bytes = bytes.subspan(static_cast<size_t>(written));
      offset += static_cast<uint64_t>(written);
    }
    return 0;
  }

  int seal(int fd) override {
    constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    return ::fcntl(fd, F_ADD_SEALS, kSeals) < 0 ? -errno : 0;
  }

  void close(int fd) override { ::close(fd); }

  int map(void* at, size_t size_bytes, int protection, int flags, int fd, uint64_t offset,
          void** mapped) override {
    void* address = ::mmap(at, size_bytes, protection, flags, fd, static_cast<off_t>(offset));
    if (address == MAP_FAILED) return -errno;
    *mapped = address;
    return 0;
  }

  int protect(void* at, size_t size_bytes, int protection) override {
    return ::mprotect(at, size_bytes, protection) < 0 ? -errno : 0;
  }

  void unmap(void* at, size_t size_bytes) override { ::munmap(at, size_bytes); }

  void advise(void* at, size_t size_bytes, int advice) override {
    (void)::madvise(at, size_bytes, advice);
  }
};

}  // namespace

MemoryCalls& system_memory_calls() {
  static SystemMemoryCalls calls;
  return calls;
}

size_t page_size_bytes() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace camshaft::hwio
