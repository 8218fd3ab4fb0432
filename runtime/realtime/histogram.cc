// SPDX-License-Identifier: MIT
#include "runtime/realtime/histogram.h"

#include <algorithm>
#include <cmath>

namespace camshaft::realtime {

void LatencyHistogram::record(int64_t value_ns) noexcept {
  const int64_t value = std::clamp<int64_t>(value_ns, 0, kMaxNs);
  ++counts_[bucket_of(static_cast<uint64_t>(value))];
  ++count_;
  min_ns_ = std::min(min_ns_, value);
  max_ns_ = std::max(max_ns_, value);
  sum_ns_ += static_cast<double>(value);
}

double LatencyHistogram::mean_ns() const {
  return count_ == 0 ? 0 : sum_ns_ / static_cast<double>(count_);
}

int64_t LatencyHistogram::last_value_of(size_t bucket) {
  if (bucket < kLinear) return static_cast<int64_t>(bucket);
  const size_t shift = bucket / kLinear - 1;
  const uint64_t first = (kLinear + bucket % kLinear) << shift;
  return static_cast<int64_t>(first + (uint64_t{1} << shift) - 1);
}

int64_t LatencyHistogram::percentile_ns(double percent) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(percent, 0.0, 100.0) / 100;
  const double rank = std::ceil(share * static_cast<double>(count_));
  const uint64_t wanted = std::clamp<uint64_t>(static_cast<uint64_t>(rank), 1, count_);
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) return std::clamp(last_value_of(bucket), min_ns_, max_ns_);
  }
  return max_ns_;
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) counts_[bucket] += other.counts_[bucket];
  count_ += other.count_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  sum_ns_ += other.sum_ns_;
}

}  // namespace camshaft::realtime
