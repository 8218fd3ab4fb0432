// SPDX-License-Identifier: MIT
// Floating-point mode of kernels: round to nearest, no traps, denormals flushed to zero as inputs
// and as results. Denormals would slow single operations down by two orders of magnitude.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace camshaft::cpu {

// Sets the mode of the calling thread and restores the previous one. Hot path.
class KernelFloatMode {
 public:
  KernelFloatMode() noexcept : saved_(read()) { write(kKernelMode); }
  ~KernelFloatMode() { write(saved_); }
  KernelFloatMode(const KernelFloatMode&) = delete;
  KernelFloatMode& operator=(const KernelFloatMode&) = delete;

 private:
#if defined(__x86_64__)
  // MXCSR: flush to zero, all exceptions masked, denormals are zeros.
  static constexpr uint64_t kKernelMode = 0x8000 | 0x1f80 | 0x0040;
  static uint64_t read() noexcept { return _mm_getcsr(); }
  static void write(uint64_t mode) noexcept { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  // FPCR: flush to zero. Half precision keeps its denormals (FZ16 stays 0): its range needs them.
  static constexpr uint64_t kKernelMode = uint64_t{1} << 24;
  static uint64_t read() noexcept {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void write(uint64_t mode) noexcept { __asm__ volatile("msr fpcr, %0" ::"r"(mode)); }
#else
#error "The CPU backend has no floating-point mode for this architecture: add it here."
#endif

  uint64_t saved_;
};

}  // namespace camshaft::cpu
