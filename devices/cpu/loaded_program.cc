// SPDX-License-Identifier: MIT
#include "devices/cpu/loaded_program.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>
#include <vector>

namespace camshaft::cpu {
namespace {

using base::Bytes;
using base::Result;

struct Pages {
  uint64_t offset = 0;  // from the image's start
  uint64_t size_bytes = 0;
  int protection = PROT_READ;
};

Pages pages_of(const ElfSegment& segment) {
  const uint64_t page_bytes = hwio::page_size_bytes();
  const uint64_t first = segment.address & ~(page_bytes - 1);
  const uint64_t end = base::align_up(segment.address + segment.memory_bytes, page_bytes);
  return Pages{.offset = first,
               .size_bytes = end - first,
               .protection = segment.executable ? PROT_READ | PROT_EXEC : PROT_READ};
}

// The image's memory as it must be when mapped at `start`.
std::vector<std::byte> build_memory(const ElfImage& image, const std::byte* start) {
  std::vector<std::byte> memory(image.memory_bytes);
  for (const ElfSegment& segment : image.segments) {
    const Bytes bytes = base::slice(image.file, segment.file_offset, segment.file_bytes);
    if (!bytes.empty()) std::memcpy(memory.data() + segment.address, bytes.data(), bytes.size());
  }
  for (const ElfRelocation& relocation : image.relocations) {
    const uint64_t value = reinterpret_cast<uint64_t>(start) + relocation.addend;
    std::memcpy(memory.data() + relocation.address, &value, sizeof value);
  }
  return memory;
}

// Both ways of filling the reserved range return 0 or -errno.
int map_sealed_file(const ElfImage& image, Bytes memory, std::byte* start,
                    hwio::MemoryCalls& calls) {
  const int fd = calls.create_memory_file("camshaft-kernels");
  if (fd < 0) return fd;
  int result = calls.write_at(fd, memory, 0);
  if (result == 0) result = calls.seal(fd);
  for (const ElfSegment& segment : image.segments) {
    if (result != 0) break;
    const Pages pages = pages_of(segment);
    void* mapped = nullptr;
    result = calls.map(start + pages.offset, pages.size_bytes, pages.protection,
                       MAP_PRIVATE | MAP_FIXED, fd, pages.offset, &mapped);
  }
  calls.close(fd);
  return result;
}

int map_anonymous(const ElfImage& image, Bytes memory, std::byte* start, hwio::MemoryCalls& calls) {
  for (const ElfSegment& segment : image.segments) {
    const Pages pages = pages_of(segment);
    void* mapped = nullptr;
    if (const int failed = calls.map(start + pages.offset, pages.size_bytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &mapped);
        failed != 0) {
      return failed;
    }
    std::memcpy(start + pages.offset, memory.data() + pages.offset, pages.size_bytes);
    if (const int failed = calls.protect(start + pages.offset, pages.size_bytes, pages.protection);
        failed != 0) {
      return failed;
    }
  }
  return 0;
}

}  // namespace

Result<LoadedProgram> LoadedProgram::map(const ElfImage& image, hwio::MemoryCalls& calls) {
  void* reserved = nullptr;
  int failed = calls.map(nullptr, image.memory_bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &reserved);
  if (failed != 0) {
    return base::fail_errno(base::Code::kIo, "cpu.reserve", -failed,
                            "no address space for the plan's kernels (%llu bytes)",
                            static_cast<unsigned long long>(image.memory_bytes));
  }
  auto* start = static_cast<std::byte*>(reserved);
  LoadedProgram program(start, image.memory_bytes, calls);
  const std::vector<std::byte> memory = build_memory(image, start);
  if (map_sealed_file(image, memory, start, calls) != 0) {
    failed = map_anonymous(image, memory, start, calls);
    if (failed != 0) {
      return base::fail_errno(
          base::Code::kIo, "cpu.map", -failed,
          "the operating system maps no executable memory for the plan's kernels; "
          "allow this process to (SELinux: execmem; seccomp: memfd_create)");
    }
  }
  for (const ElfSegment& segment : image.segments) {
    if (!segment.executable) continue;
    char* code = reinterpret_cast<char*>(start + segment.address);
    __builtin___clear_cache(code, code + segment.memory_bytes);
  }
  return program;
}

LoadedProgram::LoadedProgram(LoadedProgram&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      size_bytes_(other.size_bytes_),
      calls_(other.calls_) {}

LoadedProgram& LoadedProgram::operator=(LoadedProgram&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(calls_, other.calls_);
  return *this;
}

LoadedProgram::~LoadedProgram() {
  if (start_ != nullptr) calls_->unmap(start_, size_bytes_);
}

KernelFunction LoadedProgram::function(const ElfFunction& function) const {
  return reinterpret_cast<KernelFunction>(start_ + function.address);
}

}  // namespace camshaft::cpu
