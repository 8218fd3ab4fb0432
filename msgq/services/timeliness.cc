// SPDX-License-Identifier: MIT
#include "msgq/services/timeliness.h"

#include <algorithm>

namespace camshaft::services {
namespace {

constexpr double kOnDemandHz = 100;  // for which the rate of a service without one is measured
constexpr int64_t kLongWindowNs = 10'000'000'000;

}  // namespace

Timeliness::Timeliness(double rate_hz, const Tolerance& tolerance, int64_t now_ns)
    : period_ns_(rate_hz > 0 ? static_cast<int64_t>(1e9 / rate_hz) : 0),
      rate_hz_(rate_hz),
      tolerance_(tolerance),
      opened_ns_(now_ns),
      rate_(2 * (rate_hz > 0 ? rate_hz : kOnDemandHz)),
      alive_(period_ns_ == 0) {}

// After the last message, or after the service was first waited for; `periods` until the next one.
Lateness Timeliness::lateness_at(int64_t now_ns, uint64_t periods) const noexcept {
  if (period_ns_ == 0) return {};
  const int64_t from_ns = last_ns_ != 0 ? last_ns_ : opened_ns_;
  const double grace = (tolerance_.late_after - 1) * static_cast<double>(period_ns_);
  const int64_t due_ns = from_ns + static_cast<int64_t>(periods) * period_ns_;
  if (static_cast<double>(now_ns - due_ns) <= grace) return {};
  return {.since_ns = due_ns, .by_ns = now_ns - due_ns};
}

void Timeliness::add(int64_t sent_ns, uint64_t count) noexcept {
  sent_ns = std::max(sent_ns, last_ns_);  // two senders' clocks, or a writer that lies
  const uint64_t messages = std::max<uint64_t>(count, 1);
  if (const Lateness over = lateness_at(sent_ns, messages)) {
    last_late_ = over;
    ++times_late_;
  }
  late_ = {};
  last_ns_ = sent_ns;
  rate_.add(sent_ns, messages);
}

void Timeliness::look(int64_t now_ns) noexcept {
  rate_1s_ = rate_.over_1s(now_ns);
  rate_10s_ = rate_.over_10s(now_ns);
  late_ = lateness_at(now_ns, 1);
  if (period_ns_ == 0) return;
  const int64_t age_ns = now_ns - last_ns_;
  alive_ = seen() &&
           static_cast<double>(age_ns) < tolerance_.dead_after * static_cast<double>(period_ns_);
  // Before there is a window's worth of messages, no rate is wrong.
  const bool is_young = now_ns - opened_ns_ < kLongWindowNs;
  rate_ok_ = is_young || (rate_10s_ >= tolerance_.least_rate * rate_hz_ &&
                          rate_10s_ <= tolerance_.most_rate * rate_hz_);
}

}  // namespace camshaft::services
