// SPDX-License-Identifier: MIT
// How often messages come, over the last second and the last ten.
#pragma once

#include <cstdint>
#include <vector>

namespace camshaft::services {

class RateMeter {
 public:
  // Room for `most_hz`; at higher rates the windows get shorter. Load time.
  explicit RateMeter(double most_hz);

  // `count` messages up to `now_ns`, which never goes back. hot path.
  void add(int64_t now_ns, uint64_t count) noexcept;

  // Messages a second in the window that ends at `now_ns`, or since the first message where that is
  // less ago; 0 before the second. hot path.
  double over_1s(int64_t now_ns) noexcept { return rate(last_1s_, 1'000'000'000, now_ns); }
  double over_10s(int64_t now_ns) noexcept { return rate(last_10s_, 10'000'000'000, now_ns); }

 private:
  struct Arrival {
    int64_t time_ns = 0;
    uint64_t total = 0;  // of messages, with this one
  };
  // The first arrival in a window, by its number since the beginning.
  struct Window {
    uint64_t first = 0;
  };
  const Arrival& arrival(uint64_t number) const { return arrivals_[number % arrivals_.size()]; }
  double rate(Window& window, int64_t window_ns, int64_t now_ns) noexcept;

  std::vector<Arrival> arrivals_;  // a ring
  uint64_t count_ = 0;             // of arrivals
  Window last_1s_;
  Window last_10s_;
};

}  // namespace camshaft::services
