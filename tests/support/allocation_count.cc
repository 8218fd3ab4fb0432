// SPDX-License-Identifier: MIT
#include "tests/support/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> bytes{0};
std::atomic<uint64_t> count{0};

}  // namespace

namespace camshaft::test {

uint64_t allocated_bytes() { return bytes.load(std::memory_order_relaxed); }
uint64_t allocation_count() { return count.load(std::memory_order_relaxed); }

}  // namespace camshaft::test

#if !__has_feature(thread_sanitizer)  // whose own can't be replaced: nothing is counted under it
// All forms but the aligned ones: sanitizers want those that belong together replaced together.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  bytes.fetch_add(size, std::memory_order_relaxed);
  count.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
void* operator new[](size_t size) { return operator new(size); }

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
#endif
