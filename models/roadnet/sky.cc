// SPDX-License-Identifier: MIT
#include "models/roadnet/sky.h"

namespace camshaft::roadnet {

SkyShader::SkyShader(const Scene& scene, Vec3 sun)
    : scene_(scene), noise_(noise_field()), sun_(sun) {
  const Lighting& light = scene.world.lighting;
  sun_up_ = light.sun.g > 0.0f;
  heading_ = static_cast<float>(scene.world_heading_rad);
  haze_ = light.sky_horizon * 0.9f;
  const Rgb lit = light.ambient + light.sun * (0.5f * maxf(sun.z, 0.0f));
  hills_ = mix(scene.world.roadside.foliage * lit, haze_, 0.55f);
}

float SkyShader::skyline(float azimuth) const {
  const float a = azimuth + heading_;
  const float broad = noise_.at(a * 5.0f + 11.0f, 3.5f);
  const float fine = noise_.at(a * 40.0f + 5.0f, 9.5f);
  return scene_.world.roadside.hill_height * (broad + 0.15f * fine);
}

Rgb SkyShader::mirrored(float rise) const {
  const Lighting& light = scene_.world.lighting;
  return mix(light.sky_horizon, light.sky_zenith, clamp01(rise));
}

Rgb SkyShader::light(Vec3 direction) const {
  const Lighting& light = scene_.world.lighting;
  const float rise = direction.z / direction.x;
  const float azimuth = direction.y / direction.x;
  if (rise < skyline(azimuth)) {
    return hills_;
  }
  const float up = maxf(rise, 0.0f);
  Rgb sky = mix(light.sky_horizon, light.sky_zenith, clamp01(up * 3.0f));
  if (light.cloud_cover > 0.0f) {
    const float scale = 1.2f / (up + 0.06f);
    const float cloud = 0.65f * noise_.at(azimuth * scale + heading_ * 8.0f, scale) +
                        0.35f * noise_.at(azimuth * scale * 3.0f + heading_ * 24.0f, scale * 3.0f);
    const float cover = smoothstep(1.0f - light.cloud_cover, 1.25f - light.cloud_cover, cloud);
    sky = mix(sky, light.sky_horizon * (0.75f + 0.35f * cloud), cover * 0.8f);
  }
  if (sun_up_) {
    const float length2 = dot(direction, direction);
    const float along = maxf(dot(direction, sun_), 0.0f);
    const float off2 =
        maxf(1.0f - along * along / length2, 0.0f);  // sine^2 of the angle to the sun
    sky = sky + light.sun * (along > 0.0f ? 0.004f / (off2 + 0.002f) : 0.0f);
  }
  return sky;
}

}  // namespace camshaft::roadnet
