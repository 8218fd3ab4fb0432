// SPDX-License-Identifier: MIT
// Durations of runs, all kept, so that every percentile is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/io/json.h"

namespace camshaft::command {

class Samples {
 public:
  // Makes room, and touches it, so that add() takes no page fault for this many.
  void reserve(size_t count);
  void add(int64_t duration_ns) { values_ns_.push_back(duration_ns); }
  size_t count() const { return values_ns_.size(); }

  // To be called once after the last add(), before those below, which need at least one sample.
  void sort();
  double min_s() const;
  double mean_s() const;
  double max_s() const;
  // The smallest sample that at least `percent` of all don't exceed; 0 < percent <= 100.
  double percentile_s(double percent) const;

 private:
  std::vector<int64_t> values_ns_;
};

// "50", "99.9": the name of a percentile is p with this.
std::string percent_name(double percent);

// {"min", "mean", "p50", ..., "max"}, in milliseconds.
io::Json samples_json(const Samples& samples, const std::vector<double>& percents);

}  // namespace camshaft::command
