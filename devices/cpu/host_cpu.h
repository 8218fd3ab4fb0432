// SPDX-License-Identifier: MIT
// What the processor that runs this code is and can do.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace camshaft::cpu {

struct HostCpu {
  char name[96] = "";
  const char* arch = "";  // "x86_64", "aarch64"
  // Instruction-set features by LLVM's names, sorted; only those that the operating system lets
  // programs use (AVX registers that it does not save are left out). Static storage.
  std::span<const char* const> features;
};

// Asks the processor once (CPUID, or the kernel's hardware capabilities); needs no /proc. Any
// thread.
const HostCpu& host_cpu();

// Whether this processor has a feature, such as "avx2", "fma", "avx512bf16", "dotprod". False for
// names that we don't know: a plan that needs one is refused.
bool cpu_has_feature(std::string_view name);

// CPUs that this process may run on; at least 1.
uint32_t usable_cpu_count();

}  // namespace camshaft::cpu
