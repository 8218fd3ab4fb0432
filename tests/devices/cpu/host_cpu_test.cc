// SPDX-License-Identifier: MIT
#include "devices/cpu/host_cpu.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

using namespace camshaft;

TEST_CASE("the processor is described", "[cpu]") {
  const cpu::HostCpu& host = cpu::host_cpu();
  CHECK(std::string(host.name) != "");
  CHECK(cpu::usable_cpu_count() >= 1);
#if defined(__x86_64__)
  CHECK(std::string(host.arch) == "x86_64");
#elif defined(__aarch64__)
  CHECK(std::string(host.arch) == "aarch64");
#endif
}

TEST_CASE("features are sorted and unique", "[cpu]") {
  std::vector<std::string> names;
  for (const char* name : cpu::host_cpu().features) names.push_back(name);
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  for (const std::string& name : names) CHECK(cpu::cpu_has_feature(name));
}

TEST_CASE("unknown features are absent", "[cpu]") {
  for (const char* name : {"", "avx9000", "AVX2", "+fma", "fma ", "zz"}) {
    CHECK_FALSE(cpu::cpu_has_feature(name));
  }
}

// The compiler's run-time library asks the processor on its own.
#if defined(__x86_64__)
#define CHECK_AGREES(feature) \
  CHECK(cpu::cpu_has_feature(feature) == (__builtin_cpu_supports(feature) != 0))

TEST_CASE("features agree with the compiler's view", "[cpu]") {
  CHECK(cpu::cpu_has_feature("sse2"));
  CHECK(cpu::cpu_has_feature("64bit"));
  CHECK_AGREES("sse4.2");
  CHECK_AGREES("popcnt");
  CHECK_AGREES("avx");
  CHECK_AGREES("avx2");
  CHECK_AGREES("fma");
  CHECK_AGREES("bmi2");
  CHECK_AGREES("sse4a");
  CHECK_AGREES("avx512f");
  CHECK_AGREES("avx512vl");
  CHECK_AGREES("avx512bw");
  CHECK_AGREES("avx512vnni");
  CHECK_AGREES("avx512bf16");
  CHECK_AGREES("gfni");
  CHECK_AGREES("vpclmulqdq");
}
#endif
