// SPDX-License-Identifier: MIT
#include "runtime/realtime/histogram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

using camshaft::realtime::LatencyHistogram;

namespace {

int64_t exact_percentile(std::vector<int64_t> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(
      std::max(1.0, std::ceil(percent / 100 * static_cast<double>(values.size()))));
  return values[rank - 1];
}

}  // namespace

TEST_CASE("an empty histogram has nothing to say", "[realtime]") {
  const LatencyHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.min_ns() == 0);
  CHECK(histogram.max_ns() == 0);
  CHECK(histogram.mean_ns() == 0);
  CHECK(histogram.percentile_ns(50) == 0);
}

TEST_CASE("small values are exact", "[realtime]") {
  LatencyHistogram histogram;
  for (int64_t value = 1; value <= 100; ++value) histogram.record(value);
  CHECK(histogram.percentile_ns(0) == 1);
  CHECK(histogram.percentile_ns(1) == 1);
  CHECK(histogram.percentile_ns(50) == 50);
  CHECK(histogram.percentile_ns(99) == 99);
  CHECK(histogram.percentile_ns(99.1) == 100);
  CHECK(histogram.percentile_ns(100) == 100);
  CHECK(histogram.mean_ns() == 50.5);
}

TEST_CASE("percentiles are never too low, and too high by less than 0.8 percent", "[realtime]") {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency(13, 2);  // around 0.4 ms, a long tail
  LatencyHistogram histogram;
  std::vector<int64_t> values;
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(static_cast<int64_t>(latency(random)));
    histogram.record(values.back());
  }
  for (const double percent : {0.0, 0.1, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const int64_t exact = exact_percentile(values, percent);
    const int64_t found = histogram.percentile_ns(percent);
    CHECK(found >= exact);
    CHECK(static_cast<double>(found) <= static_cast<double>(exact) * 1.008 + 1);
  }
  CHECK(histogram.min_ns() == *std::min_element(values.begin(), values.end()));
  CHECK(histogram.max_ns() == *std::max_element(values.begin(), values.end()));
}

TEST_CASE("each value falls into one bucket, without gaps at powers of two", "[realtime]") {
  for (int bit = 0; bit < 42; ++bit) {
    for (const int64_t offset : {-1, 0, 1}) {
      const int64_t value = (int64_t{1} << bit) + offset;
      LatencyHistogram histogram;
      histogram.record(value);
      histogram.record(LatencyHistogram::kMaxNs);  // so that the maximum does not cap the bucket
      const int64_t found = histogram.percentile_ns(50);
      CHECK(found >= value);
      CHECK(found - value <= value / 128);
    }
  }
}

TEST_CASE("extremes are clamped, and counted", "[realtime]") {
  LatencyHistogram histogram;
  histogram.record(-5);
  histogram.record(INT64_MAX);
  CHECK(histogram.count() == 2);
  CHECK(histogram.min_ns() == 0);
  CHECK(histogram.max_ns() == LatencyHistogram::kMaxNs);
  CHECK(histogram.percentile_ns(-10) == 0);
  CHECK(histogram.percentile_ns(1000) == LatencyHistogram::kMaxNs);
}

TEST_CASE("histograms can be merged and reset", "[realtime]") {
  LatencyHistogram a;
  LatencyHistogram b;
  for (int64_t i = 0; i < 10; ++i) a.record(10);
  for (int64_t i = 0; i < 30; ++i) b.record(50);
  a.merge(b);
  a.merge(LatencyHistogram());
  CHECK(a.count() == 40);
  CHECK(a.min_ns() == 10);
  CHECK(a.max_ns() == 50);
  CHECK(a.mean_ns() == 40);
  CHECK(a.percentile_ns(25) == 10);
  CHECK(a.percentile_ns(26) == 50);
  a.reset();
  CHECK(a.count() == 0);
  CHECK(a.percentile_ns(50) == 0);
}
