// SPDX-License-Identifier: MIT
#include "tests/support/heap/malloc_count.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAMSHAFT_SANITIZED_HEAP 1
#endif
#endif

namespace {

std::atomic<uint64_t> count = 0;
// In the program's own block of thread memory: nothing is allocated to reach it.
constinit thread_local uint64_t thread_count = 0;

void add_one() {
  ++count;
  ++thread_count;
}

}  // namespace

#ifdef CAMSHAFT_SANITIZED_HEAP

// The sanitizers have a heap of their own, with hooks.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));

namespace camshaft::test {

namespace {

void install_hooks() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, size_t) { add_one(); }, [](const volatile void*) {});
  (void)installed;
}

}  // namespace

uint64_t malloc_count() {
  install_hooks();
  return count;
}

uint64_t thread_malloc_count() {
  install_hooks();
  return thread_count;
}

}  // namespace camshaft::test

#else

// The C library's own functions, behind the names that programs may replace.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t number, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);

void* malloc(size_t size) {
  add_one();
  return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) {
  add_one();
  return __libc_calloc(number, size);
}
void* realloc(void* memory, size_t size) {
  add_one();
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  add_one();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  __libc_free(memory);
}
}

namespace camshaft::test {

uint64_t malloc_count() {
  return count;
}

uint64_t thread_malloc_count() {
  return thread_count;
}

}  // namespace camshaft::test

#endif
