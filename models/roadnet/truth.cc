// SPDX-License-Identifier: MIT
#include "models/roadnet/truth.h"

#include <cstddef>
#include <cstring>
#include <sstream>

namespace camshaft::roadnet {
namespace {

struct Slice {
  const char* name;
  size_t offset_bytes;
  int count;
  const char* unit;
};

constexpr Slice kSlices[] = {
    {"left_line", offsetof(Truth, left), kPoints, "m"},
    {"right_line", offsetof(Truth, right), kPoints, "m"},
    {"path", offsetof(Truth, path), kPoints, "m"},
    {"lead_distance", offsetof(Truth, lead_distance_m), 1, "m"},
    {"left_line_probability", offsetof(Truth, left_probability), 1, "1"},
    {"right_line_probability", offsetof(Truth, right_probability), 1, "1"},
    {"lead_probability", offsetof(Truth, lead_probability), 1, "1"},
};

// Critically damped return to the lane's centre: the deviation e from it begins with the car's
// offset and heading and decays as (a + b x) exp(-x / kPathReturn_m).
std::array<float, kPoints> smooth_path(const RoadAhead& road) {
  const RoadCentre start = road.centre(0.0f);
  const double a = -start.y;
  const double b = -start.sine / start.cosine + a / kPathReturn_m;
  std::array<float, kPoints> path{};
  for (size_t i = 0; i < path.size(); ++i) {
    const double x = kDistances_m[i];
    const double deviation = (a + b * x) * exact_exp(-x / kPathReturn_m);
    path[i] = road.line_y(kDistances_m[i], 0.0f) + static_cast<float>(deviation);
  }
  return path;
}

bool in_sight(const Vehicle& vehicle, const GroundIntersector& ground, float camera_height_m) {
  const float x = vehicle.rear_x();
  const float roof = vehicle.centre.z + 0.8f * vehicle.height_m;
  const float hidden_from = ground.distance((roof - camera_height_m) / x);
  return hidden_from < 0.0f || hidden_from >= x;
}

void find_lead(const Scene& scene, Truth& truth) {
  const GroundIntersector ground(scene.road, scene.camera_height_m);
  for (const Vehicle& v : scene.vehicles) {
    const float x = v.rear_x();
    const bool own_lane = absf(v.road_d) < 0.5f * scene.world.markings.lane_width_m;
    const bool in_range = x >= kNearestLead_m && x <= kFarthestLead_m;
    const bool nearer = truth.lead_probability == 0.0f || x < truth.lead_distance_m;
    if (own_lane && in_range && nearer && in_sight(v, ground, scene.camera_height_m)) {
      truth.lead_distance_m = x;
      truth.lead_probability = 1.0f;
    }
  }
}

}  // namespace

std::span<const float, kOutputs> as_vector(const Truth& truth) {
  return std::span<const float, kOutputs>(reinterpret_cast<const float*>(&truth),
                                          static_cast<size_t>(kOutputs));
}

Truth from_vector(std::span<const float, kOutputs> values) {
  Truth truth;
  std::memcpy(static_cast<void*>(&truth), values.data(), sizeof(truth));
  return truth;
}

Truth compute_truth(const Scene& scene) {
  Truth truth;
  const Markings& m = scene.world.markings;
  for (size_t i = 0; i < kDistances_m.size(); ++i) {
    truth.left[i] = scene.road.line_y(kDistances_m[i], m.boundary_d(0));
    truth.right[i] = scene.road.line_y(kDistances_m[i], m.boundary_d(-1));
  }
  truth.path = smooth_path(scene.road);
  truth.left_probability = m.line(0).kind == LineKind::kNone ? 0.0f : 1.0f;
  truth.right_probability = m.line(-1).kind == LineKind::kNone ? 0.0f : 1.0f;
  find_lead(scene, truth);
  return truth;
}

std::string describe_outputs() {
  std::ostringstream out;
  out << "{\"distances_m\":[";
  for (size_t i = 0; i < kDistances_m.size(); ++i) {
    out << (i == 0 ? "" : ",") << kDistances_m[i];
  }
  out << "],\"slices\":[";
  for (const Slice& slice : kSlices) {
    out << (&slice == kSlices ? "" : ",") << "{\"name\":\"" << slice.name
        << "\",\"offset\":" << slice.offset_bytes / sizeof(float) << ",\"shape\":[" << slice.count
        << "],\"unit\":\"" << slice.unit << "\"}";
  }
  out << "],\"path_return_m\":" << kPathReturn_m << ",\"model_focal_px\":" << kModelView.focal_px
      << "}";
  return out.str();
}

}  // namespace camshaft::roadnet
