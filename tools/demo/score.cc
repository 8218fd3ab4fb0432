// SPDX-License-Identifier: MIT
#include "tools/demo/score.h"

#include <cmath>

namespace camshaft::demo {
namespace {

constexpr float kNear_m = 30;
constexpr float kYes = 0.5f;

void add_line(Score& score, const std::array<float, roadnet::kPoints>& truth,
              const std::array<float, roadnet::kPoints>& estimate) {
  for (size_t i = 0; i < truth.size(); ++i) {
    const double error = std::abs(static_cast<double>(truth[i]) - static_cast<double>(estimate[i]));
    score.line_error_60_m.add(error);
    if (roadnet::kDistances_m[i] <= kNear_m) score.line_error_30_m.add(error);
  }
}

}  // namespace

void Score::add(const roadnet::Truth& truth, const roadnet::Truth& estimate) {
  const bool has_left = truth.left_probability > kYes;
  const bool has_right = truth.right_probability > kYes;
  const bool has_lead = truth.lead_probability > kYes;
  if (has_left) add_line(*this, truth.left, estimate.left);
  if (has_right) add_line(*this, truth.right, estimate.right);
  for (size_t i = 0; i < truth.path.size() && roadnet::kDistances_m[i] <= kNear_m; ++i) {
    path_error_30_m.add(std::abs(static_cast<double>(truth.path[i] - estimate.path[i])));
  }
  if (has_lead && truth.lead_distance_m >= 5 && truth.lead_distance_m <= 80) {
    lead_error.add(std::abs(static_cast<double>(estimate.lead_distance_m - truth.lead_distance_m)) /
                   static_cast<double>(truth.lead_distance_m));
  }
  lines_right.add(has_left == (estimate.left_probability > kYes) ? 1 : 0);
  lines_right.add(has_right == (estimate.right_probability > kYes) ? 1 : 0);
  lead_right.add(has_lead == (estimate.lead_probability > kYes) ? 1 : 0);
}

double line_error_of(const roadnet::Truth& truth, const roadnet::Truth& estimate) {
  Score score;
  score.add(truth, estimate);
  return score.line_error_30_m.value();
}

}  // namespace camshaft::demo
