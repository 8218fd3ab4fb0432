// SPDX-License-Identifier: MIT
//
// The shape of the road. A road is endless; its position coordinate is the arc length s along the
// centre of the lane that the car drives in. Curvature and grade are piecewise linear in s, so the
// road is a chain of clothoids. What a camera sees is the piece ahead, in the car frame: origin on
// the road below the camera, x forward along the car's heading, y left, z up, metres.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/roadnet/exact_math.h"

namespace camshaft::roadnet {

/// Curvature of an endless road, drawn from a seed. Positive curvature turns left, positive grade
/// curvature is a valley; both in 1/m.
class RoadProfile {
 public:
  static constexpr double kKnotSpacing_m = 60.0;

  RoadProfile() = default;
  RoadProfile(uint64_t seed, float max_curvature, float max_grade_curvature)
      : seed_(seed), max_curvature_(max_curvature), max_grade_curvature_(max_grade_curvature) {}

  double curvature(double s) const { return interpolate(s, 0, max_curvature_); }
  double grade_curvature(double s) const { return interpolate(s, 1, max_grade_curvature_); }

  /// Direction of the road at s relative to s = 0, radians, left positive. Exact for the clothoids;
  /// costs one hash every 60 m.
  double heading(double s) const;

 private:
  double knot(int64_t index, int which) const;
  double interpolate(double s, int which, double scale) const;

  uint64_t seed_ = 0;
  double max_curvature_ = 0;
  double max_grade_curvature_ = 0;
};

/// Where a ground point lies on the road.
struct RoadPoint {
  float s = 0;     ///< metres along the lane centre, 0 at the car
  float d = 0;     ///< metres left of the lane centre
  float z = 0;     ///< height of the ground
  float sine = 0;  ///< direction of the road there, relative to the car's heading
  float cosine = 1;
};

/// The lane's centre where it passes a distance x.
struct RoadCentre {
  float y = 0;
  float s = 0;
  float sine = 0;  ///< direction relative to the car's heading
  float cosine = 1;
};

/// The road ahead of a car, sampled every metre of x. Building it takes some 10 us; lookups are
/// const, allocation-free and thread-safe.
class RoadAhead {
 public:
  static constexpr int kRows = 401;
  static constexpr float kLength_m = 400.0f;

  RoadAhead() = default;

  /// The road seen by a car at `s` that is `lateral_m` left of the lane centre and points
  /// `heading_rad` left of the lane's direction.
  RoadAhead(const RoadProfile& profile, double s, double lateral_m, double heading_rad);

  /// Road coordinates of the ground point (x, y), x >= 0.
  RoadPoint locate(float x, float y) const;

  /// The ground point at road coordinates (s, d), s >= 0: the inverse of `locate`.
  Vec3 point(float s, float d) const;

  /// Lateral position in the car frame, at distance x, of the line `d` metres left of the centre.
  float line_y(float x, float d) const;

  /// Height of the ground at distance x. The ground is level across the car's y axis.
  float height(float x) const;
  float slope(float x) const;

  RoadCentre centre(float x) const;

 private:
  struct alignas(32) Row {
    float y, sine, cosine, s, z;
  };

  // Extrapolates outside the table.
  Row at(float x) const {
    const int i = static_cast<int>(clampf(x, 0.0f, kLength_m - 1.0f));
    const float k = x - static_cast<float>(i);
    const Row& a = rows_[static_cast<size_t>(i)];
    const Row& b = rows_[static_cast<size_t>(i) + 1];
    return {mix(a.y, b.y, k), mix(a.sine, b.sine, k), mix(a.cosine, b.cosine, k), mix(a.s, b.s, k),
            mix(a.z, b.z, k)};
  }

  std::array<Row, kRows> rows_{};
};

// Inline, as the renderer calls it for every pixel: one step towards the foot of the perpendicular,
// from where the road's tangent serves as the axis.
inline RoadPoint RoadAhead::locate(float x, float y) const {
  const Row guess = at(x);
  const float foot = x + (y - guess.y) * guess.sine * guess.cosine;
  const Row row = at(foot);
  const float ex = x - foot;
  const float ey = y - row.y;
  return {row.s + row.cosine * ex + row.sine * ey, row.cosine * ey - row.sine * ex, guess.z,
          row.sine, row.cosine};
}

/// Finds where rays from a camera meet the ground, hill crests included.
class GroundIntersector {
 public:
  GroundIntersector() = default;
  GroundIntersector(const RoadAhead& road, float camera_height_m);

  /// Distance x at which a ray that rises `rise` metres a metre of x first meets the ground;
  /// negative when it does not within the table's 400 m.
  float distance(float rise) const;

 private:
  static constexpr int kBins = 4096;
  static constexpr float kSteepest = -0.6f;

  float camera_height_m_ = 0;
  float horizon_ = 0;  ///< the largest rise that still meets the ground
  float bins_per_rise_ = 0;
  std::array<float, RoadAhead::kRows> height_{};
  std::array<float, RoadAhead::kRows> seen_rise_{};  ///< running maximum: monotone
  std::array<uint16_t, kBins + 1> first_row_{};
};

inline float GroundIntersector::distance(float rise) const {
  if (rise > horizon_) {
    return -1.0f;
  }
  if (rise <= kSteepest) {
    return camera_height_m_ / -rise;
  }
  const float bin = minf((rise - kSteepest) * bins_per_rise_, static_cast<float>(kBins));
  size_t row = first_row_[static_cast<size_t>(bin)];
  while (row < RoadAhead::kRows - 1 && seen_rise_[row] < rise) {
    ++row;
  }
  const float step = height_[row] - height_[row - 1];
  const float start = height_[row - 1] - step * static_cast<float>(row - 1);
  const float x = (start - camera_height_m_) / (rise - step);
  return clampf(x, static_cast<float>(row - 1), static_cast<float>(row));
}

}  // namespace camshaft::roadnet
