// SPDX-License-Identifier: MIT
#include "models/roadnet/world.h"

#include <utility>

#include "models/roadnet/noise.h"

namespace camshaft::roadnet {
namespace {

constexpr float kDegree = 0.0174532925f;

Rgb paint(Rng& rng, bool yellow) {
  const float level = rng.uniform(0.55f, 0.85f);
  return yellow ? Rgb{level, level * rng.uniform(0.55f, 0.72f), level * rng.uniform(0.08f, 0.25f)}
                : Rgb{level, level, level * rng.uniform(0.92f, 1.0f)};
}

LaneLine make_line(Rng& rng, LineKind kind, bool yellow) {
  constexpr std::array<std::array<float, 2>, 5> kDashes{
      {{3, 12}, {6, 18}, {3, 9}, {4, 12}, {2, 6}}};
  LaneLine line;
  line.kind = kind;
  line.width_m = rng.uniform(0.10f, 0.20f);
  const auto& dash = kDashes[static_cast<size_t>(rng.below(static_cast<int>(kDashes.size())))];
  line.dash_m = dash[0];
  line.period_m = dash[1];
  line.phase_m = rng.uniform(0.0f, line.period_m);
  line.wear = rng.chance(0.35f) ? rng.uniform(0.2f, 0.75f) : rng.uniform(0.0f, 0.2f);
  line.albedo = paint(rng, yellow);
  return line;
}

// Sides as for driving on the right; `mirror` turns them round.
void lay_lanes(Rng& rng, World& world) {
  Markings& m = world.markings;
  const bool divided = world.road_class == RoadClass::kMotorway || rng.chance(0.15f);
  m.lane_width_m =
      world.road_class == RoadClass::kMotorway ? rng.uniform(3.4f, 3.9f) : rng.uniform(2.9f, 3.7f);
  if (divided) {
    m.lanes_left = rng.below(3);
    m.lanes_right = rng.below(3);
  } else {
    m.lanes_left = 1 + (rng.chance(0.2f) ? 1 : 0);
    m.lanes_right = rng.chance(0.2f) ? 1 : 0;
    m.oncoming = 1;
  }
  m.shoulder_left_m = divided ? rng.uniform(0.4f, 1.5f) : rng.uniform(0.2f, 1.2f);
  m.shoulder_right_m = divided ? rng.uniform(0.5f, 3.5f) : rng.uniform(0.2f, 1.5f);
}

void paint_lines(Rng& rng, World& world) {
  Markings& m = world.markings;
  const bool yellow_middle = rng.chance(0.6f);
  const LaneLine divider = make_line(rng, LineKind::kDashed, false);
  for (int b = -1 - m.lanes_right; b <= m.lanes_left; ++b) {
    const bool outer = b == m.lanes_left || b == -1 - m.lanes_right;
    LaneLine line = divider;
    line.wear = clamp01(line.wear + rng.uniform(-0.1f, 0.15f));
    if (m.oncoming != 0 && b == 0) {
      const int style = rng.below(4);
      line = make_line(rng,
                       style == 0   ? LineKind::kDouble
                       : style == 1 ? LineKind::kSolid
                                    : LineKind::kDashed,
                       yellow_middle);
    } else if (outer) {
      line =
          make_line(rng, LineKind::kSolid, m.oncoming == 0 && b == m.lanes_left && yellow_middle);
    } else if (rng.chance(0.12f)) {
      line = make_line(rng, LineKind::kSolid, false);
    }
    const float unpainted = world.road_class == RoadClass::kMotorway ? 0.02f : 0.12f;
    if (rng.chance(unpainted)) {
      line.kind = LineKind::kNone;
    }
    m.line(b) = line;
  }
}

void mirror(World& world) {
  Markings& m = world.markings;
  for (int i = 0; i < Markings::kBoundaries / 2; ++i) {
    std::swap(m.lines[static_cast<size_t>(i)],
              m.lines[static_cast<size_t>(Markings::kBoundaries - 1 - i)]);
  }
  std::swap(m.lanes_left, m.lanes_right);
  std::swap(m.shoulder_left_m, m.shoulder_right_m);
  m.oncoming = -m.oncoming;
  std::swap(world.roadside.barrier_left, world.roadside.barrier_right);
}

Surface make_surface(Rng& rng) {
  Surface s;
  const float level = rng.chance(0.2f) ? rng.uniform(0.22f, 0.36f) : rng.uniform(0.07f, 0.22f);
  const float tint = rng.uniform(-0.06f, 0.06f);
  s.asphalt = {level * (1.0f + tint), level, level * (1.0f - tint)};
  s.grain = rng.uniform(0.1f, 0.5f);
  s.blotches = rng.uniform(0.1f, 0.5f);
  s.tracks = rng.uniform(-0.12f, 0.25f);
  s.seam_d = rng.uniform(-1.5f, 1.5f);
  s.seam = rng.chance(0.35f) ? rng.uniform(0.2f, 0.7f) : 0.0f;
  return s;
}

BarrierKind make_barrier(Rng& rng, float probability) {
  if (!rng.chance(probability)) {
    return BarrierKind::kNone;
  }
  return rng.chance(0.65f) ? BarrierKind::kRail : BarrierKind::kWall;
}

Roadside make_roadside(Rng& rng, RoadClass road_class) {
  constexpr std::array<Rgb, 5> kGrounds{{{0.10f, 0.17f, 0.05f},
                                         {0.26f, 0.21f, 0.10f},
                                         {0.32f, 0.25f, 0.16f},
                                         {0.20f, 0.20f, 0.19f},
                                         {0.06f, 0.11f, 0.03f}}};
  Roadside r;
  const int kind = road_class == RoadClass::kCity ? 3 : rng.below(5);
  r.ground = kGrounds[static_cast<size_t>(kind)] * rng.uniform(0.7f, 1.3f);
  r.ground_alt = mix(r.ground, Rgb{0.25f, 0.22f, 0.14f}, rng.uniform(0.2f, 0.7f));
  r.foliage = {rng.uniform(0.04f, 0.12f), rng.uniform(0.08f, 0.17f), rng.uniform(0.02f, 0.05f)};
  const bool motorway = road_class == RoadClass::kMotorway;
  r.tree_density = rng.chance(0.3f) ? 0.0f : rng.uniform(0.05f, motorway ? 0.5f : 0.85f);
  r.tree_height_m = rng.uniform(4.0f, 16.0f);
  r.canopy_shadow = rng.chance(0.5f) ? rng.uniform(0.2f, 0.6f) : 0.0f;
  r.pole_density = rng.uniform(0.0f, 0.6f);
  r.bridge_density = rng.uniform(0.0f, motorway ? 0.4f : 0.15f);
  r.hill_height = rng.uniform(0.004f, 0.05f);
  r.barrier_left = make_barrier(rng, motorway ? 0.7f : 0.12f);
  r.barrier_right = make_barrier(rng, motorway ? 0.5f : 0.2f);
  return r;
}

void set_sun(Rng& rng, Lighting& light, float low_deg, float high_deg) {
  const double elevation = rng.uniform(low_deg, high_deg) * kDegree;
  const double azimuth = rng.uniform(-3.1415926f, 3.1415926f);
  light.sun_direction = {static_cast<float>(exact_cos(elevation) * exact_cos(azimuth)),
                         static_cast<float>(exact_cos(elevation) * exact_sin(azimuth)),
                         static_cast<float>(exact_sin(elevation))};
}

Lighting make_lighting(Rng& rng) {
  Lighting light;
  const float pick = rng.uniform();
  light.cloud_cover = rng.uniform(0.0f, 0.7f);
  if (pick < 0.50f) {
    light.daylight = Daylight::kClear;
    set_sun(rng, light, 12.0f, 70.0f);
    light.sun = Rgb{1.0f, 0.94f, 0.84f} * rng.uniform(2.2f, 3.4f);
    light.ambient = Rgb{0.75f, 0.88f, 1.1f} * rng.uniform(0.5f, 1.0f);
    light.sky_zenith = Rgb{0.16f, 0.34f, 0.78f} * rng.uniform(0.8f, 1.2f);
    light.sky_horizon = Rgb{0.75f, 0.86f, 1.0f} * rng.uniform(0.8f, 1.2f);
  } else if (pick < 0.72f) {
    light.daylight = Daylight::kOvercast;
    set_sun(rng, light, 20.0f, 60.0f);
    light.ambient = Rgb{0.95f, 1.0f, 1.06f} * rng.uniform(0.7f, 1.3f);
    light.sky_zenith = Rgb{0.75f, 0.8f, 0.86f};
    light.sky_horizon = Rgb{0.92f, 0.95f, 1.0f};
    light.cloud_cover = 1.0f;
    light.lamps_on = rng.chance(0.5f);
  } else if (pick < 0.88f) {
    light.daylight = Daylight::kDusk;
    set_sun(rng, light, 1.5f, 9.0f);
    light.sun = Rgb{1.0f, 0.58f, 0.28f} * rng.uniform(0.4f, 1.6f);
    light.ambient = Rgb{0.62f, 0.70f, 1.0f} * rng.uniform(0.12f, 0.4f);
    light.sky_zenith = Rgb{0.16f, 0.22f, 0.45f} * rng.uniform(0.5f, 1.0f);
    light.sky_horizon = Rgb{0.95f, 0.62f, 0.40f} * rng.uniform(0.4f, 0.9f);
    light.lamps_on = true;
  } else {
    light.daylight = Daylight::kNight;
    const float glow = rng.uniform(0.002f, 0.03f);
    light.ambient = Rgb{0.9f, 0.85f, 0.8f} * glow;
    light.sky_zenith = Rgb{0.25f, 0.3f, 0.5f} * (glow * 0.2f);
    light.sky_horizon = Rgb{0.6f, 0.5f, 0.4f} * (glow * 0.4f);
    light.headlights = rng.uniform(0.5f, 1.2f);
    light.lamps_on = true;
  }
  light.haze_distance_m =
      rng.chance(0.12f) ? rng.uniform(90.0f, 400.0f) : rng.uniform(600.0f, 4000.0f);
  return light;
}

Sensor make_sensor(Rng& rng, const Lighting& light) {
  Sensor sensor;
  const float sun_on_road = light.sun.g * light.sun_direction.z;
  const float typical = light.ambient.g + sun_on_road + 0.25f * light.headlights;
  sensor.exposure = 0.9f / typical * rng.uniform(0.55f, 1.7f);
  const bool dark = light.daylight == Daylight::kNight || light.daylight == Daylight::kDusk;
  sensor.noise = dark ? rng.uniform(1.5f, 7.0f) : rng.uniform(0.6f, 3.0f);
  sensor.vignette = rng.uniform(0.05f, 0.45f);
  sensor.blur_px = rng.uniform(1.0f, 3.5f);
  sensor.warmth = rng.uniform(-0.08f, 0.08f);
  return sensor;
}

void set_motion(Rng& rng, World& world) {
  Motion& m = world.motion;
  const std::array<float, 2> speeds =
      world.road_class == RoadClass::kMotorway  ? std::array<float, 2>{20.0f, 34.0f}
      : world.road_class == RoadClass::kCountry ? std::array<float, 2>{13.0f, 26.0f}
                                                : std::array<float, 2>{8.0f, 15.0f};
  m.speed_mps = rng.uniform(speeds[0], speeds[1]);
  m.weave_m = {rng.uniform(0.05f, rng.chance(0.25f) ? 0.75f : 0.35f), rng.uniform(0.0f, 0.15f)};
  m.weave_period_s = {rng.uniform(7.0f, 16.0f), rng.uniform(3.0f, 6.0f)};
  m.weave_phase = {rng.uniform(0.0f, 6.2831853f), rng.uniform(0.0f, 6.2831853f)};
  m.body_pitch_rad = rng.uniform(0.0f, 0.3f) * kDegree;
  m.body_roll_rad = rng.uniform(0.0f, 0.4f) * kDegree;
  m.bounce_m = rng.uniform(0.0f, 0.02f);
  m.lead = rng.chance(0.62f);
  m.lead_gap_m = rng.uniform(6.0f, rng.chance(0.5f) ? 45.0f : 95.0f);
  m.lead_swing = rng.uniform(0.0f, 0.3f);
  m.lead_period_s = rng.uniform(15.0f, 40.0f);
  m.lead_phase = rng.uniform(0.0f, 6.2831853f);
  m.traffic = rng.uniform(0.0f, 0.9f);
  const bool room_left = world.markings.lanes_left > 0;
  const bool room_right = world.markings.lanes_right > 0;
  if (rng.chance(0.2f) && (room_left || room_right)) {
    m.lead_leaves_at_s = rng.uniform(5.0f, 40.0f);
    m.lead_leaves_to = room_left ? 1 : -1;
  }
}

}  // namespace

World make_world(uint64_t seed) {
  Rng rng(hash_of(seed, 0x0a11));
  World world;
  world.seed = seed;
  const float pick = rng.uniform();
  world.road_class = pick < 0.45f   ? RoadClass::kMotorway
                     : pick < 0.80f ? RoadClass::kCountry
                                    : RoadClass::kCity;
  const float max_curvature = world.road_class == RoadClass::kMotorway ? 0.0022f : 0.0085f;
  const float max_grade_curvature = world.road_class == RoadClass::kMotorway ? 0.0005f : 0.0009f;
  const float bendy = rng.uniform(0.3f, 1.0f);
  const float hilly = rng.uniform(0.1f, 1.0f);
  world.profile =
      RoadProfile(hash_of(seed, 0x0b0b), max_curvature * bendy, max_grade_curvature * hilly);
  world.mounting.roll_rad = rng.uniform(-0.8f, 0.8f) * kDegree;
  world.mounting.pitch_rad = rng.uniform(-0.5f, 2.0f) * kDegree;
  world.mounting.yaw_rad = rng.uniform(-1.8f, 1.8f) * kDegree;
  lay_lanes(rng, world);
  paint_lines(rng, world);
  world.surface = make_surface(rng);
  world.roadside = make_roadside(rng, world.road_class);
  world.lighting = make_lighting(rng);
  world.sensor = make_sensor(rng, world.lighting);
  set_motion(rng, world);
  if (rng.chance(0.15f)) {
    mirror(world);
    world.motion.lead_leaves_to = -world.motion.lead_leaves_to;
  }
  return world;
}

}  // namespace camshaft::roadnet
