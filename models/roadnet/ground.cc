// SPDX-License-Identifier: MIT
#include "models/roadnet/ground.h"

namespace camshaft::roadnet {
namespace {

constexpr float kDoubleGap_m = 0.16f;  // half the distance between a double line's middles

// Share of a box of `size` about `offset` that lies within +-half.
float box_coverage(float offset, float half, float size) {
  const float low = maxf(offset - 0.5f * size, -half);
  const float high = minf(offset + 0.5f * size, half);
  return maxf(high - low, 0.0f) / size;
}

// Contrast left of a texture with cells of `cell` metres, seen `per_m` footprints a metre.
float visible(float cell, float per_m) {
  return clamp01(1.5f * cell * per_m - 0.5f);
}

}  // namespace

GroundShader::GroundShader(const Scene& scene, const Illumination& illumination)
    : scene_(scene), illumination_(illumination), noise_(noise_field()) {
  const Markings& m = scene.world.markings;
  texture_s_ = scene.texture_s();
  left_d_ = m.asphalt_left_d();
  right_d_ = m.asphalt_right_d();
  per_lane_ = 1.0f / m.lane_width_m;
  blur_per_m_ = scene.world.sensor.blur_px / kRoadCamera.focal_px;
  per_height_ = 1.0f / scene.camera_height_m;
  for (size_t i = 0; i < m.lines.size(); ++i) {
    const double period = m.lines[i].period_m;
    dash_phase_[i] = static_cast<float>(wrap(scene.s + m.lines[i].phase_m, period));
  }
}

GroundShader::Footprint GroundShader::footprint(float x) const {
  const float across = maxf(x * blur_per_m_, 0.002f);
  return {across, across * maxf(x * per_height_, 1.0f)};
}

const LaneLine& GroundShader::nearest_line(float d, float& offset) const {
  const Markings& m = scene_.world.markings;
  int boundary = floor_int(d * per_lane_);
  boundary = boundary < -1 - m.lanes_right ? -1 - m.lanes_right
             : boundary > m.lanes_left     ? m.lanes_left
                                           : boundary;
  offset = d - m.boundary_d(boundary);
  return m.line(boundary);
}

float GroundShader::coverage(const LaneLine& line, float offset, float s,
                             const Footprint& size) const {
  const float half = 0.5f * line.width_m;
  if (line.kind == LineKind::kNone || absf(offset) > half + kDoubleGap_m + size.across) {
    return 0.0f;
  }
  if (line.kind == LineKind::kDouble) {
    return box_coverage(absf(offset) - kDoubleGap_m, half, size.across);
  }
  const float across = box_coverage(offset, half, size.across);
  if (line.kind == LineKind::kSolid) {
    return across;
  }
  const size_t index = static_cast<size_t>(&line - scene_.world.markings.lines.data());
  const float along = s + dash_phase_[index];
  const float u = along - line.period_m * static_cast<float>(floor_int(along / line.period_m));
  const float half_dash = 0.5f * line.dash_m;
  const float middle = u > half_dash + 0.5f * line.period_m ? half_dash + line.period_m : half_dash;
  const float sharp = box_coverage(u - middle, half_dash, size.along);
  const float average = line.dash_m / line.period_m;
  return across * mix(sharp, average, clamp01(size.along / line.period_m));
}

// Wear eats paint in specks and in longer patches; what is left keeps its colour.
float GroundShader::worn(const LaneLine& line, float s, float d) const {
  if (line.wear <= 0.0f) {
    return 1.0f;
  }
  const float specks = noise_.at(s * 8.0f, d * 16.0f);
  const float patches = noise_.at(s * 0.5f, d * 2.0f + 40.0f);
  const float left = 0.55f * specks + 0.45f * patches;
  return 0.15f + 0.85f * smoothstep(-0.12f, 0.12f, left - line.wear * 0.62f);
}

Rgb GroundShader::asphalt(const RoadPoint& road, float s, const Footprint& size) const {
  const Surface& surface = scene_.world.surface;
  const float width = scene_.world.markings.lane_width_m;
  float level = 1.0f + surface.blotches * (noise_.at(s * 0.25f, road.d * 0.5f + 90.0f) - 0.5f);
  const float per_m = 1.0f / size.along;
  const float grain = visible(0.12f, per_m);
  if (grain > 0.0f) {
    level += surface.grain * grain * (noise_.at(s * 8.0f, road.d * 8.0f) - 0.5f);
  }
  const float stains = visible(0.6f, per_m);
  if (stains > 0.0f) {
    level += 0.6f * surface.blotches * stains * (noise_.at(s, road.d * 2.0f) - 0.5f);
  }
  const float in_lane = road.d - width * static_cast<float>(floor_int(road.d * per_lane_ + 0.5f));
  const float from_track = absf(in_lane) - 0.78f;
  level *= 1.0f - surface.tracks / (1.0f + 14.0f * from_track * from_track);
  if (surface.seam > 0.0f) {
    const float bend = 0.12f * (noise_.at(s * 0.25f, 7.5f) - 0.5f);
    level *= 1.0f - surface.seam * box_coverage(in_lane - surface.seam_d - bend, 0.03f,
                                                maxf(size.across, 0.01f));
  }
  return surface.asphalt * maxf(level, 0.1f);
}

Rgb GroundShader::verge(float s, float d, const Footprint& size) const {
  const Roadside& r = scene_.world.roadside;
  const float broad = noise_.at(s * 0.25f, d * 0.25f + 60.0f);
  const float fine = noise_.at(s * 4.0f, d * 4.0f + 30.0f) - 0.5f;
  const Rgb ground = mix(r.ground, r.ground_alt, smoothstep(0.3f, 0.7f, broad));
  return ground * (1.0f + 0.7f * visible(0.25f, 1.0f / size.along) * fine);
}

Rgb GroundShader::light(float x, float y) const {
  const RoadPoint road = scene_.road.locate(x, y);
  const float s = road.s + texture_s_;
  const Footprint size = footprint(x);
  const Rgb light = illumination_.on_ground(x, y, road);
  // The asphalt's edge is ragged by some 15 cm.
  const float beyond = maxf(road.d - left_d_, right_d_ - road.d);
  const float edge = beyond > 0.5f || beyond < -0.5f
                         ? beyond
                         : beyond + 0.3f * (noise_.at(s * 2.0f, road.d) - 0.5f);
  const float off_road = clamp01(edge / maxf(size.across, 0.04f) + 0.5f);
  if (off_road >= 1.0f) {
    return verge(s, road.d, size) * light;
  }
  Rgb albedo = asphalt(road, s, size);
  float offset = 0;
  const LaneLine& line = nearest_line(road.d, offset);
  const float paint = coverage(line, offset, road.s, size);
  if (paint > 0.0f) {
    const float reflected = 1.0f + 1.2f * minf(illumination_.headlights(x, y), 1.0f);
    albedo = mix(albedo, line.albedo * reflected, paint * worn(line, s, road.d));
  }
  if (off_road > 0.0f) {
    albedo = mix(albedo, verge(s, road.d, size), off_road);
  }
  return albedo * light;
}

float GroundShader::paint_share(float x, float y) const {
  const RoadPoint road = scene_.road.locate(x, y);
  float offset = 0;
  const LaneLine& line = nearest_line(road.d, offset);
  return coverage(line, offset, road.s, footprint(x));
}

}  // namespace camshaft::roadnet
