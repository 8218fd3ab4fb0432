// SPDX-License-Identifier: MIT
//
// A drive: a world and everything that moves in it, as a pure function of time. Scenes at
// successive times form continuous motion; scenes of many seeds form a training set.
#pragma once

#include <cstdint>

#include "models/roadnet/scene.h"
#include "models/roadnet/world.h"

namespace camshaft::roadnet {

inline constexpr double kFrameRate_hz = 20.0;

/// Where the own car is and how it points.
struct CarState {
  double s = 0;           ///< position on the road
  float lateral_m = 0;    ///< left of the lane's centre
  float heading_rad = 0;  ///< left of the lane's direction
  float speed_mps = 0;
};

class Drive {
 public:
  explicit Drive(uint64_t seed) : world_(make_world(seed)) {}
  explicit Drive(const World& world) : world_(world) {}

  const World& world() const { return world_; }

  /// The course that the car takes when nobody steers it.
  CarState car(double time_s) const;

  /// The scene at `time_s` >= 0, with the car on its course or where the caller has put it. The
  /// same arguments give the same scene, bit for bit. Allocates the scene's lists; thread-safe.
  Scene scene(double time_s) const { return scene(time_s, car(time_s)); }
  Scene scene(double time_s, const CarState& car) const;

 private:
  World world_;
};

/// The `index`-th view of a data set: a drive of its own at a random time of its first ten minutes.
/// Indices below kHeldOutIndex are for training, the others for measuring.
inline constexpr uint64_t kHeldOutIndex = 1'000'000'000;
Scene sample_scene(uint64_t index);

}  // namespace camshaft::roadnet
