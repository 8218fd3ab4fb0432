// SPDX-License-Identifier: MIT
//
// What stays the same during a drive: the road's markings and surface, its surroundings, the light,
// the sensor. A world is plain data drawn from a seed; every value that the renderer reads can also
// be set by hand.
#pragma once

#include <array>
#include <cstdint>

#include "models/roadnet/camera.h"
#include "models/roadnet/exact_math.h"
#include "models/roadnet/road.h"

namespace camshaft::roadnet {

enum class RoadClass : uint8_t { kMotorway, kCountry, kCity };
enum class Daylight : uint8_t { kClear, kOvercast, kDusk, kNight };
enum class LineKind : uint8_t { kNone, kSolid, kDashed, kDouble };
enum class BarrierKind : uint8_t { kNone, kRail, kWall };

struct LaneLine {
  LineKind kind = LineKind::kNone;
  float width_m = 0.15f;
  float dash_m = 3.0f;  ///< painted part of a period, dashed lines only
  float period_m = 12.0f;
  float phase_m = 0.0f;
  float wear = 0.0f;  ///< 0 new .. 1 nearly gone
  Rgb albedo;
};

/// Lanes and markings. Lane boundary b lies (b + 0.5) lane widths left of the own lane's centre:
/// boundary 0 is the own lane's left line, boundary -1 its right line.
struct Markings {
  static constexpr int kFirstBoundary = -3;
  static constexpr int kBoundaries = 6;

  float lane_width_m = 3.6f;
  int lanes_left = 0;  ///< lanes beside the own one, at most 2
  int lanes_right = 0;
  int oncoming = 0;              ///< +1: the left lanes are oncoming, -1: the right ones, 0: none
  float shoulder_left_m = 0.5f;  ///< asphalt beyond the outermost boundary
  float shoulder_right_m = 0.5f;
  std::array<LaneLine, kBoundaries> lines;

  const LaneLine& line(int boundary) const {
    return lines[static_cast<size_t>(boundary - kFirstBoundary)];
  }
  LaneLine& line(int boundary) { return lines[static_cast<size_t>(boundary - kFirstBoundary)]; }
  float boundary_d(int boundary) const {
    return (static_cast<float>(boundary) + 0.5f) * lane_width_m;
  }
  float asphalt_left_d() const { return boundary_d(lanes_left) + shoulder_left_m; }
  float asphalt_right_d() const { return boundary_d(-1 - lanes_right) - shoulder_right_m; }
};

struct Surface {
  Rgb asphalt;
  float grain = 0.2f;     ///< contrast of the fine texture
  float blotches = 0.2f;  ///< contrast of stains and repairs
  float tracks = 0.1f;    ///< darkening where tyres run, negative for brightening
  float seam_d = 0.0f;    ///< a tar seam along the lane, metres left of each lane's centre
  float seam = 0.0f;      ///< its darkness, 0 for none
};

struct Roadside {
  Rgb ground, ground_alt;  ///< two tones that the ground varies between
  Rgb foliage;
  float tree_density = 0.3f;  ///< share of the tree places taken, 0..1
  float tree_height_m = 8.0f;
  float canopy_shadow = 0.0f;  ///< share of the verge that throws leaf shadows, 0 for none
  float pole_density = 0.2f;
  float bridge_density = 0.1f;  ///< share of the 500 m places that carry a bridge
  float hill_height = 0.02f;    ///< skyline, as a rise over distance
  BarrierKind barrier_left = BarrierKind::kNone;
  BarrierKind barrier_right = BarrierKind::kNone;
};

/// Light in arbitrary linear units; `Sensor::exposure` scales it to the sensor's full range.
struct Lighting {
  Daylight daylight = Daylight::kClear;
  Vec3 sun_direction{0, 0, 1};  ///< towards the sun, world axes (x along the road at s = 0)
  Rgb sun, ambient, sky_zenith, sky_horizon;
  float cloud_cover = 0.3f;
  float haze_distance_m = 2000;
  float headlights = 0.0f;  ///< strength of the own car's lamps
  bool lamps_on = false;    ///< of other cars
};

struct Sensor {
  float exposure = 0.5f;
  float noise = 1.0f;  ///< standard deviation of luma noise, 8-bit steps
  float vignette = 0.2f;
  float blur_px = 1.0f;  ///< width of the optical blur on markings, frame pixels
  float warmth = 0.0f;   ///< white balance error, + red
};

/// How the own car and the traffic move; see drive.cc for the motions.
struct Motion {
  float speed_mps = 20;
  std::array<float, 2> weave_m{}, weave_period_s{}, weave_phase{};
  float body_pitch_rad = 0, body_roll_rad = 0, bounce_m = 0;
  bool lead = false;
  float lead_gap_m = 40, lead_swing = 0, lead_period_s = 20, lead_phase = 0;
  float lead_leaves_at_s = -1;  ///< when the lead changes lane; negative: never
  int lead_leaves_to = 1;       ///< +1 left, -1 right
  float traffic = 0.5f;         ///< share of the traffic places taken
};

struct World {
  uint64_t seed = 0;
  RoadClass road_class = RoadClass::kMotorway;
  RoadProfile profile;
  Rotation mounting;  ///< known calibration of the camera
  Markings markings;
  Surface surface;
  Roadside roadside;
  Lighting lighting;
  Sensor sensor;
  Motion motion;
};

/// The world of a seed. Deterministic; allocates nothing.
World make_world(uint64_t seed);

}  // namespace camshaft::roadnet
