// SPDX-License-Identifier: MIT
//
// The look of the ground: asphalt with its wear, lane markings, verge. Markings are filtered over a
// pixel's footprint, so that distant ones fade as a lens makes them fade instead of flickering.
#pragma once

#include "models/roadnet/illumination.h"
#include "models/roadnet/noise.h"
#include "models/roadnet/scene.h"

namespace camshaft::roadnet {

class GroundShader {
 public:
  /// Both arguments are borrowed and must outlive this object.
  GroundShader(const Scene& scene, const Illumination& illumination);

  /// Light from the ground point (x, y, ground height) towards the camera.
  Rgb light(float x, float y) const;

  /// How much of a pixel at the ground point shows paint, 0..1. For tests.
  float paint_share(float x, float y) const;

 private:
  /// The part of the ground that one pixel averages over, metres.
  struct Footprint {
    float across, along;
  };

  Footprint footprint(float x) const;
  Rgb asphalt(const RoadPoint& road, float s, const Footprint& size) const;
  Rgb verge(float s, float d, const Footprint& size) const;
  const LaneLine& nearest_line(float d, float& offset) const;
  float coverage(const LaneLine& line, float offset, float s, const Footprint& size) const;
  float worn(const LaneLine& line, float s, float d) const;

  const Scene& scene_;
  const Illumination& illumination_;
  const NoiseField& noise_;
  float texture_s_ = 0;
  float left_d_ = 0, right_d_ = 0;
  float per_lane_ = 0;    ///< 1 / lane width
  float blur_per_m_ = 0;  ///< width of a pixel's footprint over its distance
  float per_height_ = 0;  ///< 1 / height of the camera
  std::array<float, Markings::kBoundaries> dash_phase_{};
};

}  // namespace camshaft::roadnet
