// SPDX-License-Identifier: MIT
// Latencies in fixed memory: log-linear buckets, so that a robot can record every frame for months
// and still ask for the 99.9th percentile.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace camshaft::realtime {

// Buckets are at most 1/128 of their value wide, so a percentile is too high by less than 0.8 %;
// the extremes and the mean are exact. 36 KiB, no heap. One thread at a time.
class LatencyHistogram {
 public:
  static constexpr int64_t kMaxNs = (int64_t{1} << 42) - 1;  // 73 minutes; more counts as this

  // Negative values count as 0. hot path.
  void record(int64_t value_ns) noexcept;

  uint64_t count() const { return count_; }
  int64_t min_ns() const { return count_ == 0 ? 0 : min_ns_; }
  int64_t max_ns() const { return max_ns_; }
  double mean_ns() const;
  // The smallest recorded value, rounded up to its bucket's end, that at least `percent` of all
  // values don't exceed; `percent` from 0 to 100. 0 where nothing was recorded.
  int64_t percentile_ns(double percent) const;

  // Adds what another one has recorded.
  void merge(const LatencyHistogram& other);
  void reset() { *this = LatencyHistogram(); }

 private:
  // Values below 2^kLinearBits have a bucket each; each power of two above has 2^kLinearBits
  // buckets.
  static constexpr int kLinearBits = 7;
  static constexpr int kValueBits = 42;
  static constexpr uint64_t kLinear = uint64_t{1} << kLinearBits;
  static constexpr size_t kBuckets = (kValueBits - kLinearBits + 1) * kLinear;

  static size_t bucket_of(uint64_t value) noexcept {
    if (value < kLinear) return value;
    const int shift = std::bit_width(value) - 1 - kLinearBits;  // keeps the leading 1 and 7 bits
    return (static_cast<size_t>(shift) + 1) * kLinear + ((value >> shift) - kLinear);
  }
  static int64_t last_value_of(size_t bucket);

  std::array<uint64_t, kBuckets> counts_ = {};
  uint64_t count_ = 0;
  int64_t min_ns_ = INT64_MAX;
  int64_t max_ns_ = 0;
  double sum_ns_ = 0;
};

}  // namespace camshaft::realtime
