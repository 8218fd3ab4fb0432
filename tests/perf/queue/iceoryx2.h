// SPDX-License-Identifier: MIT
// iceoryx2, through its Python package: iceoryx2_bench.py measures it as queue_bench measures the
// channels of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/perf/queue/channel.h"

namespace camshaft::perf {

class Iceoryx2 {
 public:
  // `python` has the package; the program runs in the repository's root.
  explicit Iceoryx2(std::string python) : python_(std::move(python)) {}

  // Why it can't be measured here; empty where it can.
  std::string problem() const;
  // Latencies in nanoseconds of all receivers.
  std::vector<int64_t> run(const Setup& setup, uint64_t messages, int64_t pause_us) const;

 private:
  std::string python_;
};

}  // namespace camshaft::perf
