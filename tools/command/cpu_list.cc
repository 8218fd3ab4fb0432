// SPDX-License-Identifier: MIT
#include "tools/command/cpu_list.h"

#include <algorithm>
#include <charconv>

#include "tools/command/text.h"

namespace camshaft::command {
namespace {

constexpr uint32_t kMaxCpu = 4095;

bool parse_number(const std::string& text, uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= kMaxCpu;
}

// "4" or "4-7".
bool add_range(const std::string& text, std::vector<uint32_t>& cpus) {
  const size_t dash = text.find('-');
  uint32_t first = 0;
  uint32_t last = 0;
  if (!parse_number(text.substr(0, dash), first)) return false;
  last = first;
  if (dash != std::string::npos && !parse_number(text.substr(dash + 1), last)) return false;
  for (uint32_t cpu = first; cpu <= last; ++cpu) {
    if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) return false;
    cpus.push_back(cpu);
  }
  return first <= last;
}

}  // namespace

base::Result<std::vector<uint32_t>> parse_cpu_list(const std::string& text) {
  std::vector<uint32_t> cpus;
  for (const std::string& part : split(text, ',')) {
    if (!add_range(part, cpus)) {
      return base::fail(base::Code::kInvalidArgument, "bench.cpus",
                        "'%.80s' is no list of CPUs; write it like 2 or 4-7 or 0,2,4",
                        text.c_str());
    }
  }
  return cpus;
}

}  // namespace camshaft::command
