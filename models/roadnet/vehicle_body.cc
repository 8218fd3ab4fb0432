// SPDX-License-Identifier: MIT
#include "models/roadnet/vehicle_body.h"

namespace camshaft::roadnet {
namespace {

constexpr float kWheelRadius_m = 0.33f;
constexpr Rgb kTyre{0.018f, 0.018f, 0.018f};
constexpr Rgb kGlass{0.02f, 0.024f, 0.028f};
constexpr Rgb kTailLamp{0.9f, 0.035f, 0.02f};
constexpr Rgb kHeadLamp{1.0f, 0.95f, 0.82f};

// Where the cabin's ends stand, metres in from the vehicle's ends: {rear low, rear high, front low,
// front high, side inset at the roof}.
struct CabinShape {
  float rear_low, rear_high, front_low, front_high, roof_inset;
};

CabinShape cabin_shape(VehicleKind kind) {
  switch (kind) {
    case VehicleKind::kSedan:
      return {0.65f, 1.35f, 1.25f, 2.05f, 0.22f};
    case VehicleKind::kEstate:
      return {0.06f, 0.42f, 1.15f, 1.85f, 0.20f};
    case VehicleKind::kVan:
    case VehicleKind::kTruck:
      break;
  }
  return {0.03f, 0.12f, 0.75f, 1.35f, 0.12f};
}

ConvexHull::Plane plane_through(Vec3 normal, Vec3 point) {
  const float length = std::sqrt(dot(normal, normal));
  const Vec3 unit = normal * (1.0f / length);
  return {unit, dot(unit, point)};
}

bool between(float v, float lo, float hi) {
  return v >= lo && v <= hi;
}

}  // namespace

bool ConvexHull::intersect(Vec3 origin, Vec3 direction, float& t, Face& face) const {
  float enter = 0.0f;
  float leave = 1e9f;
  int entered = -1;
  for (int i = 0; i < 6; ++i) {
    const Plane& plane = planes[static_cast<size_t>(i)];
    const float gap = dot(plane.normal, origin) - plane.offset;
    const float rate = dot(plane.normal, direction);
    if (rate == 0.0f) {
      if (gap > 0.0f) {
        return false;
      }
      continue;
    }
    const float at = -gap / rate;
    if (rate < 0.0f) {
      if (at > enter) {
        enter = at;
        entered = i;
      }
    } else {
      leave = minf(leave, at);
    }
    if (enter > leave) {
      return false;
    }
  }
  if (entered < 0) {
    return false;
  }
  t = enter;
  face = static_cast<Face>(entered);
  return true;
}

ConvexHull make_box(Vec3 low, Vec3 high) {
  ConvexHull hull;
  hull.planes = {{{{-1, 0, 0}, -low.x},
                  {{1, 0, 0}, high.x},
                  {{0, 1, 0}, high.y},
                  {{0, -1, 0}, -low.y},
                  {{0, 0, 1}, high.z},
                  {{0, 0, -1}, -low.z}}};
  return hull;
}

VehicleBody::VehicleBody(const Vehicle& vehicle) : vehicle_(vehicle) {
  const bool truck = vehicle.kind == VehicleKind::kTruck;
  floor_m_ = truck ? 0.95f : 0.24f;
  belt_m_ = truck ? vehicle.height_m
                  : (vehicle.kind == VehicleKind::kVan ? 0.52f : 0.62f) * vehicle.height_m;
  has_cabin_ = !truck;
  build_hulls();
}

void VehicleBody::build_hulls() {
  const float l = 0.5f * vehicle_.length_m;
  const float w = 0.5f * vehicle_.width_m;
  const float h = vehicle_.height_m;
  hulls_[kWheelZone] = make_box({-l + 0.12f, -w + 0.02f, 0.0f}, {l - 0.12f, w - 0.02f, floor_m_});
  hulls_[kBody] = make_box({-l, -w, floor_m_}, {l, w, belt_m_});
  const CabinShape c = cabin_shape(vehicle_.kind);
  const float rise = h - belt_m_;
  ConvexHull cabin = make_box({-l, -w, belt_m_}, {l, w, h});
  if (has_cabin_) {
    cabin.planes[0] =
        plane_through({-rise, 0, c.rear_high - c.rear_low}, {-l + c.rear_low, 0, belt_m_});
    cabin.planes[1] =
        plane_through({rise, 0, c.front_high - c.front_low}, {l - c.front_low, 0, belt_m_});
    cabin.planes[2] = plane_through({0, rise, c.roof_inset}, {0, w - 0.03f, belt_m_});
    cabin.planes[3] = plane_through({0, -rise, c.roof_inset}, {0, -w + 0.03f, belt_m_});
  }
  hulls_[kCabin] = cabin;
}

Vec3 VehicleBody::to_local(Vec3 point) const {
  return turn_to_local(point - vehicle_.centre);
}

// The road's slope is taken out by a shear, which keeps hulls upright and rays straight.
Vec3 VehicleBody::turn_to_local(Vec3 v) const {
  return {v.x * vehicle_.cosine + v.y * vehicle_.sine, v.y * vehicle_.cosine - v.x * vehicle_.sine,
          v.z - v.x * vehicle_.slope};
}

Vec3 VehicleBody::turn_to_car(Vec3 v) const {
  const float x = v.x * vehicle_.cosine - v.y * vehicle_.sine;
  return {x, v.x * vehicle_.sine + v.y * vehicle_.cosine, v.z + x * vehicle_.slope};
}

Vec3 VehicleBody::to_car(Vec3 local) const {
  return turn_to_car(local) + vehicle_.centre;
}

bool VehicleBody::intersect(Vec3 origin, Vec3 direction, float& t, int& part, Face& face) const {
  const Vec3 o = to_local(origin);
  const Vec3 d = turn_to_local(direction);
  bool met = false;
  for (int i = 0; i < (has_cabin_ ? 3 : 2); ++i) {
    float at = 0;
    Face entered{};
    if (hulls_[static_cast<size_t>(i)].intersect(o, d, at, entered) && (!met || at < t)) {
      t = at;
      part = i;
      face = entered;
      met = true;
    }
  }
  return met;
}

bool VehicleBody::is_wheel(Vec3 local) const {
  const float axle = 0.5f * vehicle_.length_m - 0.85f;
  const float along = absf(local.x) - axle;
  const float up = local.z - kWheelRadius_m;
  return along * along + up * up < kWheelRadius_m * kWheelRadius_m;
}

void VehicleBody::colour_end(Vec3 local, bool rear, SurfaceSample& sample) const {
  const float w = 0.5f * vehicle_.width_m;
  const float h = belt_m_ - floor_m_;
  const float up = (local.z - floor_m_) / h;
  const float side = absf(local.y);
  const bool truck = !has_cabin_;
  const bool lamp = truck ? between(side, w - 0.45f, w - 0.08f) && between(up, 0.01f, 0.07f)
                          : between(side, w - 0.40f, w - 0.05f) && between(up, 0.60f, 0.90f);
  if (lamp) {
    sample.albedo = rear ? Rgb{0.32f, 0.02f, 0.015f} : Rgb{0.6f, 0.6f, 0.6f};
    const float power = rear ? (vehicle_.braking    ? 2.2f
                                : vehicle_.lamps_on ? 0.5f
                                                    : 0.0f)
                             : (vehicle_.lamps_on ? 3.5f : 0.0f);
    sample.emission = (rear ? kTailLamp : kHeadLamp) * power;
    sample.gloss = 0.1f;
  } else if (truck) {
    const bool frame = side < 0.03f || side > w - 0.07f || up > 0.97f || up < 0.1f;
    sample.albedo = frame ? vehicle_.paint * 0.45f : vehicle_.paint;
  } else if (side < 0.26f && between(up, 0.34f, 0.34f + 0.11f / h)) {
    sample.albedo = {0.65f, 0.65f, 0.6f};
  } else if (up < 0.28f || (!rear && side < 0.6f * w && up < 0.75f)) {
    sample.albedo = {0.03f, 0.03f, 0.03f};
  }
}

void VehicleBody::colour_side(Vec3 local, SurfaceSample& sample) const {
  const float axle = 0.5f * vehicle_.length_m - 0.85f;
  const float along = absf(local.x) - axle;
  const float up = local.z - kWheelRadius_m;
  const float r2 = along * along + up * up;
  if (r2 < 0.16f) {
    sample.albedo = r2 < 0.035f ? Rgb{0.3f, 0.3f, 0.31f} : kTyre;
    sample.gloss = 0.0f;
  } else if (absf(local.x + 0.1f) < 0.02f || local.z < floor_m_ + 0.1f) {
    sample.albedo = sample.albedo * 0.4f;
  }
}

void VehicleBody::colour_cabin(Vec3 local, Face face, SurfaceSample& sample) const {
  const float up = (local.z - belt_m_) / (vehicle_.height_m - belt_m_);
  const float w = 0.5f * vehicle_.width_m;
  bool window = false;
  if (face == Face::kRear || face == Face::kFront) {
    window = between(up, 0.1f, 0.88f) && absf(local.y) < w - 0.12f - 0.15f * up;
  } else if (face == Face::kLeft || face == Face::kRight) {
    const bool pillar = absf(local.x + 0.15f) < 0.06f;
    const bool closed = vehicle_.kind == VehicleKind::kVan && local.x < 0.2f * vehicle_.length_m;
    window = between(up, 0.08f, 0.85f) && !pillar && !closed;
  }
  if (window) {
    sample.albedo = kGlass;
    sample.gloss = 0.22f;
  }
}

SurfaceSample VehicleBody::sample(Vec3 point, int part, Face face) const {
  const Vec3 local = to_local(point);
  SurfaceSample sample;
  const ConvexHull& hull = hulls_[static_cast<size_t>(part)];
  sample.normal = turn_to_car(hull.planes[static_cast<size_t>(face)].normal);
  if (part == kWheelZone) {
    const bool end = face == Face::kRear || face == Face::kFront;
    const bool tyre = end ? absf(local.y) > 0.5f * vehicle_.width_m - (has_cabin_ ? 0.24f : 0.6f)
                          : is_wheel(local);
    const bool bar =
        !has_cabin_ && end && between(local.z, 0.45f, 0.60f);  // a truck's underrun bar
    sample.albedo = bar ? Rgb{0.12f, 0.12f, 0.12f} : tyre ? kTyre : Rgb{0.006f, 0.006f, 0.006f};
    return sample;
  }
  sample.albedo = vehicle_.paint;
  sample.gloss = face == Face::kTop ? 0.12f : 0.05f;
  if (part == kCabin) {
    colour_cabin(local, face, sample);
  } else if (face == Face::kRear || face == Face::kFront) {
    colour_end(local, face == Face::kRear, sample);
  } else if (face == Face::kLeft || face == Face::kRight) {
    colour_side(local, sample);
  }
  return sample;
}

bool VehicleBody::shades(Vec3 ground, Vec3 sun) const {
  const Vec3 o = to_local(ground);
  const Vec3 d = turn_to_local(sun);
  float t = 0;
  Face face{};
  return hulls_[kBody].intersect(o, d, t, face) ||
         (has_cabin_ && hulls_[kCabin].intersect(o, d, t, face));
}

float VehicleBody::ambient_share(Vec3 ground) const {
  const Vec3 local = to_local(ground);
  const float out_x = maxf(absf(local.x) - 0.5f * vehicle_.length_m, 0.0f);
  const float out_y = maxf(absf(local.y) - 0.5f * vehicle_.width_m, 0.0f);
  const float out2 = out_x * out_x + out_y * out_y;
  return 0.12f + 0.88f * clamp01(out2 / (out2 + 0.12f * vehicle_.height_m));
}

Vec3 VehicleBody::corner(int i) const {
  const float x = 0.5f * vehicle_.length_m;
  const float y = 0.5f * vehicle_.width_m;
  return to_car(
      {(i & 1) != 0 ? x : -x, (i & 2) != 0 ? y : -y, (i & 4) != 0 ? vehicle_.height_m : 0.0f});
}

bool VehicleBody::rear_faces_camera() const {
  return vehicle_.centre.x * vehicle_.cosine + vehicle_.centre.y * vehicle_.sine > 0.0f;
}

Vec3 VehicleBody::lamp(int side) const {
  const float end = (rear_faces_camera() ? -0.5f : 0.5f) * vehicle_.length_m;
  const float up = has_cabin_ ? 0.75f : 0.04f;
  return to_car({end, static_cast<float>(side) * (0.5f * vehicle_.width_m - 0.22f),
                 floor_m_ + up * (belt_m_ - floor_m_)});
}

}  // namespace camshaft::roadnet
