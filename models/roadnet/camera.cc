// SPDX-License-Identifier: MIT
#include "models/roadnet/camera.h"

namespace camshaft::roadnet {
namespace {

// (right, down, forward) from (forward, left, up).
constexpr Matrix3 kViewFromBody{0, -1, 0, 0, 0, -1, 1, 0, 0};

Matrix3 intrinsic_matrix(const Intrinsics& camera) {
  return {camera.focal_px, 0, camera.centre_x, 0, camera.focal_px, camera.centre_y, 0, 0, 1};
}

Matrix3 inverse_intrinsic_matrix(const Intrinsics& camera) {
  const double f = camera.focal_px;
  return {1 / f, 0, -camera.centre_x / f, 0, 1 / f, -camera.centre_y / f, 0, 0, 1};
}

Vec3 column(const Matrix3& m, size_t c) {
  return {static_cast<float>(m[c]), static_cast<float>(m[3 + c]), static_cast<float>(m[6 + c])};
}

}  // namespace

Matrix3 multiply(const Matrix3& a, const Matrix3& b) {
  Matrix3 product{};
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 3; ++c) {
      product[r * 3 + c] = a[r * 3] * b[c] + a[r * 3 + 1] * b[3 + c] + a[r * 3 + 2] * b[6 + c];
    }
  }
  return product;
}

Matrix3 transpose(const Matrix3& a) {
  return {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]};
}

Matrix3 rotation_matrix(const Rotation& rotation) {
  const double cr = exact_cos(rotation.roll_rad);
  const double sr = exact_sin(rotation.roll_rad);
  const double cp = exact_cos(rotation.pitch_rad);
  const double sp = exact_sin(rotation.pitch_rad);
  const double cy = exact_cos(rotation.yaw_rad);
  const double sy = exact_sin(rotation.yaw_rad);
  const Matrix3 roll{1, 0, 0, 0, cr, -sr, 0, sr, cr};
  const Matrix3 pitch{cp, 0, sp, 0, 1, 0, -sp, 0, cp};
  const Matrix3 yaw{cy, -sy, 0, sy, cy, 0, 0, 0, 1};
  return multiply(yaw, multiply(pitch, roll));
}

Homography model_to_frame(const Rotation& mounting, const Intrinsics& camera) {
  const Matrix3 camera_from_car = transpose(rotation_matrix(mounting));
  const Matrix3 body_from_model =
      multiply(transpose(kViewFromBody), inverse_intrinsic_matrix(kModelView));
  const Matrix3 frame_from_body = multiply(intrinsic_matrix(camera), kViewFromBody);
  const Matrix3 product = multiply(frame_from_body, multiply(camera_from_car, body_from_model));
  Homography result{};
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<float>(product[i] / product[8]);
  }
  return result;
}

CameraPose::CameraPose(const Intrinsics& intrinsics, const Matrix3& car_from_camera, float height_m)
    : intrinsics_(intrinsics), height_m_(height_m) {
  forward_ = column(car_from_camera, 0);
  left_ = column(car_from_camera, 1);
  up_ = column(car_from_camera, 2);
  const float step = 1.0f / intrinsics.focal_px;
  column_step_ = left_ * -step;
  row_step_ = up_ * -step;
  corner_ = forward_ + left_ * (intrinsics.centre_x * step) + up_ * (intrinsics.centre_y * step);
}

Pixel CameraPose::project(Vec3 point) const {
  const Vec3 offset = point - Vec3{0, 0, height_m_};
  const float depth = dot(offset, forward_);
  if (depth < 0.1f) {
    return {};
  }
  const float scale = intrinsics_.focal_px / depth;
  Pixel pixel;
  pixel.in_front = true;
  pixel.x = intrinsics_.centre_x - dot(offset, left_) * scale;
  pixel.y = intrinsics_.centre_y - dot(offset, up_) * scale;
  pixel.visible = pixel.x >= 0.0f && pixel.y >= 0.0f &&
                  pixel.x <= static_cast<float>(intrinsics_.width - 1) &&
                  pixel.y <= static_cast<float>(intrinsics_.height - 1);
  return pixel;
}

CameraPose model_view_pose() {
  return CameraPose(kModelView, rotation_matrix({}), kCameraHeight_m);
}

CameraPose road_camera_pose(const Rotation& mounting) {
  return CameraPose(kRoadCamera, rotation_matrix(mounting), kCameraHeight_m);
}

}  // namespace camshaft::roadnet
