// SPDX-License-Identifier: MIT
//
// The camera's picture of a scene, as a pure function of the pixel: nothing depends on the order in
// which pixels are asked for or on which of them are, so a whole frame and a few samples of it
// agree bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "models/roadnet/ground.h"
#include "models/roadnet/illumination.h"
#include "models/roadnet/scene.h"
#include "models/roadnet/sky.h"
#include "models/roadnet/solids.h"

namespace camshaft::roadnet {

/// Colour difference, BT.601 limited range.
struct Chroma {
  uint8_t u = 128;
  uint8_t v = 128;
};

class Renderer {
 public:
  /// Prepares a scene, some 100 us. Not copyable: its parts refer to one another.
  explicit Renderer(Scene scene);
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  /// Luma of frame pixel (x, y), BT.601 limited range (16..235), noise included.
  /// 0 <= x < 1928, 0 <= y < 1208. Thread-safe, allocation-free.
  uint8_t luma(int x, int y) const;

  /// Colour difference of the 2x2 block of pixels at (2 cx, 2 cy), sampled at its middle.
  Chroma chroma(int cx, int cy) const;

  const Scene& scene() const { return scene_; }
  const GroundShader& ground() const { return ground_; }
  const CameraPose& camera() const { return camera_; }

  /// Where the ray of a pixel first meets the ground, were there no solids; x < 0 if nowhere.
  Vec3 ground_point(float x, float y) const;

 private:
  Rgb scene_light(float x, float y) const;
  Rgb developed(float x, float y) const;  ///< after exposure and tone curve, 0..1

  Scene scene_;
  CameraPose camera_;
  std::vector<VehicleBody> bodies_;
  GroundIntersector intersector_;
  Illumination illumination_;
  GroundShader ground_;
  SkyShader sky_;
  Solids solids_;
  std::array<float, 512> clarity_{};  ///< share of light that haze lets through, every metre
};

}  // namespace camshaft::roadnet
