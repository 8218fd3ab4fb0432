// SPDX-License-Identifier: MIT
#include "tests/perf/queue/iceoryx2.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace camshaft::perf {
namespace {

constexpr const char* kScript = "tests/perf/queue/iceoryx2_bench.py";

}  // namespace

std::string Iceoryx2::problem() const {
  if (::access(kScript, R_OK) != 0) {
    return std::string("run it in the repository's root, where there is ") + kScript;
  }
  const std::string command = "'" + python_ + "' -c 'import iceoryx2' 2> /dev/null";
  if (std::system(command.c_str()) == 0) return "";
  return python_ + " has no package iceoryx2: tools/setup.sh --peers installs it in build/peers";
}

std::vector<int64_t> Iceoryx2::run(const Setup& setup, uint64_t messages, int64_t pause_us) const {
  const std::string command = "'" + python_ + "' " + kScript + " --raw --rounds 1 --sizes " +
                              std::to_string(setup.size_bytes) + " --receivers " +
                              std::to_string(setup.receivers) + " --messages " +
                              std::to_string(messages) + " --pause-us " + std::to_string(pause_us);
  FILE* const output = ::popen(command.c_str(), "r");
  require(output != nullptr, "start iceoryx2");
  std::vector<int64_t> latencies;
  int64_t ns = 0;
  while (std::fscanf(output, "%" SCNd64, &ns) == 1) latencies.push_back(ns);
  require(::pclose(output) == 0, "iceoryx2");
  return latencies;
}

}  // namespace camshaft::perf
