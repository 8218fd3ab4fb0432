// SPDX-License-Identifier: MIT
#include "msgq/services/rate.h"

#include <algorithm>
#include <cmath>

namespace camshaft::services {
namespace {

constexpr double kWindowS = 10;
constexpr double kMostHz = 10'000;
constexpr size_t kLeastArrivals = 64;

}  // namespace

RateMeter::RateMeter(double most_hz)
    : arrivals_(kLeastArrivals +
                static_cast<size_t>(std::ceil(std::clamp(most_hz, 0.0, kMostHz) * kWindowS))) {}

void RateMeter::add(int64_t now_ns, uint64_t count) noexcept {
  const uint64_t before = count_ == 0 ? 0 : arrival(count_ - 1).total;
  arrivals_[count_ % arrivals_.size()] = {now_ns, before + count};
  ++count_;
}

// What came after the window's first arrival, through the time since then: n messages span n - 1
// periods. Once messages stop coming, the time goes on to `now_ns` and the rate falls.
double RateMeter::rate(Window& window, int64_t window_ns, int64_t now_ns) noexcept {
  if (count_ == 0) return 0;
  const uint64_t oldest = count_ > arrivals_.size() ? count_ - arrivals_.size() : 0;
  window.first = std::max(window.first, oldest);
  while (window.first < count_ && arrival(window.first).time_ns < now_ns - window_ns) {
    ++window.first;
  }
  if (window.first == count_) return 0;
  const Arrival& first = arrival(window.first);
  const Arrival& last = arrival(count_ - 1);
  const uint64_t messages = last.total - first.total;
  if (messages == 0) return 0;
  const double period_s =
      static_cast<double>(last.time_ns - first.time_ns) * 1e-9 / static_cast<double>(messages);
  const double quiet_s = static_cast<double>(now_ns - last.time_ns) * 1e-9;
  // Less than two periods of quiet are between messages; more is missing messages.
  const double span_s =
      period_s * static_cast<double>(messages) + std::max(0.0, quiet_s - 2 * period_s);
  return span_s > 0 ? static_cast<double>(messages) / span_s : 0;
}

}  // namespace camshaft::services
