// SPDX-License-Identifier: MIT
#include "models/roadnet/road.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "models/roadnet/noise.h"

namespace camshaft::roadnet {
namespace {

RoadProfile winding_road() {
  return RoadProfile(11, 0.008f, 0.0008f);
}

TEST_CASE("the exact functions agree with the C library") {
  for (double v = -40.0; v < 40.0; v += 0.37) {
    CHECK(exact_sin(v) == Approx(std::sin(v)).margin(1e-11));
    CHECK(exact_cos(v) == Approx(std::cos(v)).margin(1e-11));
    CHECK(exact_exp(v) == Approx(std::exp(v)).epsilon(1e-10));
  }
  CHECK(floor_int(-0.25f) == -1);
  CHECK(floor_int(-3.0f) == -3);
  CHECK(floor_int(2.75f) == 2);
}

TEST_CASE("random numbers depend on the seed and fill their range") {
  Rng a(5), b(5), c(6);
  double sum = 0, squares = 0;
  bool differs = false;
  for (int i = 0; i < 20000; ++i) {
    const float v = a.normal();
    CHECK(v == b.normal());
    differs = differs || v != c.normal();
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  CHECK(differs);
  CHECK(sum / 20000 == Approx(0).margin(0.03));
  CHECK(squares / 20000 == Approx(1).margin(0.04));
}

TEST_CASE("a straight level road has its lines parallel to the car") {
  const RoadAhead road(RoadProfile(1, 0.0f, 0.0f), 500.0, 0.5, 0.0);
  for (float x : {2.0f, 30.0f, 200.0f}) {
    CHECK(road.line_y(x, 1.75f) == Approx(1.25f).margin(1e-4));
    CHECK(road.height(x) == 0.0f);
  }
  const RoadPoint p = road.locate(20.0f, 0.0f);
  CHECK(p.d == Approx(0.5f).margin(1e-4));
  CHECK(p.s == Approx(20.0f).margin(1e-4));
}

TEST_CASE("a car turned left sees the road go to the right") {
  const double heading = 0.05;
  const RoadAhead road(RoadProfile(1, 0.0f, 0.0f), 0.0, 0.3, heading);
  for (float x : {1.0f, 10.0f, 50.0f}) {
    const double expected = -0.3 / std::cos(heading) - x * std::tan(heading);
    CHECK(road.line_y(x, 0.0f) == Approx(expected).margin(1e-3));
  }
}

TEST_CASE("road coordinates and car coordinates are inverse to one another") {
  const RoadAhead road(winding_road(), 1234.5, -0.4, 0.02);
  for (float s : {5.0f, 17.3f, 60.0f, 150.0f}) {
    for (float d : {-8.0f, -1.8f, 0.0f, 5.4f}) {
      const Vec3 point = road.point(s, d);
      const RoadPoint back = road.locate(point.x, point.y);
      CHECK(back.s == Approx(s).margin(0.03));
      CHECK(back.d == Approx(d).margin(0.01));
      CHECK(road.line_y(point.x, d) == Approx(point.y).margin(0.01));
    }
  }
}

TEST_CASE("the road's bend is the one that its profile says") {
  const RoadProfile profile = winding_road();
  const double s = 777.0;
  const RoadAhead road(profile, s, 0.0, 0.0);
  const double turned = profile.heading(s + 40.0) - profile.heading(s);
  const Vec3 point = road.point(40.0f, 0.0f);
  CHECK(road.centre(point.x).sine == Approx(std::sin(turned)).margin(2e-3));
  CHECK(std::abs(turned) > 0.01);
}

TEST_CASE("rays meet the ground where the ground is, and nearest first") {
  const float eye = 1.22f;
  int beyond_crests = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RoadAhead road(RoadProfile(seed, 0.0f, 0.0012f), 300.0, 0.0, 0.0);
    const GroundIntersector ground(road, eye);
    for (float rise = -0.5f; rise < 0.05f; rise += 0.0017f) {
      const float x = ground.distance(rise);
      const float limit = x < 0.0f ? RoadAhead::kLength_m - 1.0f : x - 0.01f;
      for (float at = 1.0f; at < limit; at += 1.3f) {  // nothing in the way
        if (eye + rise * at < road.height(at) - 2e-3f) {
          FAIL("seed " << seed << ": a ray of rise " << rise << " passes the ground at " << at);
        }
      }
      if (x >= 0.0f) {
        CHECK(eye + rise * x == Approx(road.height(x)).margin(2e-3));
      }
    }
    beyond_crests += road.height(300.0f) < -3.0f ? 1 : 0;
  }
  CHECK(beyond_crests > 0);
}

}  // namespace
}  // namespace camshaft::roadnet
