// SPDX-License-Identifier: MIT
#include "devices/cpu/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace camshaft::cpu {
namespace {

constexpr uint64_t kHugePageBytes = 2 << 20;
// One page fault less for every 4 KiB is worth more than clearing the rest of a huge page.
constexpr uint64_t kSmallestHugeBytes = kHugePageBytes / 2;

// One write a page; the memory is zero already.
void touch_pages(std::byte* data, uint64_t size_bytes) {
  volatile std::byte* bytes = data;
  for (uint64_t at = 0; at < size_bytes; at += hwio::page_size_bytes()) bytes[at] = std::byte{0};
}

}  // namespace

base::Result<HostMemory> HostMemory::allocate(uint64_t size_bytes, const MemoryPolicy& policy,
                                              hwio::MemoryCalls& calls) {
  const bool huge = policy.huge_pages && size_bytes >= kSmallestHugeBytes;
  const uint64_t alignment = huge ? kHugePageBytes : hwio::page_size_bytes();
  const auto rounded = base::checked_align_up(size_bytes, alignment);
  const auto wanted = rounded ? base::checked_add(*rounded, huge ? alignment : 0) : std::nullopt;
  // Huge pages must be asked for before the pages are there.
  const int populate = policy.prefault && !huge ? MAP_POPULATE : 0;
  void* mapped = nullptr;
  const int failed = !wanted ? -ENOMEM
                             : calls.map(nullptr, *wanted, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0, &mapped);
  if (failed != 0) {
    return base::fail_errno(base::Code::kOutOfMemory, "cpu.allocate", -failed,
                            "no memory for a buffer of %llu bytes",
                            static_cast<unsigned long long>(size_bytes));
  }
  HostMemory memory;
  memory.calls_ = &calls;
  memory.mapped_ = static_cast<std::byte*>(mapped);
  memory.mapped_bytes_ = *wanted;
  const uint64_t start = reinterpret_cast<uint64_t>(mapped);
  memory.data_ = memory.mapped_ + (base::align_up(start, alignment) - start);
  if (huge) calls.advise(memory.data_, *rounded, MADV_HUGEPAGE);
  if (huge && policy.prefault) touch_pages(memory.data_, *rounded);
  return memory;
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      calls_(other.calls_) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(calls_, other.calls_);
  return *this;
}

HostMemory::~HostMemory() {
  if (mapped_ != nullptr) calls_->unmap(mapped_, mapped_bytes_);
}

}  // namespace camshaft::cpu
