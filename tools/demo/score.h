// SPDX-License-Identifier: MIT
// How far estimates are from the truth, over a drive.
#pragma once

#include "models/roadnet/truth.h"

namespace camshaft::demo {

// A mean of what was added.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ == 0 ? 0 : sum_ / count_; }
  int count() const { return count_; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

// Lines count where they are painted, the lead where there is one between 5 and 80 m; an estimate
// is "yes" from 0.5 on.
struct Score {
  Mean line_error_30_m;  // metres, both lines, up to 30 m
  Mean line_error_60_m;
  Mean path_error_30_m;
  Mean lead_error;   // relative
  Mean lines_right;  // share of right answers: is the line painted?
  Mean lead_right;   // is there a lead?

  void add(const roadnet::Truth& truth, const roadnet::Truth& estimate);
};

// Mean error of both lines up to 30 m of one frame, metres.
double line_error_of(const roadnet::Truth& truth, const roadnet::Truth& estimate);

}  // namespace camshaft::demo
