// SPDX-License-Identifier: MIT
#include "devices/cpu/host_memory.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <utility>

#include "tests/devices/cpu/memory_calls.h"

using namespace camshaft;
using cpu::HostMemory;
using test::RecordedMemoryCalls;

namespace {

constexpr uint64_t kHugePageBytes = 2 << 20;

uint64_t address_of(const HostMemory& memory) {
  return reinterpret_cast<uint64_t>(memory.data());
}

// Pages of the memory that are in RAM.
size_t resident_pages(const HostMemory& memory, uint64_t size_bytes) {
  std::vector<unsigned char> present((size_bytes + 4095) / 4096);
  if (mincore(memory.data(), size_bytes, present.data()) != 0) return 0;
  size_t count = 0;
  for (const unsigned char page : present) count += page & 1;
  return count;
}

}  // namespace

TEST_CASE("memory is zero, aligned and given back", "[cpu]") {
  RecordedMemoryCalls calls;
  {
    HostMemory memory = std::move(*HostMemory::allocate(10000, {}, calls));
    CHECK(address_of(memory) % 4096 == 0);
    for (int i = 0; i < 10000; ++i) REQUIRE(memory.data()[i] == std::byte{0});
    std::memset(memory.data(), 1, 10000);
    const HostMemory moved = std::move(memory);
    CHECK(moved.data()[9999] == std::byte{1});
    CHECK(calls.mapped.size() == 1);
  }
  CHECK(calls.mapped.empty());
}

TEST_CASE("prefaulted memory is there at once", "[cpu]") {
  RecordedMemoryCalls calls;
  constexpr uint64_t kBytes = 100 * 4096;
  const HostMemory now = std::move(*HostMemory::allocate(kBytes, {.prefault = true}, calls));
  CHECK(resident_pages(now, kBytes) == 100);
  const HostMemory later = std::move(*HostMemory::allocate(kBytes, {.prefault = false}, calls));
  CHECK(resident_pages(later, kBytes) == 0);
}

TEST_CASE("huge pages are asked for where they fit", "[cpu]") {
  RecordedMemoryCalls calls;
  const cpu::MemoryPolicy policy = {.huge_pages = true, .prefault = true};
  const HostMemory small = std::move(*HostMemory::allocate(kHugePageBytes / 2 - 1, policy, calls));
  CHECK(calls.advices.empty());
  const uint64_t size_bytes = kHugePageBytes + 1;
  const HostMemory large = std::move(*HostMemory::allocate(size_bytes, policy, calls));
  CHECK(calls.advices == std::vector<int>{MADV_HUGEPAGE});
  CHECK(address_of(large) % kHugePageBytes == 0);
  CHECK(resident_pages(large, size_bytes) == size_bytes / 4096 + 1);
  std::memset(large.data(), 1, size_bytes);
}

TEST_CASE("memory that is not there is reported", "[cpu]") {
  RecordedMemoryCalls calls;
  CHECK(HostMemory::allocate(uint64_t{1} << 60, {}, calls).error().code() ==
        base::Code::kOutOfMemory);
  CHECK(HostMemory::allocate(UINT64_MAX, {}, calls).error().code() == base::Code::kOutOfMemory);
  CHECK(HostMemory::allocate(UINT64_MAX, {.huge_pages = true}, calls).error().code() ==
        base::Code::kOutOfMemory);
  calls.failing["map_new"] = true;
  CHECK(HostMemory::allocate(64, {}, calls).error().code() == base::Code::kOutOfMemory);
}
