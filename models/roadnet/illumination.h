// SPDX-License-Identifier: MIT
//
// How much light reaches a point: sun less the shadows of cars, leaves and bridges, the sky, and
// the own car's lamps.
#pragma once

#include <array>
#include <vector>

#include "models/roadnet/noise.h"
#include "models/roadnet/scene.h"
#include "models/roadnet/vehicle_body.h"

namespace camshaft::roadnet {

class Illumination {
 public:
  /// Both arguments are borrowed and must outlive this object.
  Illumination(const Scene& scene, const std::vector<VehicleBody>& bodies);

  /// Irradiance on the ground at (x, y), which has the given road coordinates.
  Rgb on_ground(float x, float y, const RoadPoint& road) const;

  /// Irradiance on a surface that stands at `point`; shadows on it are left out.
  Rgb on_surface(Vec3 point, Vec3 normal) const;

  /// The own car's lamps at a ground point: brightest some 12 m ahead.
  float headlights(float x, float y) const;

  /// Towards the sun, car frame.
  Vec3 sun() const { return sun_; }

 private:
  /// Which vehicles may darken the ground, by its distance: each bin lists those whose shadow or
  /// surroundings reach into it.
  static constexpr float kBin_m = 4.0f;
  static constexpr int kBins = 64;
  struct Reach {
    float x, y, radius2;  ///< circle on the ground that holds the vehicle and its shadow
    uint16_t body;
  };
  using Reaches = std::vector<Reach>;

  void list_reaches();
  const Reaches& reaches_at(float x) const;
  void dim_by_vehicles(Vec3 point, float& sun, float& ambient) const;
  float canopy_share(const RoadPoint& road) const;
  float bridge_share(const RoadPoint& road, Vec3 towards) const;

  const Scene& scene_;
  const std::vector<VehicleBody>& bodies_;
  const NoiseField& noise_;
  Vec3 sun_;
  bool sunny_ = false;
  float texture_s_ = 0;             ///< the car's s within the textures' period
  float canopy_reach_ = 0;          ///< how far leaves' shadows fall
  float left_d_ = 0, right_d_ = 0;  ///< where the verges begin
  std::array<Reaches, kBins> reaches_;
};

}  // namespace camshaft::roadnet
