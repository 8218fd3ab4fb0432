// SPDX-License-Identifier: MIT
// How far one tensor is from another.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/io/json.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

// An element is within tolerance if |actual - expected| <= atol + rtol * |expected|, as in numpy's
// allclose; equal infinities are, and NaN with NaN.
struct Tolerance {
  double atol = 1e-5;
  double rtol = 1e-4;
};

// Of one output, or of several trials of it: add() takes one tensor after another.
class Difference {
 public:
  explicit Difference(Tolerance tolerance) : tolerance_(tolerance) {}

  // Both of `dtype`, dense, `count` elements.
  void add(base::DType dtype, const std::byte* actual, const std::byte* expected, uint64_t count);
  // The reference, or both, in double precision.
  void add(base::DType dtype, const std::byte* actual, std::span<const double> expected);
  void add(std::span<const double> actual, std::span<const double> expected);

  bool is_within() const { return outside_ == 0; }
  uint64_t elements() const { return elements_; }
  uint64_t outside() const { return outside_; }
  // Of `actual`: all that are infinite or NaN, and those of them where `expected` is finite.
  uint64_t not_finite() const { return not_finite_; }
  uint64_t not_finite_alone() const { return not_finite_alone_; }
  // Where a NaN or an infinity has no match, max_abs and both rms are infinite, snr_db is -infinity
  // and the cosine NaN; where it has one, it counts in none of them.
  double max_abs() const { return max_abs_; }
  double max_rel() const { return max_rel_; }  // of expected values that are not 0
  double rms() const;
  double relative_rms() const;  // by expected's
  double cosine() const;        // of the two as vectors; 1 where both are 0
  double snr_db() const;  // signal (expected) to noise (difference); infinity where they are equal
  // The element that uses most of its tolerance, so one that is outside if any is: its place in its
  // tensor and its two values.
  uint64_t worst_index() const { return worst_index_; }
  double worst_actual() const { return worst_actual_; }
  double worst_expected() const { return worst_expected_; }

 private:
  void add_element(uint64_t index, double actual, double expected);
  bool all_match() const { return std::isfinite(max_abs_); }  // what is not finite

  Tolerance tolerance_;
  uint64_t elements_ = 0;
  uint64_t outside_ = 0;
  uint64_t not_finite_ = 0;
  uint64_t not_finite_alone_ = 0;
  double max_abs_ = 0;
  double max_rel_ = 0;
  double squared_error_ = 0;
  double dot_ = 0;
  double actual_squared_ = 0;
  double expected_squared_ = 0;
  double worst_share_ = 0;  // its error by the error that its tolerance allows
  double worst_error_ = 0;
  uint64_t worst_index_ = 0;
  double worst_actual_ = 0;
  double worst_expected_ = 0;
};

struct NamedDifference {
  std::string name;
  Difference difference;
  std::string shapes = {};  // where the two are not of one shape: "3x6, expected 4x6"

  bool is_within() const { return shapes.empty() && difference.is_within(); }
  // Two tensors of one dtype; of one shape, or else that is the difference.
  void add(const io::Tensor& actual, const io::Tensor& expected);
};

bool are_within(const std::vector<NamedDifference>& differences);
std::string differences_text(const std::vector<NamedDifference>& differences);
// {"name", "within", "shapes" (null, or what they are), "elements", "outside",
// "not_finite", "not_finite_alone", "max_abs", "max_rel", "rms", "relative_rms", "cosine",
// "snr_db", "worst":
// {"index", "actual", "expected"}}; numbers that are infinite or NaN become null.
io::Json differences_json(const std::vector<NamedDifference>& differences);

}  // namespace camshaft::command
