// SPDX-License-Identifier: MIT
//
// One moment of a drive: everything that the renderer needs to colour a pixel and everything that
// the truth is computed from. Positions are in the car frame (see road.h).
#pragma once

#include <cstdint>
#include <vector>

#include "models/roadnet/camera.h"
#include "models/roadnet/road.h"
#include "models/roadnet/world.h"

namespace camshaft::roadnet {

enum class VehicleKind : uint8_t { kSedan, kEstate, kVan, kTruck };

struct Vehicle {
  VehicleKind kind = VehicleKind::kSedan;
  float length_m = 4.5f, width_m = 1.8f, height_m = 1.45f;
  Vec3 centre;                 ///< on the ground, below the middle of the vehicle
  float sine = 0, cosine = 1;  ///< its heading against the car's
  float slope = 0;             ///< of the ground below it along the car's x
  float road_d = 0;            ///< metres left of the own lane's centre
  Rgb paint;
  bool braking = false;
  bool lamps_on = false;

  /// Distance along the car's x from the camera to the middle of the rear bumper.
  float rear_x() const { return centre.x - cosine * 0.5f * length_m; }
};

enum class PropKind : uint8_t { kTree, kPole, kSign, kRail, kWall };

/// A flat upright thing beside the road: a rectangle that stands on the ground line from `foot`
/// along `axis`, with a shape cut out of it.
struct Prop {
  PropKind kind = PropKind::kPole;
  Vec3 foot;                     ///< ground point where the rectangle begins
  float axis_x = 0, axis_y = 1;  ///< unit direction of its ground line
  float length_m = 1;
  float bottom_m = 0, top_m = 1;  ///< heights above `foot`
  float end_rise_m = 0;           ///< how much higher the ground is at the far end
  Rgb albedo;
  uint32_t seed = 0;
};

/// A bridge over the road.
struct Bridge {
  Vec3 centre;                   ///< ground point on the road below its middle
  float sine = 0, cosine = 1;    ///< direction of the road there
  float s_begin = 0, s_end = 0;  ///< the part of the road below it
  float clearance_m = 5.5f, thickness_m = 1.3f;
  float half_span_m = 14;  ///< pillars stand there, left and right
  Rgb albedo;
};

struct Scene {
  World world;
  double s = 0;         ///< position of the car on the road
  double course_s = 0;  ///< where its course would have it: what the traffic moves relative to
  double time_s = 0;
  float lateral_m = 0;    ///< the car's distance left of its lane's centre
  float heading_rad = 0;  ///< the car's heading left of the lane's direction
  float speed_mps = 0;
  double world_heading_rad = 0;  ///< the car's heading against the road's direction at s = 0
  Rotation body;  ///< momentary roll and pitch, on top of the mounting and unknown to it
  float camera_height_m = kCameraHeight_m;
  RoadAhead road;
  std::vector<Vehicle> vehicles;
  std::vector<Prop> props;
  std::vector<Bridge> bridges;
  uint32_t frame_seed = 0;  ///< of the sensor's noise

  /// The car's position for texture coordinates: wrapped where all textures repeat, so that floats
  /// stay precise on a long drive.
  float texture_s() const {
    constexpr double kPeriod_m = 1024.0;  // 256 noise cells at the coarsest scale, 4 m
    return static_cast<float>(wrap(s, kPeriod_m));
  }

  /// The road camera where it really is, body motion included: what the renderer uses.
  CameraPose camera() const {
    return CameraPose(kRoadCamera, multiply(rotation_matrix(body), rotation_matrix(world.mounting)),
                      camera_height_m);
  }

  /// The warp from the model view, from the mounting alone, as a calibrated car knows it.
  Homography warp() const { return model_to_frame(world.mounting); }
};

}  // namespace camshaft::roadnet
