// SPDX-License-Identifier: MIT
#include "models/roadnet/noise.h"
#include "models/roadnet/surroundings.h"

namespace camshaft::roadnet {
namespace {

constexpr double kTreeSpacing_m = 9.0;
constexpr double kPoleSpacing_m = 40.0;
constexpr double kBridgeSpacing_m = 500.0;
constexpr double kBarrierStep_m = 4.0;
constexpr float kSight_m = 180.0f;

int64_t first_place(const Scene& scene, double spacing) {
  return static_cast<int64_t>(std::floor(scene.s / spacing)) + 1;
}

float ahead_of(const Scene& scene, int64_t place, double spacing) {
  return static_cast<float>(static_cast<double>(place) * spacing - scene.s);
}

uint64_t place_id(const Scene& scene, uint64_t kind, int64_t place, int side) {
  return hash_of(hash_of(scene.world.seed, kind), static_cast<uint64_t>(place * 2 + side));
}

float edge_d(const Scene& scene, int side, float beyond_m) {
  const Markings& m = scene.world.markings;
  return side == 0 ? m.asphalt_left_d() + beyond_m : m.asphalt_right_d() - beyond_m;
}

// A rectangle that faces the camera, centred on the ground point.
Prop facing(Vec3 ground, float width) {
  const float range = std::sqrt(ground.x * ground.x + ground.y * ground.y);
  Prop prop;
  prop.axis_x = ground.y / range;
  prop.axis_y = -ground.x / range;
  prop.length_m = width;
  prop.foot = {ground.x - prop.axis_x * 0.5f * width, ground.y - prop.axis_y * 0.5f * width,
               ground.z};
  return prop;
}

void add_tree(Scene& scene, int64_t place, int side, int row) {
  const Roadside& r = scene.world.roadside;
  Rng rng(place_id(scene, 0x73ee + static_cast<uint64_t>(row), place, side));
  const float s = ahead_of(scene, place, kTreeSpacing_m) + rng.uniform(0.0f, 6.0f);
  if (!rng.chance(r.tree_density) || s < 3.0f) {
    return;
  }
  const float beyond = 3.5f + 6.0f * static_cast<float>(row) + rng.uniform(0.0f, 5.0f);
  const float height = r.tree_height_m * rng.uniform(0.5f, 1.2f);
  const float width = height * rng.uniform(0.5f, 0.9f);
  Prop tree = facing(scene.road.point(s, edge_d(scene, side, beyond)), width);
  tree.kind = PropKind::kTree;
  tree.top_m = height;
  tree.albedo = r.foliage * rng.uniform(0.6f, 1.3f);
  tree.seed = static_cast<uint32_t>(rng.next());
  scene.props.push_back(tree);
}

void add_pole(Scene& scene, int64_t place, int side) {
  Rng rng(place_id(scene, 0x901e, place, side));
  const float s = ahead_of(scene, place, kPoleSpacing_m);
  if (!rng.chance(scene.world.roadside.pole_density) || s < 3.0f) {
    return;
  }
  const bool sign = rng.chance(0.4f);
  const Vec3 ground = scene.road.point(s, edge_d(scene, side, rng.uniform(1.0f, 2.0f)));
  Prop pole = facing(ground, sign ? 0.08f : 0.16f);
  pole.kind = PropKind::kPole;
  pole.top_m = sign ? 2.2f : rng.uniform(1.0f, 8.0f);
  pole.albedo = Rgb{0.3f, 0.3f, 0.3f} * rng.uniform(0.5f, 1.6f);
  scene.props.push_back(pole);
  if (sign) {
    constexpr Rgb kBoards[4] = {
        {0.7f, 0.7f, 0.7f}, {0.02f, 0.25f, 0.1f}, {0.02f, 0.08f, 0.4f}, {0.7f, 0.45f, 0.03f}};
    Prop board = facing(ground, rng.uniform(0.6f, 1.3f));
    board.kind = PropKind::kSign;
    board.bottom_m = 2.1f;
    board.top_m = 2.1f + rng.uniform(0.5f, 1.2f);
    board.albedo = kBoards[rng.below(4)];
    board.seed = static_cast<uint32_t>(rng.next());
    scene.props.push_back(board);
  }
}

void add_barrier_piece(Scene& scene, int64_t place, int side, BarrierKind kind) {
  const float s = maxf(ahead_of(scene, place - 1, kBarrierStep_m), 0.5f);
  const float s_end = ahead_of(scene, place, kBarrierStep_m);
  const float d = edge_d(scene, side, 0.35f);
  if (s_end <= s) {
    return;
  }
  const Vec3 begin = scene.road.point(s, d);
  const Vec3 end = scene.road.point(s_end, d);
  const float dx = end.x - begin.x;
  const float dy = end.y - begin.y;
  Prop piece;
  piece.length_m = std::sqrt(dx * dx + dy * dy);
  piece.axis_x = dx / piece.length_m;
  piece.axis_y = dy / piece.length_m;
  piece.foot = begin;
  piece.end_rise_m = end.z - begin.z;
  piece.kind = kind == BarrierKind::kRail ? PropKind::kRail : PropKind::kWall;
  piece.top_m = kind == BarrierKind::kRail ? 0.78f : 0.9f;
  piece.albedo = kind == BarrierKind::kRail ? Rgb{0.38f, 0.39f, 0.40f} : Rgb{0.33f, 0.32f, 0.30f};
  scene.props.push_back(piece);
}

void add_bridge(Scene& scene, int64_t place) {
  const World& world = scene.world;
  Rng rng(place_id(scene, 0xb21d, place, 0));
  const float s = ahead_of(scene, place, kBridgeSpacing_m);
  if (!rng.chance(world.roadside.bridge_density) || s < -40.0f || s > 230.0f) {
    return;
  }
  Bridge bridge;
  const float length = rng.uniform(5.0f, 16.0f);
  bridge.s_begin = s;
  bridge.s_end = s + length;
  bridge.clearance_m = rng.uniform(4.8f, 6.5f);
  bridge.thickness_m = rng.uniform(0.9f, 1.8f);
  const Markings& m = world.markings;
  bridge.half_span_m = maxf(m.asphalt_left_d(), -m.asphalt_right_d()) + rng.uniform(1.2f, 5.0f);
  bridge.albedo = Rgb{0.32f, 0.31f, 0.29f} * rng.uniform(0.7f, 1.3f);
  const float middle = s + 0.5f * length;
  bridge.centre = scene.road.point(middle, 0.0f);
  const RoadCentre road = scene.road.centre(bridge.centre.x);
  bridge.sine = road.sine;
  bridge.cosine = road.cosine;
  scene.bridges.push_back(bridge);
}

template <typename Add>
void for_places(const Scene& scene, double spacing, Add add) {
  const int64_t first = first_place(scene, spacing);
  for (int64_t i = first; ahead_of(scene, i, spacing) < kSight_m; ++i) {
    for (int side = 0; side < 2; ++side) {
      add(i, side);
    }
  }
}

}  // namespace

void add_roadside(Scene& scene) {
  const Roadside& r = scene.world.roadside;
  for (int row = 0; row < 2; ++row) {
    for_places(scene, kTreeSpacing_m,
               [&](int64_t place, int side) { add_tree(scene, place, side, row); });
  }
  for_places(scene, kPoleSpacing_m, [&](int64_t place, int side) { add_pole(scene, place, side); });
  for_places(scene, kBarrierStep_m, [&](int64_t place, int side) {
    const BarrierKind kind = side == 0 ? r.barrier_left : r.barrier_right;
    if (kind != BarrierKind::kNone) {
      add_barrier_piece(scene, place, side, kind);
    }
  });
  const int64_t first = first_place(scene, kBridgeSpacing_m);
  add_bridge(scene, first - 1);
  add_bridge(scene, first);
}

}  // namespace camshaft::roadnet
