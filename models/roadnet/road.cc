// SPDX-License-Identifier: MIT
#include "models/roadnet/road.h"

#include "models/roadnet/noise.h"

namespace camshaft::roadnet {
namespace {

constexpr double kMaxTurn_rad = 1.0;  // beyond it the table in x would run out: go straight
constexpr double kMaxSlope = 0.07;
constexpr int kStepsPerRow = 2;

float unit(uint64_t bits) {
  return static_cast<float>(bits >> 40) * (1.0f / 16777216.0f);
}

}  // namespace

double RoadProfile::knot(int64_t index, int which) const {
  const uint64_t id = static_cast<uint64_t>(index) * 2 + static_cast<uint64_t>(which);
  const float v = 2.0f * unit(hash_of(seed_, id)) - 1.0f;
  return 0.35 * v + 0.65 * v * v * v;  // most road is nearly straight
}

double RoadProfile::interpolate(double s, int which, double scale) const {
  const double u = s / kKnotSpacing_m;
  const double i = std::floor(u);
  const int64_t index = static_cast<int64_t>(i);
  const double a = knot(index, which);
  const double b = knot(index + 1, which);
  return scale * (a + (b - a) * (u - i));
}

double RoadProfile::heading(double s) const {
  double total = 0;
  const int64_t last = static_cast<int64_t>(std::floor(s / kKnotSpacing_m));
  for (int64_t i = 0; i < last; ++i) {
    total += 0.5 * (knot(i, 0) + knot(i + 1, 0)) * kKnotSpacing_m;
  }
  const double rest = s - static_cast<double>(last) * kKnotSpacing_m;
  const double middle = s - 0.5 * rest;
  return max_curvature_ * total + curvature(middle) * rest;
}

RoadAhead::RoadAhead(const RoadProfile& profile, double s, double lateral_m, double heading_rad) {
  // Where the lane centre crosses x = 0, seen from a car that is left of it and turned left.
  double angle = -heading_rad;
  double y = -lateral_m / exact_cos(heading_rad);
  double along = lateral_m * exact_sin(heading_rad) / exact_cos(heading_rad);
  double z = 0;
  double slope = 0;
  const double dx = 1.0 / kStepsPerRow;
  for (int i = 0; i < kRows; ++i) {
    const double sine = exact_sin(angle);
    rows_[static_cast<size_t>(i)] = {static_cast<float>(y), static_cast<float>(sine),
                                     static_cast<float>(std::sqrt(1.0 - sine * sine)),
                                     static_cast<float>(along), static_cast<float>(z)};
    for (int step = 0; step < kStepsPerRow; ++step) {
      const double curvature = profile.curvature(s + along);
      const double middle = angle + 0.5 * curvature * dx / exact_cos(angle);
      const double cosine = exact_cos(middle);
      y += exact_sin(middle) / cosine * dx;
      along += dx / cosine;
      angle += curvature * dx / cosine;
      angle = angle > kMaxTurn_rad ? kMaxTurn_rad : (angle < -kMaxTurn_rad ? -kMaxTurn_rad : angle);
      const double bend = profile.grade_curvature(s + along);
      z += slope * dx + 0.5 * bend * dx * dx;
      slope += bend * dx;
      slope = slope > kMaxSlope ? kMaxSlope : (slope < -kMaxSlope ? -kMaxSlope : slope);
    }
  }
}

Vec3 RoadAhead::point(float s, float d) const {
  int lo = 0;
  int hi = kRows - 2;
  while (lo < hi) {
    const int middle = (lo + hi + 1) / 2;
    if (rows_[static_cast<size_t>(middle)].s <= s) {
      lo = middle;
    } else {
      hi = middle - 1;
    }
  }
  const Row& a = rows_[static_cast<size_t>(lo)];
  const Row& b = rows_[static_cast<size_t>(lo) + 1];
  const float k = (s - a.s) / (b.s - a.s);
  const float x = static_cast<float>(lo) + k;
  const Row row = at(x);
  const float px = x - d * row.sine;
  return {px, row.y + d * row.cosine, height(px)};
}

float RoadAhead::line_y(float x, float d) const {
  float foot = x;
  for (int i = 0; i < 8; ++i) {
    foot = x + d * at(foot).sine;
  }
  const Row row = at(foot);
  return row.y + d * row.cosine;
}

float RoadAhead::height(float x) const {
  return at(x).z;
}

float RoadAhead::slope(float x) const {
  return at(x + 0.5f).z - at(x - 0.5f).z;
}

RoadCentre RoadAhead::centre(float x) const {
  const Row row = at(x);
  return {row.y, row.s, row.sine, row.cosine};
}

GroundIntersector::GroundIntersector(const RoadAhead& road, float camera_height_m)
    : camera_height_m_(camera_height_m) {
  float highest = kSteepest;
  for (int i = 0; i < RoadAhead::kRows; ++i) {
    const size_t k = static_cast<size_t>(i);
    height_[k] = road.height(static_cast<float>(i));
    if (i > 0) {
      highest = maxf(highest, (height_[k] - camera_height_m) / static_cast<float>(i));
    }
    seen_rise_[k] = i == 0 ? -1e9f : highest;
  }
  horizon_ = highest;
  bins_per_rise_ = static_cast<float>(kBins) / (horizon_ - kSteepest);
  uint16_t row = 1;
  for (int bin = 0; bin <= kBins; ++bin) {
    // One bin lower than its edge, so that rounding in `distance` can't start past the row.
    const float edge = kSteepest + static_cast<float>(bin - 1) / bins_per_rise_;
    while (row < RoadAhead::kRows - 1 && seen_rise_[row] < edge) {
      ++row;
    }
    first_row_[static_cast<size_t>(bin)] = row;
  }
}

}  // namespace camshaft::roadnet
