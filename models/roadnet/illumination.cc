// SPDX-License-Identifier: MIT
#include "models/roadnet/illumination.h"

namespace camshaft::roadnet {
namespace {

constexpr float kVergeWidth_m = 9.0f;  // how far from the asphalt leaves grow
constexpr float kContact_m = 1.5f;     // how far a car dims the sky for the ground beside it

Vec3 turned(Vec3 v, double angle) {
  const float c = static_cast<float>(exact_cos(angle));
  const float s = static_cast<float>(exact_sin(angle));
  return {v.x * c + v.y * s, v.y * c - v.x * s, v.z};
}

}  // namespace

Illumination::Illumination(const Scene& scene, const std::vector<VehicleBody>& bodies)
    : scene_(scene), bodies_(bodies), noise_(noise_field()) {
  const Lighting& light = scene.world.lighting;
  sun_ = turned(light.sun_direction, scene.world_heading_rad);
  sunny_ = light.sun.g > 0.0f && sun_.z > 0.0f;
  texture_s_ = scene.texture_s();
  canopy_reach_ = sunny_ ? minf(0.7f * scene.world.roadside.tree_height_m / sun_.z, 40.0f) : 0.0f;
  left_d_ = scene.world.markings.asphalt_left_d();
  right_d_ = scene.world.markings.asphalt_right_d();
  list_reaches();
}

void Illumination::list_reaches() {
  const float across = sunny_ ? std::sqrt(1.0f - minf(sun_.z * sun_.z, 1.0f)) / sun_.z : 0.0f;
  const float norm = across > 0.0f ? 1.0f / (across * sun_.z) : 0.0f;
  for (size_t i = 0; i < bodies_.size(); ++i) {
    const Vehicle& v = bodies_[i].vehicle();
    const float shadow = minf(v.height_m * across, 60.0f);
    const float radius = 0.5f * (v.length_m + v.width_m + shadow) + kContact_m;
    const Reach reach{v.centre.x - sun_.x * norm * shadow * 0.5f,
                      v.centre.y - sun_.y * norm * shadow * 0.5f, radius * radius,
                      static_cast<uint16_t>(i)};
    const int first = floor_int(maxf(reach.x - radius, 0.0f) / kBin_m);
    const int last = floor_int(maxf(reach.x + radius, 0.0f) / kBin_m);
    for (int bin = first; bin <= last && bin < kBins; ++bin) {
      reaches_[static_cast<size_t>(bin)].push_back(reach);
    }
  }
}

const Illumination::Reaches& Illumination::reaches_at(float x) const {
  return reaches_[static_cast<size_t>(clampf(x * (1.0f / kBin_m), 0.0f, kBins - 1))];
}

// Leaves throw the noise of the verge, moved along the sun's direction by the canopy's height.
float Illumination::canopy_share(const RoadPoint& road) const {
  const Roadside& r = scene_.world.roadside;
  if (r.canopy_shadow <= 0.0f) {
    return 1.0f;
  }
  const float along = sun_.x * road.cosine + sun_.y * road.sine;
  const float across = sun_.y * road.cosine - sun_.x * road.sine;
  const float d = road.d + across * canopy_reach_;
  const float into_verge = maxf(d - left_d_, right_d_ - d);
  if (into_verge < 0.0f || into_verge > kVergeWidth_m) {
    return 1.0f;
  }
  const float s = texture_s_ + road.s + along * canopy_reach_;
  const float crowns = noise_.at(s * 0.25f, d * 0.25f + 17.0f);
  const float leaves = noise_.at(s * 2.0f, d * 2.0f);
  const float rim = minf(into_verge, kVergeWidth_m - into_verge);
  const float cover = crowns + 0.35f * (leaves - 0.5f) - 0.5f * clamp01(1.0f - rim);
  return 1.0f - smoothstep(-0.06f, 0.06f, cover - (1.0f - r.canopy_shadow));
}

float Illumination::bridge_share(const RoadPoint& road, Vec3 towards) const {
  float share = 1.0f;
  for (const Bridge& bridge : scene_.bridges) {
    const float along = towards.x * road.cosine + towards.y * road.sine;
    const float s = road.s + minf(bridge.clearance_m / maxf(towards.z, 0.05f), 60.0f) * along;
    share *= 1.0f - smoothstep(bridge.s_begin - 0.2f, bridge.s_begin + 0.2f, s) *
                        (1.0f - smoothstep(bridge.s_end - 0.2f, bridge.s_end + 0.2f, s));
  }
  return share;
}

void Illumination::dim_by_vehicles(Vec3 point, float& sun, float& ambient) const {
  for (const Reach& reach : reaches_at(point.x)) {
    const float dx = point.x - reach.x;
    const float dy = point.y - reach.y;
    if (dx * dx + dy * dy >= reach.radius2) {
      continue;
    }
    const VehicleBody& body = bodies_[reach.body];
    ambient *= body.ambient_share(point);
    if (sun > 0.0f && body.shades(point, sun_)) {
      sun = 0.0f;
    }
  }
}

float Illumination::headlights(float x, float y) const {
  const float power = scene_.world.lighting.headlights;
  if (power <= 0.0f || x < 1.0f) {
    return 0.0f;
  }
  const float spread = y / x * 4.0f;
  const float near = x * x / (x * x + 30.0f);
  return power * near / ((1.0f + spread * spread) * (1.0f + x * x * (1.0f / 500.0f)));
}

Rgb Illumination::on_ground(float x, float y, const RoadPoint& road) const {
  const Lighting& light = scene_.world.lighting;
  float sun = sunny_ ? canopy_share(road) : 0.0f;
  float ambient = 1.0f;
  if (!scene_.bridges.empty()) {
    sun *= sunny_ ? bridge_share(road, sun_) : 0.0f;
    ambient = 0.4f + 0.6f * bridge_share(road, {0, 0, 1});
  }
  dim_by_vehicles({x, y, road.z}, sun, ambient);
  Rgb total = light.ambient * ambient;
  if (sun > 0.0f) {
    total = total + light.sun * (sun_.z * sun);
  }
  if (light.headlights > 0.0f) {
    total = total + Rgb{1.0f, 0.95f, 0.85f} * headlights(x, y);
  }
  return total;
}

Rgb Illumination::on_surface(Vec3 point, Vec3 normal) const {
  const Lighting& light = scene_.world.lighting;
  Rgb total = light.ambient * (0.6f + 0.4f * normal.z);
  if (sunny_) {
    total = total + light.sun * maxf(dot(normal, sun_), 0.0f);
  }
  if (light.headlights > 0.0f) {
    const float facing = maxf(-normal.x, 0.15f);
    const float low = 1.0f / (1.0f + 0.3f * maxf(point.z - 1.0f, 0.0f));
    total = total + Rgb{1.0f, 0.95f, 0.85f} * (headlights(point.x, point.y) * facing * low);
  }
  return total;
}

}  // namespace camshaft::roadnet
