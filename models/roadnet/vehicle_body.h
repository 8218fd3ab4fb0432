// SPDX-License-Identifier: MIT
//
// The solid of a vehicle: a lower body, a cabin with slanted sides and a dark zone with the wheels
// below, each a convex hull in the vehicle's own axes.
#pragma once

#include <array>

#include "models/roadnet/scene.h"

namespace camshaft::roadnet {

/// The faces of a hull, named as seen by its driver.
enum class Face : uint8_t { kRear, kFront, kLeft, kRight, kTop, kBottom };

/// A convex solid with six faces, inside where normal . p <= offset for all of them.
struct ConvexHull {
  struct Plane {
    Vec3 normal;
    float offset = 0;
  };
  std::array<Plane, 6> planes;

  /// First meeting of the ray origin + t direction, t > 0, with the hull from outside.
  bool intersect(Vec3 origin, Vec3 direction, float& t, Face& face) const;
};

/// An upright box.
ConvexHull make_box(Vec3 low, Vec3 high);

/// What a ray sees of a solid.
struct SurfaceSample {
  Rgb albedo;
  Rgb emission;
  Vec3 normal;      ///< car frame
  float gloss = 0;  ///< share of the sky that it mirrors
};

class VehicleBody {
 public:
  explicit VehicleBody(const Vehicle& vehicle);

  /// Meeting with a ray of the car frame; `t` in units of the ray's direction.
  bool intersect(Vec3 origin, Vec3 direction, float& t, int& part, Face& face) const;

  SurfaceSample sample(Vec3 point, int part, Face face) const;

  /// Whether the vehicle stands between a ground point and the sun; `sun` in the car frame.
  bool shades(Vec3 ground, Vec3 sun) const;

  /// 1 on open ground, falling towards 0 under the vehicle.
  float ambient_share(Vec3 ground) const;

  const Vehicle& vehicle() const { return vehicle_; }

  /// A corner of the bounding box, car frame; i = 0..7.
  Vec3 corner(int i) const;

  /// Middle of a lamp (-1 right, +1 left) at the end that faces the camera, car frame.
  Vec3 lamp(int side) const;

  /// Whether the camera sees the vehicle's rear rather than its front.
  bool rear_faces_camera() const;

 private:
  static constexpr int kWheelZone = 0;
  static constexpr int kBody = 1;
  static constexpr int kCabin = 2;

  Vec3 to_local(Vec3 point) const;
  Vec3 turn_to_local(Vec3 direction) const;
  Vec3 to_car(Vec3 local) const;
  Vec3 turn_to_car(Vec3 local) const;
  void build_hulls();
  bool is_wheel(Vec3 local) const;
  void colour_end(Vec3 local, bool rear, SurfaceSample& sample) const;
  void colour_side(Vec3 local, SurfaceSample& sample) const;
  void colour_cabin(Vec3 local, Face face, SurfaceSample& sample) const;

  Vehicle vehicle_;
  float floor_m_ = 0;  ///< underside of the body
  float belt_m_ = 0;   ///< where the cabin begins
  bool has_cabin_ = true;
  std::array<ConvexHull, 3> hulls_;
};

}  // namespace camshaft::roadnet
