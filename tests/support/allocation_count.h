// SPDX-License-Identifier: MIT
// Counts what a test binary asks of operator new. Including this header brings in a replacement for
// the global operator.
#pragma once

#include <cstdint>

namespace camshaft::test {

// Since the process began, in all threads.
uint64_t allocated_bytes();
uint64_t allocation_count();

}  // namespace camshaft::test
