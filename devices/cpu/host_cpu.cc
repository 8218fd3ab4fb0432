// SPDX-License-Identifier: MIT
#include "devices/cpu/host_cpu.h"

#include <sched.h>

#include <algorithm>
#include <array>

#include "devices/cpu/host_features.h"

namespace camshaft::cpu {
namespace {

struct Storage {
  std::array<const char*, kMaxHostFeatures> names = {};
  HostCpu cpu;

  Storage() {
    const size_t count = list_host_features(names);
    std::sort(names.begin(), names.begin() + count,
              [](const char* a, const char* b) { return std::string_view(a) < b; });
    cpu.features = std::span(names).first(count);
    cpu.arch = kHostArch;
    describe_host_cpu(cpu.name);
  }
};

}  // namespace

const HostCpu& host_cpu() {
  static const Storage storage;
  return storage.cpu;
}

bool cpu_has_feature(std::string_view name) {
  const std::span<const char* const> features = host_cpu().features;
  return std::binary_search(features.begin(), features.end(), name,
                            [](std::string_view a, std::string_view b) { return a < b; });
}

uint32_t usable_cpu_count() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace camshaft::cpu
