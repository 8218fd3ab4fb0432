// SPDX-License-Identifier: MIT
//
// Cameras. Two of them: the road camera, whose frames are 1928x1208 and which is mounted with a
// small rotation, and the model view, a virtual camera of 512x256 that stands at the same place and
// points exactly along the car. A rotation about one centre maps every pixel of one onto a pixel of
// the other whatever the distance, so a 3x3 homography takes the mounting out.
//
// Frames of reference: the car frame is x forward, y left, z up, metres. An image has its origin in
// the centre of the top left pixel, x right, y down, pixels.
#pragma once

#include <array>

#include "models/roadnet/exact_math.h"

namespace camshaft::roadnet {

/// A pinhole camera without distortion.
struct Intrinsics {
  float focal_px = 0;
  float centre_x = 0;
  float centre_y = 0;
  int width = 0;
  int height = 0;
};

/// The road camera: the field of view of an ox03c10 behind an 8 mm lens (40 degrees wide).
inline constexpr Intrinsics kRoadCamera{2648.0f, 964.0f, 604.0f, 1928, 1208};

/// The model view: focal length 910 pixels, horizon (pitch 0) at row 47.6, so that most of the
/// picture is road; it sees the ground from 5.3 m on.
inline constexpr Intrinsics kModelView{910.0f, 256.0f, 47.6f, 512, 256};

/// Height of the camera above the road when the car is at rest.
inline constexpr float kCameraHeight_m = 1.22f;

/// Rotation of a camera against the car: first roll about x, then pitch about y, then yaw about z.
/// Positive pitch looks down, positive yaw looks left, positive roll lowers the right side.
struct Rotation {
  float roll_rad = 0;
  float pitch_rad = 0;
  float yaw_rad = 0;
};

/// A 3x3 matrix, row by row.
using Matrix3 = std::array<double, 9>;

/// Takes directions from the camera's own axes (forward, left, up) to the car's.
Matrix3 rotation_matrix(const Rotation& rotation);

Matrix3 multiply(const Matrix3& a, const Matrix3& b);
Matrix3 transpose(const Matrix3& a);

/// The 3x3 homography, row by row, that takes a pixel (u, v, 1) of the model view to the pixel
/// (x/w, y/w) of a camera's frame that looks the same way: K_camera V R^T V^-1 K_model^-1, where R
/// is the mounting and V renames the axes (forward, left, up) to (right, down, forward).
/// Float, because that is what the warp computes with.
using Homography = std::array<float, 9>;
Homography model_to_frame(const Rotation& mounting, const Intrinsics& camera = kRoadCamera);

/// A pixel position. Points behind the camera are not in front and have no position; `visible` says
/// that the point is in front and inside the picture.
struct Pixel {
  float x = 0;
  float y = 0;
  bool in_front = false;
  bool visible = false;
};

/// A camera at its place above the car frame's origin: rays and projections.
class CameraPose {
 public:
  CameraPose() = default;
  CameraPose(const Intrinsics& intrinsics, const Matrix3& car_from_camera, float height_m);

  /// Direction of a pixel's ray in the car frame; its forward part is about 1.
  Vec3 ray(float x, float y) const { return corner_ + column_step_ * x + row_step_ * y; }

  /// Where a point of the car frame appears.
  Pixel project(Vec3 point) const;

  float height_m() const { return height_m_; }
  const Intrinsics& intrinsics() const { return intrinsics_; }

 private:
  Intrinsics intrinsics_;
  float height_m_ = kCameraHeight_m;
  Vec3 forward_{1, 0, 0}, left_{0, 1, 0}, up_{0, 0, 1};  ///< camera axes in the car frame
  Vec3 corner_, column_step_, row_step_;
};

/// The model view as a pose: for drawing what the network sees or says into the model view.
CameraPose model_view_pose();

/// The road camera mounted as calibrated, without the body's momentary motion: for drawing the
/// network's estimates into a frame.
CameraPose road_camera_pose(const Rotation& mounting);

}  // namespace camshaft::roadnet
