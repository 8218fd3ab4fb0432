// SPDX-License-Identifier: MIT
#include <array>

#include "models/roadnet/noise.h"
#include "models/roadnet/surroundings.h"

namespace camshaft::roadnet {
namespace {

constexpr double kNearest_m = -12.0;   // other lanes: from beside the car ...
constexpr double kFarthest_m = 190.0;  // ... to where a car is some 10 pixels wide
constexpr float kLaneChange_s = 4.0f;

Rgb car_paint(Rng& rng) {
  constexpr std::array<Rgb, 8> kPaints{{{0.75f, 0.75f, 0.74f},
                                        {0.04f, 0.04f, 0.045f},
                                        {0.32f, 0.33f, 0.35f},
                                        {0.12f, 0.13f, 0.14f},
                                        {0.04f, 0.08f, 0.28f},
                                        {0.42f, 0.03f, 0.03f},
                                        {0.45f, 0.40f, 0.32f},
                                        {0.05f, 0.16f, 0.09f}}};
  const Rgb paint = kPaints[static_cast<size_t>(rng.below(8))];
  return paint * rng.uniform(0.7f, 1.25f);
}

Vehicle make_vehicle(uint64_t id, bool lamps_on) {
  Rng rng(id);
  Vehicle v;
  const float pick = rng.uniform();
  if (pick < 0.45f) {
    v.kind = VehicleKind::kSedan;
    v.length_m = rng.uniform(4.2f, 5.0f);
    v.width_m = rng.uniform(1.72f, 1.92f);
    v.height_m = rng.uniform(1.40f, 1.52f);
  } else if (pick < 0.75f) {
    v.kind = VehicleKind::kEstate;
    v.length_m = rng.uniform(4.1f, 4.9f);
    v.width_m = rng.uniform(1.78f, 2.0f);
    v.height_m = rng.uniform(1.50f, 1.85f);
  } else if (pick < 0.88f) {
    v.kind = VehicleKind::kVan;
    v.length_m = rng.uniform(4.8f, 6.2f);
    v.width_m = rng.uniform(1.95f, 2.1f);
    v.height_m = rng.uniform(2.0f, 2.7f);
  } else {
    v.kind = VehicleKind::kTruck;
    v.length_m = rng.uniform(8.0f, 15.0f);
    v.width_m = rng.uniform(2.35f, 2.5f);
    v.height_m = rng.uniform(3.2f, 3.9f);
  }
  v.paint = car_paint(rng);
  v.braking = rng.chance(0.15f);
  v.lamps_on = lamps_on || rng.chance(0.08f);
  return v;
}

// Puts the middle of the vehicle at (s, d) of the road, turned by `turn_rad` against it.
void place(const Scene& scene, float s, float d, float turn_rad, bool oncoming, Vehicle& v) {
  v.centre = scene.road.point(s, d);
  v.road_d = d;
  const RoadCentre road = scene.road.centre(v.centre.x);
  const float sine = static_cast<float>(exact_sin(turn_rad));
  const float cosine = static_cast<float>(exact_cos(turn_rad));
  const float way = oncoming ? -1.0f : 1.0f;
  v.sine = way * (road.sine * cosine + road.cosine * sine);
  v.cosine = way * (road.cosine * cosine - road.sine * sine);
  v.slope = scene.road.slope(v.centre.x);
}

// The lead keeps a slowly swinging gap; in some drives it leaves for the next lane.
void add_lead(Scene& scene) {
  const World& world = scene.world;
  const Motion& m = world.motion;
  if (!m.lead) {
    return;
  }
  const double phase = 2.0 * kPi * scene.time_s / m.lead_period_s + m.lead_phase;
  const float swing = 1.0f + m.lead_swing * static_cast<float>(exact_sin(phase));
  const float gap = clampf(m.lead_gap_m * swing, 5.0f, 99.0f);
  Vehicle lead = make_vehicle(hash_of(world.seed, 0x1ead), world.lighting.lamps_on);
  Rng rng(hash_of(world.seed, 0x1eae));
  const float wander =
      rng.uniform(0.0f, 0.25f) * static_cast<float>(exact_sin(scene.time_s * 0.5 + m.lead_phase));
  float d = wander;
  float turn = 0;
  if (m.lead_leaves_at_s >= 0) {
    const float time = static_cast<float>(scene.time_s) - m.lead_leaves_at_s;
    const float progress = smoothstep(0.0f, kLaneChange_s, time);
    const float side = static_cast<float>(m.lead_leaves_to) * world.markings.lane_width_m;
    d += side * progress;
    const float k = clamp01(time / kLaneChange_s);
    turn = side * 6.0f * k * (1.0f - k) / (kLaneChange_s * m.speed_mps);
  }
  const float ahead = static_cast<float>(scene.course_s - scene.s) + gap;
  place(scene, scene.road.centre(0.0f).s + ahead + 0.5f * lead.length_m, d, turn, false, lead);
  scene.vehicles.push_back(lead);
}

// One lane's stream: places `spacing` apart that drift past at the lane's own speed.
void add_lane(Scene& scene, int lane, bool oncoming) {
  const World& world = scene.world;
  const Motion& m = world.motion;
  Rng rng(hash_of(world.seed, 0x7aff1c, static_cast<uint64_t>(lane + 8)));
  const double spacing = rng.uniform(28.0f, 60.0f);
  const float kind_speed = rng.uniform(-0.2f, 0.2f) * m.speed_mps;
  const double drift = oncoming ? -(2.0 * m.speed_mps + kind_speed) : kind_speed;
  const double moved = drift * scene.time_s + spacing * rng.uniform() + (scene.course_s - scene.s);
  const int64_t first = static_cast<int64_t>(std::floor((kNearest_m - moved) / spacing)) + 1;
  for (int64_t i = first; static_cast<double>(i) * spacing + moved < kFarthest_m; ++i) {
    const uint64_t id =
        hash_of(hash_of(world.seed, static_cast<uint64_t>(lane + 8)), static_cast<uint64_t>(i));
    Rng place_rng(hash_of(id, 1));
    if (!place_rng.chance(m.traffic)) {
      continue;
    }
    Vehicle v = make_vehicle(id, world.lighting.lamps_on);
    const double jitter = place_rng.uniform(-0.2f, 0.2f) * spacing;
    const float s = static_cast<float>(static_cast<double>(i) * spacing + moved + jitter);
    const float d =
        static_cast<float>(lane) * world.markings.lane_width_m + place_rng.uniform(-0.25f, 0.25f);
    if (s < 4.0f) {
      continue;  // beside or behind the camera: out of its sight
    }
    place(scene, s, d, 0.0f, oncoming, v);
    scene.vehicles.push_back(v);
  }
}

}  // namespace

void add_traffic(Scene& scene) {
  const World& world = scene.world;
  add_lead(scene);
  for (int lane = -world.markings.lanes_right; lane <= world.markings.lanes_left; ++lane) {
    const bool own = lane == 0;
    const bool lead_goes_there =
        world.motion.lead_leaves_at_s >= 0 && lane == world.motion.lead_leaves_to;
    if (own || lead_goes_there) {
      continue;
    }
    add_lane(scene, lane, lane * world.markings.oncoming > 0);
  }
}

}  // namespace camshaft::roadnet
