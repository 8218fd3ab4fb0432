// SPDX-License-Identifier: MIT
// A memory file of somebody else's, and how many files this process has open.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>

namespace camshaft::test {

class MemoryFile {
 public:
  explicit MemoryFile(size_t size_bytes)
      : fd_(::memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_bytes_(size_bytes) {
    REQUIRE(fd_ >= 0);
    REQUIRE(::ftruncate(fd_, static_cast<off_t>(size_bytes)) == 0);
    at_ = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    REQUIRE(at_ != MAP_FAILED);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    unmap();
    close();
  }

  uint64_t handle() const { return static_cast<uint64_t>(fd_); }
  uint32_t* words() const { return static_cast<uint32_t*>(at_); }
  // The descriptor; the mapping stays.
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // Nobody can map it for writing any more, ourselves included.
  void seal_for_writing() {
    unmap();
    REQUIRE(::fcntl(fd_, F_ADD_SEALS, F_SEAL_WRITE) == 0);
  }

 private:
  void unmap() {
    if (at_ != nullptr) ::munmap(at_, size_bytes_);
    at_ = nullptr;
  }

  int fd_;
  size_t size_bytes_;
  void* at_ = nullptr;
};

inline int open_file_count() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

}  // namespace camshaft::test
