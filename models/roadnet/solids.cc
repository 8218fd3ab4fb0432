// SPDX-License-Identifier: MIT
#include "models/roadnet/solids.h"

namespace camshaft::roadnet {
namespace {

constexpr float kDeckHalfLength_m = 150.0f;
constexpr float kPillar_m = 1.1f;
constexpr Rgb kBark{0.06f, 0.045f, 0.03f};

Vec3 to_bridge(const Bridge& bridge, Vec3 v) {
  return {v.x * bridge.cosine + v.y * bridge.sine, v.y * bridge.cosine - v.x * bridge.sine, v.z};
}

}  // namespace

Solids::Solids(const Scene& scene, const CameraPose& camera, const std::vector<VehicleBody>& bodies,
               const Illumination& illumination, const SkyShader& sky)
    : scene_(scene),
      camera_(camera),
      bodies_(bodies),
      illumination_(illumination),
      sky_(sky),
      noise_(noise_field()),
      eye_{0, 0, camera.height_m()},
      columns_((camera.intrinsics().width + kTile_px - 1) / kTile_px),
      rows_((camera.intrinsics().height + kTile_px - 1) / kTile_px) {
  collect();
  fill_tiles();
}

void Solids::collect() {
  for (size_t i = 0; i < bodies_.size(); ++i) {
    Vec3 corners[8];
    for (int k = 0; k < 8; ++k) {
      corners[k] = bodies_[i].corner(k);
    }
    add_bounds({Kind::kVehicle, static_cast<uint16_t>(i)}, corners, 8);
    if (bodies_[i].vehicle().lamps_on && scene_.world.lighting.daylight == Daylight::kNight) {
      add_glows(bodies_[i]);
    }
  }
  for (size_t i = 0; i < scene_.props.size(); ++i) {
    add_prop(i);
  }
  for (size_t i = 0; i < scene_.bridges.size(); ++i) {
    add_bridge(i);
  }
}

// A thing that reaches behind the camera may appear anywhere.
void Solids::add_bounds(Entry entry, const Vec3* corners, int count) {
  const float width = static_cast<float>(camera_.intrinsics().width);
  const float height = static_cast<float>(camera_.intrinsics().height);
  Bounds b{width, height, 0.0f, 0.0f, entry};
  for (int i = 0; i < count; ++i) {
    const Pixel p = camera_.project(corners[i]);
    if (!p.in_front) {
      b = {0.0f, 0.0f, width, height, entry};
      break;
    }
    b = {minf(b.x0, p.x - 1.0f), minf(b.y0, p.y - 1.0f), maxf(b.x1, p.x + 1.0f),
         maxf(b.y1, p.y + 1.0f), entry};
  }
  if (b.x1 >= 0.0f && b.y1 >= 0.0f && b.x0 < width && b.y0 < height) {
    bounds_.push_back(b);
  }
}

void Solids::add_prop(size_t index) {
  const Prop& p = scene_.props[index];
  const Vec3 end{p.foot.x + p.axis_x * p.length_m, p.foot.y + p.axis_y * p.length_m,
                 p.foot.z + p.end_rise_m};
  const Vec3 corners[4] = {p.foot + Vec3{0, 0, p.bottom_m}, p.foot + Vec3{0, 0, p.top_m},
                           end + Vec3{0, 0, p.bottom_m}, end + Vec3{0, 0, p.top_m}};
  add_bounds({Kind::kProp, static_cast<uint16_t>(index)}, corners, 4);
}

void Solids::add_bridge(size_t index) {
  const Bridge& b = scene_.bridges[index];
  const float half = 0.5f * (b.s_end - b.s_begin);
  const float top = b.clearance_m + b.thickness_m;
  BridgeParts parts;
  parts.deck = make_box({-half, -kDeckHalfLength_m, b.clearance_m}, {half, kDeckHalfLength_m, top});
  parts.left_pillar = make_box({-half * 0.7f, b.half_span_m, -1.0f},
                               {half * 0.7f, b.half_span_m + kPillar_m, b.clearance_m});
  parts.right_pillar = make_box({-half * 0.7f, -b.half_span_m - kPillar_m, -1.0f},
                                {half * 0.7f, -b.half_span_m, b.clearance_m});
  bridges_.push_back(parts);
  Vec3 corners[8];
  for (int i = 0; i < 8; ++i) {
    const float x = (i & 1) != 0 ? half : -half;
    const float y = (i & 2) != 0 ? kDeckHalfLength_m : -kDeckHalfLength_m;
    corners[i] = {b.centre.x + x * b.cosine - y * b.sine, b.centre.y + x * b.sine + y * b.cosine,
                  b.centre.z + ((i & 4) != 0 ? top : -1.0f)};
  }
  add_bounds({Kind::kBridge, static_cast<uint16_t>(index)}, corners, 8);
}

void Solids::add_glows(const VehicleBody& body) {
  const bool rear = body.rear_faces_camera();
  for (int side = -1; side <= 1; side += 2) {
    const Vec3 lamp = body.lamp(side);
    const Pixel p = camera_.project(lamp);
    if (!p.in_front) {
      continue;
    }
    const float radius =
        clampf(kRoadCamera.focal_px * (rear ? 0.35f : 0.9f) / lamp.x, 6.0f, 150.0f);
    const Rgb colour = rear ? Rgb{0.09f, 0.01f, 0.008f} : Rgb{0.35f, 0.33f, 0.28f};
    glows_.push_back({p.x, p.y, radius * radius, colour});
    const Entry entry{Kind::kGlow, static_cast<uint16_t>(glows_.size() - 1)};
    bounds_.push_back({p.x - radius, p.y - radius, p.x + radius, p.y + radius, entry});
  }
}

void Solids::fill_tiles() {
  const auto tile_range = [](float lo, float hi, int count, int& first, int& last) {
    const float limit = static_cast<float>(count - 1);
    first = static_cast<int>(clampf(lo / kTile_px, 0.0f, limit));
    last = static_cast<int>(clampf(hi / kTile_px, 0.0f, limit));
  };
  const auto for_tiles = [&](const Bounds& b, auto visit) {
    int c0 = 0, c1 = 0, r0 = 0, r1 = 0;
    tile_range(b.x0, b.x1, columns_, c0, c1);
    tile_range(b.y0, b.y1, rows_, r0, r1);
    for (int r = r0; r <= r1; ++r) {
      for (int c = c0; c <= c1; ++c) {
        visit(static_cast<size_t>(r * columns_ + c));
      }
    }
  };
  first_.assign(static_cast<size_t>(columns_ * rows_) + 1, 0);
  for (const Bounds& b : bounds_) {
    for_tiles(b, [&](size_t tile) { ++first_[tile + 1]; });
  }
  for (size_t i = 1; i < first_.size(); ++i) {
    first_[i] += first_[i - 1];
  }
  entries_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (const Bounds& b : bounds_) {
    for_tiles(b, [&](size_t tile) { entries_[next[tile]++] = b.entry; });
  }
}

size_t Solids::tile_of(float x, float y) const {
  const int c = static_cast<int>(x) / kTile_px;
  const int r = static_cast<int>(y) / kTile_px;
  return static_cast<size_t>(r * columns_ + c);
}

bool Solids::light(float x, float y, Vec3 direction, float& t, Rgb& light) const {
  const size_t tile = tile_of(x, y);
  Hit best;
  bool met = false;
  for (uint32_t i = first_[tile]; i < first_[tile + 1]; ++i) {
    Hit hit;
    hit.entry = entries_[i];
    const size_t index = hit.entry.index;
    float at = 0;
    bool meets = false;
    switch (hit.entry.kind) {
      case Kind::kVehicle:
        meets = bodies_[index].intersect(eye_, direction, at, hit.part, hit.face);
        break;
      case Kind::kProp:
        meets = meet_prop(scene_.props[index], direction, at, hit);
        break;
      case Kind::kBridge:
        meets = meet_bridge(scene_.bridges[index], bridges_[index], direction, at, hit);
        break;
      case Kind::kGlow:
        break;
    }
    if (meets && at < t) {
      t = at;
      best = hit;
      met = true;
    }
  }
  if (met) {
    const Vec3 point = eye_ + direction * t;
    const size_t index = best.entry.index;
    light = best.entry.kind == Kind::kVehicle ? vehicle_light(bodies_[index], point, best)
            : best.entry.kind == Kind::kProp  ? prop_light(scene_.props[index], point, best)
                                              : bridge_light(scene_.bridges[index], point, best);
  }
  return met;
}

Rgb Solids::glow(float x, float y) const {
  Rgb total;
  if (glows_.empty()) {
    return total;
  }
  const size_t tile = tile_of(x, y);
  for (uint32_t i = first_[tile]; i < first_[tile + 1]; ++i) {
    if (entries_[i].kind == Kind::kGlow) {
      const Glow& g = glows_[entries_[i].index];
      const float r2 = (x - g.x) * (x - g.x) + (y - g.y) * (y - g.y);
      const float k = clamp01(1.0f - r2 / g.radius2);
      total = total + g.colour * (k * k * k);
    }
  }
  return total;
}

bool Solids::meet_prop(const Prop& prop, Vec3 direction, float& t, Hit& hit) const {
  const float normal_x = -prop.axis_y;
  const float normal_y = prop.axis_x;
  const float rate = normal_x * direction.x + normal_y * direction.y;
  if (absf(rate) < 1e-6f) {
    return false;
  }
  t = (normal_x * prop.foot.x + normal_y * prop.foot.y) / rate;
  if (t <= 0.0f) {
    return false;
  }
  const Vec3 p = eye_ + direction * t;
  const float a = (p.x - prop.foot.x) * prop.axis_x + (p.y - prop.foot.y) * prop.axis_y;
  hit.along = a / prop.length_m;
  hit.up = p.z - prop.foot.z - prop.end_rise_m * hit.along;
  if (hit.along < 0.0f || hit.along > 1.0f || hit.up < prop.bottom_m || hit.up > prop.top_m) {
    return false;
  }
  if (prop.kind == PropKind::kRail) {
    return hit.up > 0.45f || a < 0.12f;  // the rail, or one of its posts
  }
  if (prop.kind != PropKind::kTree) {
    return true;
  }
  const float u = 2.0f * hit.along - 1.0f;
  const float v = (hit.up / prop.top_m - 0.6f) * 2.5f;
  if (absf(u) < 0.07f && v < 0.0f) {
    return true;
  }
  const float id = static_cast<float>(prop.seed & 1023u);
  const float ragged = noise_.at(u * 4.0f + id, v * 4.0f);
  return u * u + v * v < 0.45f + 0.55f * ragged;
}

bool Solids::meet_bridge(const Bridge& bridge, const BridgeParts& parts, Vec3 direction, float& t,
                         Hit& hit) const {
  const Vec3 o = to_bridge(bridge, eye_ - bridge.centre);
  const Vec3 d = to_bridge(bridge, direction);
  bool met = false;
  const ConvexHull* hulls[3] = {&parts.deck, &parts.left_pillar, &parts.right_pillar};
  for (int i = 0; i < 3; ++i) {
    float at = 0;
    Face face{};
    if (hulls[i]->intersect(o, d, at, face) && (!met || at < t)) {
      t = at;
      hit.part = i;
      hit.face = face;
      met = true;
    }
  }
  return met;
}

Rgb Solids::prop_light(const Prop& prop, Vec3 point, const Hit& hit) const {
  Vec3 normal{-prop.axis_y, prop.axis_x, 0};
  normal = dot(normal, point) > 0.0f ? normal * -1.0f : normal;
  Rgb albedo = prop.albedo;
  const float id = static_cast<float>(prop.seed & 1023u);
  if (prop.kind == PropKind::kTree) {
    const float u = 2.0f * hit.along - 1.0f;
    const float v = hit.up / prop.top_m;
    const bool trunk = absf(u) < 0.07f && v < 0.28f;
    const float leaves =
        0.6f * noise_.at(u * 9.0f + id, v * 14.0f) + 0.4f * noise_.at(u * 31.0f + id, v * 47.0f);
    albedo = trunk ? kBark : albedo * ((0.45f + 0.9f * leaves) * (0.55f + 0.6f * v));
    normal = {normal.x * 0.6f, normal.y * 0.6f, 0.6f};
  } else if (prop.kind == PropKind::kSign) {
    const bool rim = hit.along < 0.05f || hit.along > 0.95f;
    const bool text = noise_.at(hit.along * 9.0f + id, hit.up * 7.0f) > 0.62f;
    albedo = rim || text ? Rgb{0.65f, 0.65f, 0.65f} : albedo;
  } else if (prop.kind == PropKind::kRail && hit.up > 0.45f) {
    const float wave = absf(hit.up - 0.615f) * 6.0f;  // the profile's two ridges
    albedo = albedo * (0.55f + 0.6f * clamp01(wave));
  } else if (prop.kind == PropKind::kWall) {
    albedo = albedo * (0.8f + 0.4f * noise_.at(point.x * 0.5f + scene_.texture_s() * 0.5f, hit.up));
  }
  return albedo * illumination_.on_surface(point, normal);
}

Rgb Solids::bridge_light(const Bridge& bridge, Vec3 point, const Hit& hit) const {
  constexpr Vec3 kNormals[6] = {{-1, 0, 0}, {1, 0, 0}, {0, 1, 0},
                                {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  const Vec3 n = kNormals[static_cast<size_t>(hit.face)];
  const Vec3 normal{n.x * bridge.cosine - n.y * bridge.sine,
                    n.x * bridge.sine + n.y * bridge.cosine, n.z};
  const float stain = noise_.at(point.y * 0.5f, point.z * 2.0f);
  const float under = hit.face == Face::kBottom ? 0.4f : 1.0f;
  return bridge.albedo * illumination_.on_surface(point, normal) * (under * (0.8f + 0.4f * stain));
}

Rgb Solids::vehicle_light(const VehicleBody& body, Vec3 point, const Hit& hit) const {
  const SurfaceSample sample = body.sample(point, hit.part, hit.face);
  Rgb light = sample.albedo * illumination_.on_surface(point, sample.normal) + sample.emission;
  if (sample.gloss > 0.0f) {
    light = light + sky_.mirrored(0.3f + sample.normal.z) * sample.gloss;
  }
  return light;
}

}  // namespace camshaft::roadnet
