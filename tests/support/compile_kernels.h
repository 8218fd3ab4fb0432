// SPDX-License-Identifier: MIT
// Kernel binaries for tests that come before the compiler: C text through clang and lld.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace camshaft::test {

// Compiles C functions `void NAME(void* const* params, int64_t begin, int64_t end)` into a shared
// object such as plans hold, for the machine that runs the test. <stdint.h> and <stddef.h> are
// included. `flags` come last. The compiler is $CAMSHAFT_CXX or clang++-19. Throws
// std::runtime_error with its output where it fails. The same text is compiled once a process.
std::vector<std::byte> compile_kernels(const std::string& c_text,
                                       const std::vector<std::string>& flags = {});

}  // namespace camshaft::test
