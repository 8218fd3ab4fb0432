// SPDX-License-Identifier: MIT
// AArch64: the hardware capabilities that Linux passes to each process (its documentation,
// arch/arm64/elf_hwcaps), which a program in an empty root has too.
#if defined(__aarch64__)

#include <sys/auxv.h>

#include <cstdint>
#include <cstdio>

#include "devices/cpu/host_features.h"

namespace camshaft::cpu {
namespace {

struct Row {
  const char* name;
  unsigned long word;  // AT_HWCAP or AT_HWCAP2
  uint8_t bit;
};

constexpr Row kRows[] = {
    {"fp-armv8", AT_HWCAP, 0},   {"neon", AT_HWCAP, 1},     {"aes", AT_HWCAP, 3},
    {"sha2", AT_HWCAP, 6},       {"crc", AT_HWCAP, 7},      {"lse", AT_HWCAP, 8},
    {"fullfp16", AT_HWCAP, 10},  {"rdm", AT_HWCAP, 12},     {"jsconv", AT_HWCAP, 13},
    {"complxnum", AT_HWCAP, 14}, {"rcpc", AT_HWCAP, 15},    {"sha3", AT_HWCAP, 17},
    {"sm4", AT_HWCAP, 19},       {"dotprod", AT_HWCAP, 20}, {"sve", AT_HWCAP, 22},
    {"fp16fml", AT_HWCAP, 23},   {"sve2", AT_HWCAP2, 1},    {"i8mm", AT_HWCAP2, 13},
    {"bf16", AT_HWCAP2, 14},
};
static_assert(std::size(kRows) <= kMaxHostFeatures);

constexpr uint8_t kIdRegistersBit = 11;  // of AT_HWCAP: the kernel emulates reads of MIDR_EL1

}  // namespace

const char* const kHostArch = "aarch64";

size_t list_host_features(std::span<const char*, kMaxHostFeatures> names) {
  size_t count = 0;
  for (const Row& row : kRows) {
    if ((getauxval(row.word) >> row.bit & 1) != 0) names[count++] = row.name;
  }
  return count;
}

void describe_host_cpu(std::span<char, 96> name) {
  uint64_t midr = 0;
  if ((getauxval(AT_HWCAP) >> kIdRegistersBit & 1) != 0) __asm__("mrs %0, midr_el1" : "=r"(midr));
  std::snprintf(name.data(), name.size(), "AArch64 CPU, implementer 0x%02x, part 0x%03x",
                static_cast<unsigned>(midr >> 24 & 0xff), static_cast<unsigned>(midr >> 4 & 0xfff));
}

}  // namespace camshaft::cpu

#endif
