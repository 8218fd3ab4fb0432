// SPDX-License-Identifier: MIT
#include "runtime/base/clock.h"

#include <ctime>

namespace camshaft::base {

int64_t mono_time_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace camshaft::base
