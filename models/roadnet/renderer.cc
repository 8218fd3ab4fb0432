// SPDX-License-Identifier: MIT
#include "models/roadnet/renderer.h"

#include <utility>

namespace camshaft::roadnet {
namespace {

std::vector<VehicleBody> make_bodies(const Scene& scene) {
  std::vector<VehicleBody> bodies;
  bodies.reserve(scene.vehicles.size());
  for (const Vehicle& vehicle : scene.vehicles) {
    bodies.emplace_back(vehicle);
  }
  return bodies;
}

// A camera's response: square root, which evens out photon noise, with a soft shoulder that reaches
// white at 1. Tabulated, as it runs three times a pixel.
class ToneCurve {
 public:
  ToneCurve() {
    constexpr float kShoulder = 1.6f;
    for (int i = 0; i <= kSteps; ++i) {
      const float light = static_cast<float>(i) / kSteps;
      values_[static_cast<size_t>(i)] = std::sqrt(light * (1.0f + kShoulder) / (light + kShoulder));
    }
    values_[kSteps + 1] = values_[kSteps];
  }

  float at(float light) const {
    const float u = clamp01(light) * static_cast<float>(kSteps);
    const int i = static_cast<int>(u);
    const size_t k = static_cast<size_t>(i);
    return mix(values_[k], values_[k + 1], u - static_cast<float>(i));
  }

 private:
  static constexpr int kSteps = 2048;
  std::array<float, kSteps + 2> values_;
};

const ToneCurve& tone_curve() {
  static const ToneCurve curve;
  return curve;
}

// Mean 0, standard deviation 1: the sum of a hash's four bytes.
float gaussian(uint32_t bits) {
  const uint32_t sum = (bits & 255u) + ((bits >> 8) & 255u) + ((bits >> 16) & 255u) + (bits >> 24);
  return (static_cast<float>(sum) - 510.0f) * (1.0f / 147.8f);
}

uint8_t to_byte(float v) {
  return static_cast<uint8_t>(clampf(v + 0.5f, 0.0f, 255.0f));
}

}  // namespace

Renderer::Renderer(Scene scene)
    : scene_(std::move(scene)),
      camera_(scene_.camera()),
      bodies_(make_bodies(scene_)),
      intersector_(scene_.road, scene_.camera_height_m),
      illumination_(scene_, bodies_),
      ground_(scene_, illumination_),
      sky_(scene_, illumination_.sun()),
      solids_(scene_, camera_, bodies_, illumination_, sky_) {
  const double step = exact_exp(-1.0 / scene_.world.lighting.haze_distance_m);
  double share = 1.0;
  for (float& clarity : clarity_) {
    clarity = static_cast<float>(share);
    share *= step;
  }
}

Vec3 Renderer::ground_point(float x, float y) const {
  const Vec3 direction = camera_.ray(x, y);
  const float forward = intersector_.distance(direction.z / direction.x);
  return {forward, forward * (direction.y / direction.x),
          forward < 0.0f ? 0.0f : scene_.road.height(forward)};
}

Rgb Renderer::scene_light(float x, float y) const {
  const Vec3 direction = camera_.ray(x, y);
  const float scale = 1.0f / direction.x;
  const float forward = intersector_.distance(direction.z * scale);
  const bool on_ground = forward >= 0.0f;
  float t = on_ground ? forward * scale : 1e9f;
  Rgb light;
  const bool on_solid = solids_.light(x, y, direction, t, light);
  if (!on_solid && on_ground) {
    light = ground_.light(forward, forward * (direction.y * scale));
  }
  if (on_solid || on_ground) {
    const size_t metres = static_cast<size_t>(clampf(t, 0.0f, 511.0f));
    light = mix(sky_.haze(), light, clarity_[metres]);
  } else {
    light = sky_.light(direction);
  }
  return light + solids_.glow(x, y);
}

Rgb Renderer::developed(float x, float y) const {
  const Sensor& sensor = scene_.world.sensor;
  const float dx = (x - kRoadCamera.centre_x) * (1.0f / 964.0f);
  const float dy = (y - kRoadCamera.centre_y) * (1.0f / 964.0f);
  const float gain = sensor.exposure * (1.0f - sensor.vignette * 0.6f * (dx * dx + dy * dy));
  const Rgb light = scene_light(x, y) * gain;
  const ToneCurve& tone = tone_curve();
  return {tone.at(light.r * (1.0f + sensor.warmth)), tone.at(light.g),
          tone.at(light.b * (1.0f - sensor.warmth))};
}

uint8_t Renderer::luma(int x, int y) const {
  const Rgb c = developed(static_cast<float>(x), static_cast<float>(y));
  const uint32_t pixel = static_cast<uint32_t>(y * kRoadCamera.width + x);
  const float noise = gaussian(mix32(scene_.frame_seed ^ (pixel * 0x9e3779b1u)));
  return to_byte(16.0f + 219.0f * (0.299f * c.r + 0.587f * c.g + 0.114f * c.b) +
                 scene_.world.sensor.noise * noise);
}

Chroma Renderer::chroma(int cx, int cy) const {
  const Rgb c =
      developed(2.0f * static_cast<float>(cx) + 0.5f, 2.0f * static_cast<float>(cy) + 0.5f);
  const uint32_t pixel = static_cast<uint32_t>(cy * kRoadCamera.width + cx);
  const uint32_t bits = mix32((scene_.frame_seed + 0x632be5abu) ^ (pixel * 0x85ebca77u));
  const float sigma = 0.5f * scene_.world.sensor.noise;
  return {to_byte(128.0f + 224.0f * (-0.168736f * c.r - 0.331264f * c.g + 0.5f * c.b) +
                  sigma * gaussian(bits)),
          to_byte(128.0f + 224.0f * (0.5f * c.r - 0.418688f * c.g - 0.081312f * c.b) +
                  sigma * gaussian(mix32(bits)))};
}

}  // namespace camshaft::roadnet
