// SPDX-License-Identifier: MIT
//
// All things that stand on the ground. A grid of screen tiles says which of them a pixel can show,
// so that most pixels test none.
#pragma once

#include <vector>

#include "models/roadnet/illumination.h"
#include "models/roadnet/scene.h"
#include "models/roadnet/sky.h"
#include "models/roadnet/vehicle_body.h"

namespace camshaft::roadnet {

class Solids {
 public:
  /// All arguments are borrowed and must outlive this object.
  Solids(const Scene& scene, const CameraPose& camera, const std::vector<VehicleBody>& bodies,
         const Illumination& illumination, const SkyShader& sky);

  /// The nearest solid that the ray of pixel (x, y) meets before `t`, if any: lowers `t` to it and
  /// sets `light` to what it sends to the camera.
  bool light(float x, float y, Vec3 direction, float& t, Rgb& light) const;

  /// Light that lamps scatter in the lens at a pixel.
  Rgb glow(float x, float y) const;

 private:
  static constexpr int kTile_px = 32;

  enum class Kind : uint8_t { kVehicle, kProp, kBridge, kGlow };
  struct Entry {
    Kind kind;
    uint16_t index;
  };
  struct Bounds {
    float x0, y0, x1, y1;
    Entry entry;
  };
  struct Glow {
    float x, y, radius2;
    Rgb colour;
  };
  struct BridgeParts {
    ConvexHull deck, left_pillar, right_pillar;
  };
  struct Hit {
    Entry entry{};
    int part = 0;
    Face face{};
    float along = 0, up = 0;  ///< position on a prop
  };

  void collect();
  void add_bounds(Entry entry, const Vec3* corners, int count);
  void add_prop(size_t index);
  void add_bridge(size_t index);
  void add_glows(const VehicleBody& body);
  void fill_tiles();
  size_t tile_of(float x, float y) const;

  bool meet_prop(const Prop& prop, Vec3 direction, float& t, Hit& hit) const;
  bool meet_bridge(const Bridge& bridge, const BridgeParts& parts, Vec3 direction, float& t,
                   Hit& hit) const;
  Rgb prop_light(const Prop& prop, Vec3 point, const Hit& hit) const;
  Rgb bridge_light(const Bridge& bridge, Vec3 point, const Hit& hit) const;
  Rgb vehicle_light(const VehicleBody& body, Vec3 point, const Hit& hit) const;

  const Scene& scene_;
  const CameraPose& camera_;
  const std::vector<VehicleBody>& bodies_;
  const Illumination& illumination_;
  const SkyShader& sky_;
  const NoiseField& noise_;
  Vec3 eye_;
  int columns_ = 0, rows_ = 0;
  std::vector<BridgeParts> bridges_;
  std::vector<Glow> glows_;
  std::vector<Bounds> bounds_;
  std::vector<uint32_t> first_;  ///< per tile, into entries_; one more at the end
  std::vector<Entry> entries_;
};

}  // namespace camshaft::roadnet
