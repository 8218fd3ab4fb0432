// SPDX-License-Identifier: MIT
// x86: CPUID (Intel SDM volume 2, "CPUID"; AMD APM volume 3, appendix E), and XGETBV for the
// register state that the operating system saves.
#if defined(__x86_64__)

#include <cpuid.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "devices/cpu/host_features.h"

namespace camshaft::cpu {
namespace {

enum Register : uint8_t { kEax, kEbx, kEcx, kEdx };

// Register state that a feature needs the operating system to save.
enum State : uint8_t { kNone, kAvx, kAvx512, kAmx };

struct Row {
  const char* name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint8_t bit;
  State state = kNone;
};

constexpr uint32_t kExtended = 0x80000001;
constexpr uint32_t kSizes = 0x80000008;

constexpr Row kRows[] = {
    {"x87", 1, 0, kEdx, 0},
    {"cx8", 1, 0, kEdx, 8},
    {"cmov", 1, 0, kEdx, 15},
    {"mmx", 1, 0, kEdx, 23},
    {"fxsr", 1, 0, kEdx, 24},
    {"sse", 1, 0, kEdx, 25},
    {"sse2", 1, 0, kEdx, 26},
    {"sse3", 1, 0, kEcx, 0},
    {"pclmul", 1, 0, kEcx, 1},
    {"ssse3", 1, 0, kEcx, 9},
    {"fma", 1, 0, kEcx, 12, kAvx},
    {"cx16", 1, 0, kEcx, 13},
    {"sse4.1", 1, 0, kEcx, 19},
    {"sse4.2", 1, 0, kEcx, 20},
    {"crc32", 1, 0, kEcx, 20},
    {"movbe", 1, 0, kEcx, 22},
    {"popcnt", 1, 0, kEcx, 23},
    {"aes", 1, 0, kEcx, 25},
    {"xsave", 1, 0, kEcx, 27},
    {"avx", 1, 0, kEcx, 28, kAvx},
    {"f16c", 1, 0, kEcx, 29, kAvx},
    {"rdrnd", 1, 0, kEcx, 30},
    {"fsgsbase", 7, 0, kEbx, 0},
    {"sgx", 7, 0, kEbx, 2},
    {"bmi", 7, 0, kEbx, 3},
    {"avx2", 7, 0, kEbx, 5, kAvx},
    {"bmi2", 7, 0, kEbx, 8},
    {"invpcid", 7, 0, kEbx, 10},
    {"rtm", 7, 0, kEbx, 11},
    {"avx512f", 7, 0, kEbx, 16, kAvx512},
    {"evex512", 7, 0, kEbx, 16, kAvx512},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512},
    {"rdseed", 7, 0, kEbx, 18},
    {"adx", 7, 0, kEbx, 19},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512},
    {"clflushopt", 7, 0, kEbx, 23},
    {"clwb", 7, 0, kEbx, 24},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512},
    {"sha", 7, 0, kEbx, 29},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512},
    {"pku", 7, 0, kEcx, 4},
    {"waitpkg", 7, 0, kEcx, 5},
    {"avx512vbmi2", 7, 0, kEcx, 6, kAvx512},
    {"shstk", 7, 0, kEcx, 7},
    {"gfni", 7, 0, kEcx, 8},
    {"vaes", 7, 0, kEcx, 9, kAvx},
    {"vpclmulqdq", 7, 0, kEcx, 10, kAvx},
    {"avx512vnni", 7, 0, kEcx, 11, kAvx512},
    {"avx512bitalg", 7, 0, kEcx, 12, kAvx512},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kAvx512},
    {"rdpid", 7, 0, kEcx, 22},
    {"kl", 7, 0, kEcx, 23},
    {"cldemote", 7, 0, kEcx, 25},
    {"movdiri", 7, 0, kEcx, 27},
    {"movdir64b", 7, 0, kEcx, 28},
    {"enqcmd", 7, 0, kEcx, 29},
    {"uintr", 7, 0, kEdx, 5},
    {"avx512vp2intersect", 7, 0, kEdx, 8, kAvx512},
    {"serialize", 7, 0, kEdx, 14},
    {"tsxldtrk", 7, 0, kEdx, 16},
    {"pconfig", 7, 0, kEdx, 18},
    {"amx-bf16", 7, 0, kEdx, 22, kAmx},
    {"avx512fp16", 7, 0, kEdx, 23, kAvx512},
    {"amx-tile", 7, 0, kEdx, 24, kAmx},
    {"amx-int8", 7, 0, kEdx, 25, kAmx},
    {"sha512", 7, 1, kEax, 0, kAvx},
    {"sm3", 7, 1, kEax, 1, kAvx},
    {"sm4", 7, 1, kEax, 2, kAvx},
    {"raoint", 7, 1, kEax, 3},
    {"avxvnni", 7, 1, kEax, 4, kAvx},
    {"avx512bf16", 7, 1, kEax, 5, kAvx512},
    {"cmpccxadd", 7, 1, kEax, 7},
    {"amx-fp16", 7, 1, kEax, 21, kAmx},
    {"hreset", 7, 1, kEax, 22},
    {"avxifma", 7, 1, kEax, 23, kAvx},
    {"avxvnniint8", 7, 1, kEdx, 4, kAvx},
    {"avxneconvert", 7, 1, kEdx, 5, kAvx},
    {"amx-complex", 7, 1, kEdx, 8, kAmx},
    {"avxvnniint16", 7, 1, kEdx, 10, kAvx},
    {"prefetchi", 7, 1, kEdx, 14},
    {"usermsr", 7, 1, kEdx, 15},
    {"xsaveopt", 13, 1, kEax, 0},
    {"xsavec", 13, 1, kEax, 1},
    {"xsaves", 13, 1, kEax, 3},
    {"ptwrite", 20, 0, kEbx, 4},
    {"widekl", 25, 0, kEbx, 2},
    {"sahf", kExtended, 0, kEcx, 0},
    {"lzcnt", kExtended, 0, kEcx, 5},
    {"sse4a", kExtended, 0, kEcx, 6},
    {"prfchw", kExtended, 0, kEcx, 8},
    {"xop", kExtended, 0, kEcx, 11, kAvx},
    {"lwp", kExtended, 0, kEcx, 15},
    {"fma4", kExtended, 0, kEcx, 16, kAvx},
    {"tbm", kExtended, 0, kEcx, 21},
    {"mwaitx", kExtended, 0, kEcx, 29},
    {"64bit", kExtended, 0, kEdx, 29},
    {"clzero", kSizes, 0, kEbx, 0},
    {"rdpru", kSizes, 0, kEbx, 4},
    {"wbnoinvd", kSizes, 0, kEbx, 9},
};
static_assert(std::size(kRows) <= kMaxHostFeatures);

// XCR0: which register state the operating system saves; 0 where it saves none by XSAVE.
uint64_t saved_state() {
  uint32_t registers[4] = {};
  __get_cpuid(1, &registers[kEax], &registers[kEbx], &registers[kEcx], &registers[kEdx]);
  if ((registers[kEcx] >> 27 & 1) == 0) return 0;  // no XGETBV
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool is_saved(State state, uint64_t xcr0) {
  constexpr uint64_t kMasks[] = {0, 0x6, 0xe6, 0x60000};
  return (xcr0 & kMasks[state]) == kMasks[state];
}

}  // namespace

const char* const kHostArch = "x86_64";

size_t list_host_features(std::span<const char*, kMaxHostFeatures> names) {
  const uint64_t xcr0 = saved_state();
  size_t count = 0;
  const Row* asked = nullptr;
  uint32_t registers[4] = {};
  for (const Row& row : kRows) {
    // In a virtual machine every CPUID traps to the host, so rows of one leaf share it.
    if (asked == nullptr || asked->leaf != row.leaf || asked->subleaf != row.subleaf) {
      asked = &row;
      std::memset(registers, 0, sizeof registers);  // stay 0 where the processor has no such leaf
      __get_cpuid_count(row.leaf, row.subleaf, &registers[kEax], &registers[kEbx],
                        &registers[kEcx], &registers[kEdx]);
    }
    if ((registers[row.reg] >> row.bit & 1) != 0 && is_saved(row.state, xcr0)) {
      names[count++] = row.name;
    }
  }
  return count;
}

void describe_host_cpu(std::span<char, 96> name) {
  uint32_t words[3][4] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    __get_cpuid(0x80000002 + i, &words[i][kEax], &words[i][kEbx], &words[i][kEcx], &words[i][kEdx]);
  }
  char brand[sizeof words + 1] = {};
  std::memcpy(brand, words, sizeof words);
  const char* start = brand + std::strspn(brand, " ");
  std::snprintf(name.data(), name.size(), "%s", *start == 0 ? "x86-64 CPU" : start);
  for (size_t end = std::strlen(name.data()); end > 0 && name[end - 1] == ' '; --end) {
    name[end - 1] = 0;
  }
}

}  // namespace camshaft::cpu

#endif
