// SPDX-License-Identifier: MIT
#include "devices/hwio/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "devices/hwio/memory.h"

namespace camshaft::hwio {

using base::Code;

base::Result<SharedFile> SharedFile::duplicate(uint64_t handle) {
  const int fd = handle <= INT_MAX ? ::fcntl(static_cast<int>(handle), F_DUPFD_CLOEXEC, 0) : -1;
  if (fd >= 0) return SharedFile(fd);
  return base::fail(Code::kInvalidArgument, "hwio.descriptor",
                    "%llu is no open file descriptor of this process: pass one that is",
                    static_cast<unsigned long long>(handle));
}

SharedFile::SharedFile(SharedFile&& other) noexcept : fd_(other.give_away()) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

SharedFile::~SharedFile() {
  if (fd_ >= 0) ::close(fd_);
}

int SharedFile::give_away() {
  return std::exchange(fd_, -1);
}

uint64_t SharedFile::size_bytes() const {
  struct stat status = {};
  if (::fstat(fd_, &status) != 0 || status.st_size <= 0) return 0;
  return static_cast<uint64_t>(status.st_size);
}

base::Result<SharedMapping> SharedMapping::map(const SharedFile& file, uint64_t offset_bytes,
                                               uint64_t size_bytes, bool writable) {
  const uint64_t skipped_bytes = offset_bytes % page_size_bytes();
  SharedMapping mapping;
  mapping.mapped_bytes_ = size_bytes + skipped_bytes;
  void* pages = ::mmap(nullptr, mapping.mapped_bytes_, PROT_READ | (writable ? PROT_WRITE : 0),
                       MAP_SHARED, file.get(), static_cast<off_t>(offset_bytes - skipped_bytes));
  if (pages == MAP_FAILED) {
    return base::fail(Code::kIo, "hwio.map",
                      "%llu bytes of descriptor %d can't be mapped for %s: %s",
                      static_cast<unsigned long long>(size_bytes), file.get(),
                      writable ? "reading and writing" : "reading", std::strerror(errno));
  }
  mapping.pages_ = pages;
  mapping.data_ = static_cast<std::byte*>(pages) + skipped_bytes;
  return mapping;
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(std::exchange(other.data_, nullptr)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (pages_ != nullptr) ::munmap(pages_, mapped_bytes_);
}

}  // namespace camshaft::hwio
