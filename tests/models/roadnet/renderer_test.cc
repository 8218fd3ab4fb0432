// SPDX-License-Identifier: MIT
#include "models/roadnet/renderer.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "models/roadnet/drive.h"
#include "models/roadnet/frame.h"
#include "models/roadnet/truth.h"

namespace camshaft::roadnet {
namespace {

uint64_t fnv1a(std::span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (uint8_t byte : bytes) {
    hash = (hash ^ byte) * 0x100000001b3ull;
  }
  return hash;
}

std::vector<uint8_t> model_view(const Scene& scene) {
  std::vector<uint8_t> input(kInputBytes);
  render_model_view(Renderer(scene), InputBytes(input.data(), kInputBytes));
  return input;
}

// A clear day on an empty road, with new lines.
World plain_world() {
  World world = make_world(4);
  world.lighting.daylight = Daylight::kClear;
  world.lighting.sun_direction = {0.3f, 0.4f, 0.866f};
  world.lighting.sun = {2.6f, 2.5f, 2.3f};
  world.lighting.ambient = {0.6f, 0.7f, 0.9f};
  world.lighting.haze_distance_m = 3000;
  world.lighting.headlights = 0;
  world.lighting.lamps_on = false;
  world.surface.asphalt = {0.12f, 0.12f, 0.12f};
  world.surface.seam = 0;
  world.roadside.canopy_shadow = 0;
  world.roadside.bridge_density = 0;
  world.sensor = Sensor{};
  world.sensor.exposure = 0.3f;
  world.motion.traffic = 0;
  world.motion.lead = false;
  LaneLine solid;
  solid.kind = LineKind::kSolid;
  solid.albedo = {0.8f, 0.8f, 0.8f};
  world.markings.line(0) = solid;
  world.markings.line(-1) = solid;
  return world;
}

// The bytes of 24 views, fixed: a change here changes what the network was trained on.
TEST_CASE("views and truth are the ones on record") {
  uint64_t views = 0, truths = 0;
  for (uint64_t i = 0; i < 24; ++i) {
    const Scene scene = sample_scene(kHeldOutIndex + i);
    views = views * 31 + fnv1a(model_view(scene));
    const Truth truth = compute_truth(scene);
    truths = truths * 31 + fnv1a(std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(&truth),
                                                          sizeof(truth)));
  }
  CHECK(views == 0x9f542387f2d3c5d9ull);
  CHECK(truths == 0x3b914c28449a7202ull);
}

TEST_CASE("the same moment gives the same bytes, another one does not") {
  const Drive drive(21);
  const std::vector<uint8_t> first = model_view(drive.scene(3.0));
  CHECK(model_view(drive.scene(3.0)) == first);
  CHECK(model_view(Drive(21).scene(3.0)) == first);
  CHECK(model_view(drive.scene(3.05)) != first);
  CHECK(model_view(Drive(22).scene(3.0)) != first);
}

TEST_CASE("a drive moves continuously") {
  const Drive drive(6);
  const double step = 1.0 / kFrameRate_hz;
  Truth before = compute_truth(drive.scene(10.0));
  for (int i = 1; i <= 100; ++i) {
    const Scene scene = drive.scene(10.0 + i * step);
    const Truth now = compute_truth(scene);
    for (size_t k = 0; k < kDistances_m.size(); ++k) {
      CHECK(std::abs(now.left[k] - before.left[k]) < 0.25f);
      CHECK(std::abs(now.path[k] - before.path[k]) < 0.25f);
    }
    if (now.lead_probability > 0 && before.lead_probability > 0) {
      CHECK(std::abs(now.lead_distance_m - before.lead_distance_m) < 2.0f);
    }
    before = now;
  }
}

TEST_CASE("a car that is steered sees the world from where it is") {
  World world = plain_world();
  world.motion.lead = true;
  world.motion.lead_leaves_at_s = -1;
  const Drive drive(world);
  const Truth on_course = compute_truth(drive.scene(8.0));
  CarState car = drive.car(8.0);
  CHECK(model_view(drive.scene(8.0, car)) == model_view(drive.scene(8.0)));
  car.lateral_m += 0.5f;
  car.s -= 6.0;
  const Truth moved = compute_truth(drive.scene(8.0, car));
  CHECK(moved.left[0] == Approx(on_course.left[0] - 0.5f).margin(0.05));
  CHECK(moved.lead_distance_m == Approx(on_course.lead_distance_m + 6.0f).margin(0.2));
}

TEST_CASE("seeds cover all kinds of light, road and line") {
  int daylight[4] = {}, road[3] = {}, line[4] = {}, with_lead = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const World world = make_world(seed);
    ++daylight[static_cast<size_t>(world.lighting.daylight)];
    ++road[static_cast<size_t>(world.road_class)];
    ++line[static_cast<size_t>(world.markings.line(0).kind)];
    with_lead += world.motion.lead ? 1 : 0;
  }
  for (int count : daylight) CHECK(count > 20);
  for (int count : road) CHECK(count > 40);
  for (int count : line) CHECK(count > 10);
  CHECK(with_lead > 150);
  CHECK(with_lead < 350);
}

TEST_CASE("truth lies on the painted lines of the picture") {
  const World world = plain_world();
  int compared = 0;
  for (double time_s : {2.0, 9.0, 31.0}) {
    const Renderer renderer(Drive(world).scene(time_s));
    const RoadAhead& road = renderer.scene().road;
    const Truth truth = compute_truth(renderer.scene());
    for (size_t i = 0; i < kDistances_m.size(); ++i) {
      for (const float y : {truth.left[i], truth.right[i]}) {
        const float x = kDistances_m[i];
        const auto luma_at = [&](float lateral) {
          const Pixel p = renderer.camera().project({x, lateral, road.height(x)});
          return p.visible ? renderer.luma(static_cast<int>(std::lround(p.x)),
                                           static_cast<int>(std::lround(p.y)))
                           : -1;
        };
        const int on = luma_at(y), left = luma_at(y + 0.5f), right = luma_at(y - 0.5f);
        if (on >= 0 && left >= 0 && right >= 0) {
          CHECK(on > left + 15);
          CHECK(on > right + 15);
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 60);
}

TEST_CASE("a boundary without paint has truth but shows no line") {
  World world = plain_world();
  world.markings.line(0).kind = LineKind::kNone;
  const Renderer renderer(Drive(world).scene(2.0));
  const Truth truth = compute_truth(renderer.scene());
  CHECK(truth.left_probability == 0.0f);
  CHECK(truth.right_probability == 1.0f);
  CHECK(renderer.ground().paint_share(20.0f, truth.left[7]) == 0.0f);
  CHECK(renderer.ground().paint_share(20.0f, truth.right[7]) > 0.9f);
  CHECK(renderer.ground().paint_share(20.0f, truth.right[7] + 0.5f) == 0.0f);
}

TEST_CASE("pixels and ground points correspond") {
  const Renderer renderer(Drive(plain_world()).scene(5.0));
  for (float x : {8.0f, 25.0f, 60.0f}) {
    const Vec3 point{x, 0.7f, renderer.scene().road.height(x)};
    const Pixel pixel = renderer.camera().project(point);
    REQUIRE(pixel.visible);
    const Vec3 back = renderer.ground_point(pixel.x, pixel.y);
    CHECK(back.x == Approx(x).epsilon(0.01));
    CHECK(back.y == Approx(0.7f).margin(0.02));
  }
}

TEST_CASE("the lead is drawn where the truth says") {
  World world = plain_world();
  const Renderer empty(Drive(world).scene(4.0));
  CHECK(compute_truth(empty.scene()).lead_probability == 0.0f);
  world.motion.lead = true;
  world.motion.lead_leaves_at_s = -1;
  for (float gap : {8.0f, 25.0f, 60.0f}) {
    world.motion.lead_gap_m = gap;
    world.motion.lead_swing = 0;
    const Renderer renderer(Drive(world).scene(4.0));
    const Truth truth = compute_truth(renderer.scene());
    REQUIRE(truth.lead_probability == 1.0f);
    CHECK(truth.lead_distance_m == Approx(gap).margin(0.5));
    const Vehicle& lead = renderer.scene().vehicles.at(0);
    const float z = renderer.scene().road.height(gap);
    int changed = 0, tried = 0, changed_beside = 0;
    for (float up = 0.5f; up < 0.8f; up += 0.05f) {
      for (float across = -0.6f; across <= 0.6f; across += 0.2f) {
        const float y = lead.centre.y + across;
        const Pixel on = renderer.camera().project({truth.lead_distance_m, y, z + up});
        const Pixel beside = renderer.camera().project({truth.lead_distance_m, y + 4.0f, z + up});
        REQUIRE(on.visible);
        const auto differs = [&](const Pixel& p) {
          const int px = static_cast<int>(p.x), py = static_cast<int>(p.y);
          return renderer.luma(px, py) != empty.luma(px, py) ? 1 : 0;
        };
        ++tried;
        changed += differs(on);
        changed_beside += beside.visible ? differs(beside) : 0;
      }
    }
    CHECK(changed > tried * 3 / 4);
    CHECK(changed_beside < tried / 4);
  }
}

TEST_CASE("the truth's vector is laid out as its description says") {
  Truth truth;
  truth.left[0] = 1;
  truth.right[15] = 2;
  truth.path[3] = 3;
  truth.lead_distance_m = 4;
  truth.lead_probability = 5;
  const auto values = as_vector(truth);
  CHECK(values[0] == 1);
  CHECK(values[31] == 2);
  CHECK(values[35] == 3);
  CHECK(values[48] == 4);
  CHECK(values[51] == 5);
  CHECK(from_vector(values).right[15] == 2);
  const std::string text = describe_outputs();
  CHECK(text.find("{\"name\":\"lead_distance\",\"offset\":48,\"shape\":[1],\"unit\":\"m\"}") !=
        std::string::npos);
}

}  // namespace
}  // namespace camshaft::roadnet
