// SPDX-License-Identifier: MIT
//
// Everything beyond the ground: sky, clouds, the sun's glow and a skyline of hills.
#pragma once

#include "models/roadnet/noise.h"
#include "models/roadnet/scene.h"

namespace camshaft::roadnet {

class SkyShader {
 public:
  /// The scene is borrowed; `sun` points to the sun in the car frame.
  SkyShader(const Scene& scene, Vec3 sun);

  /// Light from where the ray goes; `direction` in the car frame, forward part positive.
  Rgb light(Vec3 direction) const;

  /// The sky mirrored by a smooth surface, without clouds or hills.
  Rgb mirrored(float rise) const;

  /// What distant things fade into.
  Rgb haze() const { return haze_; }

 private:
  float skyline(float azimuth) const;

  const Scene& scene_;
  const NoiseField& noise_;
  Vec3 sun_;
  bool sun_up_ = false;
  float heading_ = 0;  ///< of the car in the world: turns the skyline
  Rgb haze_, hills_;
};

}  // namespace camshaft::roadnet
