// SPDX-License-Identifier: MIT
// Counts heap allocations of the whole process: malloc and its relatives, and so operator new. A
// test binary gets the counting versions by including this header.
#pragma once

#include <cstdint>

namespace camshaft::test {

// Allocations (and reallocations) since the program began, in all threads.
uint64_t malloc_count();
// The same, by the calling thread alone.
uint64_t thread_malloc_count();

}  // namespace camshaft::test
