// SPDX-License-Identifier: MIT
#include "models/roadnet/drive.h"

#include "models/roadnet/noise.h"
#include "models/roadnet/surroundings.h"

namespace camshaft::roadnet {
namespace {

constexpr double kTwoPi = 2.0 * kPi;

float wave(double time_s, float period_s, float phase) {
  return static_cast<float>(exact_sin(kTwoPi * time_s / period_s + phase));
}

float wave_rate(double time_s, float period_s, float phase) {
  return static_cast<float>(exact_cos(kTwoPi * time_s / period_s + phase) * kTwoPi / period_s);
}

double course_s(const Motion& motion, double time_s) {
  return 200.0 + motion.speed_mps * time_s;
}

// Suspension: two waves each, of periods that do not repeat together.
void move_body(const Motion& motion, double time_s, Scene& scene) {
  const float pitch = 0.6f * wave(time_s, 1.37f, 0.4f) + 0.4f * wave(time_s, 4.9f, 2.0f);
  const float roll = 0.5f * wave(time_s, 1.91f, 1.1f) + 0.5f * wave(time_s, 6.3f, 0.2f);
  scene.body.pitch_rad = motion.body_pitch_rad * pitch;
  scene.body.roll_rad = motion.body_roll_rad * roll;
  scene.camera_height_m = kCameraHeight_m + motion.bounce_m * wave(time_s, 1.37f, 2.1f);
}

}  // namespace

// The car weaves about its lane's centre; its heading is the one that this motion has.
CarState Drive::car(double time_s) const {
  const Motion& motion = world_.motion;
  CarState car;
  car.s = course_s(motion, time_s);
  car.speed_mps = motion.speed_mps;
  float sideways_mps = 0;
  for (size_t i = 0; i < motion.weave_m.size(); ++i) {
    car.lateral_m +=
        motion.weave_m[i] * wave(time_s, motion.weave_period_s[i], motion.weave_phase[i]);
    sideways_mps +=
        motion.weave_m[i] * wave_rate(time_s, motion.weave_period_s[i], motion.weave_phase[i]);
  }
  car.heading_rad = sideways_mps / motion.speed_mps;
  return car;
}

Scene Drive::scene(double time_s, const CarState& car) const {
  Scene scene;
  scene.world = world_;
  scene.time_s = time_s;
  scene.s = car.s;
  scene.course_s = course_s(world_.motion, time_s);
  scene.lateral_m = car.lateral_m;
  scene.heading_rad = car.heading_rad;
  scene.speed_mps = car.speed_mps;
  move_body(world_.motion, time_s, scene);
  scene.road = RoadAhead(world_.profile, scene.s, scene.lateral_m, scene.heading_rad);
  scene.world_heading_rad = world_.profile.heading(scene.s) + scene.heading_rad;
  scene.frame_seed = static_cast<uint32_t>(
      hash_of(world_.seed, static_cast<uint64_t>(time_s * 1000.0 + 0.5)) >> 32);
  add_traffic(scene);
  add_roadside(scene);
  return scene;
}

Scene sample_scene(uint64_t index) {
  Rng rng(hash_of(index, 0x5a3e));
  const double time_s = rng.uniform(0.0f, 600.0f);
  return Drive(hash_of(index, 0xd21e)).scene(time_s);
}

}  // namespace camshaft::roadnet
