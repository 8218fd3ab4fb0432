// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "tests/codegen/schedule/schedule_testing.h"

namespace camshaft::schedule {
namespace {

std::vector<const BufferInfo*> views_of(const Schedule& schedule) {
  std::vector<const BufferInfo*> views;
  for (const BufferInfo& buffer : schedule.buffers) {
    if (buffer.part_of >= 0) views.push_back(&buffer);
  }
  return views;
}

// The buffer that the value is a part of.
const BufferInfo& base_of(const Schedule& schedule, const BufferInfo& view) {
  return schedule.buffers[static_cast<size_t>(view.part_of)];
}

TEST_CASE("rows of a tensor in memory are views that regions read as leaves") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[3x2x8]
    %a = slice(%x) {begin=[1,0,0], extent=[1,2,8], step=[1,1,1]}
    %b = slice(%x) {begin=[2,0,0], extent=[1,2,8], step=[1,1,1]}
    %f = reshape(%b) {shape=[16]}
    %g = slice(%f) {begin=[0], extent=[8], step=[1]}
    %ta = tanh(%a)
    %tg = tanh(%g)
    output "ya" = %ta
    output "yg" = %tg
  )");
  const auto views = views_of(schedule);
  REQUIRE(views.size() == 2);
  CHECK(views[0]->kind == BufferKind::kInput);
  CHECK(base_of(schedule, *views[0]).value == schedule.graph.inputs[0].node);
  CHECK(views[0]->offset_bytes == 64);
  CHECK(views[1]->offset_bytes == 128);  // through the slice and the reshape below it
  for (size_t i = 0; i < 2; ++i) {
    CHECK(schedule.regions[i].nodes.size() == 1);
    CHECK(schedule.regions[i].leaves == std::vector<NodeId>{views[i]->value});
  }
}

TEST_CASE("what is not one aligned run in memory stays an index function") {
  const auto view_count = [](const std::string& type, const std::string& slice) {
    return views_of(schedule_of("%x = input \"x\" : " + type + "\n%s = slice(%x) {" + slice +
                                "}\n%t = abs(%s)\noutput \"y\" = %t"))
        .size();
  };
  CHECK(view_count("f32[4x16]", "begin=[1,0], extent=[2,16], step=[1,1]") == 1);
  CHECK(view_count("f32[4x16]", "begin=[2,0], extent=[2,8], step=[1,1]") == 0);
  CHECK(view_count("f32[4x16]", "begin=[2,0], extent=[1,8], step=[1,1]") == 1);
  CHECK(view_count("f32[4x16]", "begin=[2,4], extent=[1,8], step=[1,1]") == 0);  // 144 bytes
  CHECK(view_count("f32[4x17]", "begin=[1,0], extent=[2,17], step=[1,1]") == 0);
  CHECK(view_count("f16[4x32]", "begin=[3,0], extent=[1,32], step=[1,1]") == 1);
  CHECK(view_count("f32[4x16]", "begin=[0,0], extent=[2,16], step=[2,1]") == 0);
  CHECK(view_count("f32[4x16]", "begin=[3,0], extent=[4,16], step=[-1,1]") == 0);
  CHECK(view_count("f32[4x16]", "begin=[3,0], extent=[1,16], step=[-1,1]") == 1);
  CHECK(view_count("f32[1x1x4x16]", "begin=[0,0,1,0], extent=[1,1,2,16], step=[1,1,1,1]") == 1);
  CHECK(view_count("f32[2x4x16]", "begin=[0,1,0], extent=[2,2,16], step=[1,1,1]") == 0);
}

TEST_CASE("a view keeps its base alive and is where the base is") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[64x64]
    %w = constant {seed 1} : f32[64x64]
    %c = matmul(%x, %w)
    %a = slice(%c) {begin=[2,0], extent=[1,64], step=[1,1]}
    %d = matmul(%x, %w)
    %e = matmul(%d, %w)
    %f = slice(%e) {begin=[0,0], extent=[1,64], step=[1,1]}
    %s = add(%a, %f)
    output "y" = %s
  )");
  const auto views = views_of(schedule);
  REQUIRE(views.size() == 2);
  for (const BufferInfo* view : views) {
    const BufferInfo& base = base_of(schedule, *view);
    CHECK(base.kind == BufferKind::kArena);
    CHECK(base.last_region == 3);
    CHECK(view->first_region == base.first_region);
    CHECK(view->offset_bytes == base.offset_bytes + view->part_offset_bytes);
  }
  CHECK(base_of(schedule, *views[0]).offset_bytes != base_of(schedule, *views[1]).offset_bytes);
}

// Two halves of a convolution's channels, each read by a convolution that needs it in memory.
std::string halves(const std::string& begin, const std::string& batch) {
  return "%x = input \"x\" : f32[" + batch + R"(x16x4x4]
    %w = constant {seed 1} : f32[32x16x1x1]
    %v = constant {seed 2} : f32[8x8x1x1]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %a = slice(%c) {begin=[0,)" +
         begin + ",0,0], extent=[" + batch + R"(,8,4,4], step=[1,1,1,1]}
    %d = conv(%a, %v) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    output "y" = %d
  )";
}

TEST_CASE("a slice that a convolution reads is not copied, in blocks of channels either") {
  for (const int32_t block : {1, 8}) {
    const Schedule schedule = schedule_of(halves("8", "1"), block);
    CHECK(schedule.regions.size() == 2);
    const auto views = views_of(schedule);
    REQUIRE(views.size() == 1);
    CHECK(views[0]->layout.channel_block == block);
    CHECK(views[0]->part_offset_bytes == 8 * 16 * 4);
  }
  CHECK(schedule_of(halves("4", "1"), 1).regions.size() == 2);
  CHECK(schedule_of(halves("4", "1"), 8).regions.size() == 3);  // cuts through a block
  CHECK(schedule_of(halves("8", "2"), 8).regions.size() == 3);  // two pieces
}

TEST_CASE("slices that are outputs, and slices of constants, are not views") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[4x16]
    %c = constant {seed 1} : f32[4x16]
    %a = slice(%x) {begin=[1,0], extent=[1,16], step=[1,1]}
    %b = slice(%c) {begin=[1,0], extent=[1,16], step=[1,1]}
    %s = add(%a, %b)
    output "a" = %a
    output "s" = %s
  )");
  CHECK(views_of(schedule).empty());
  CHECK(schedule.regions.size() == 2);
}

TEST_CASE("the verifier refuses broken parts") {
  const auto broken = [](void (*change)(BufferInfo&)) {
    Schedule schedule = schedule_of(R"(
      %x = input "x" : f32[2x16]
      %a = slice(%x) {begin=[1,0], extent=[1,16], step=[1,1]}
      %t = tanh(%a)
      output "y" = %t
    )");
    for (BufferInfo& buffer : schedule.buffers) {
      if (buffer.part_of >= 0) change(buffer);
    }
    return !verify_schedule(schedule).is_ok();
  };
  CHECK_FALSE(broken([](BufferInfo&) {}));
  CHECK(broken([](BufferInfo& part) { part.part_of = 99; }));
  CHECK(broken([](BufferInfo& part) { part.io_index = 1; }));
  CHECK(broken([](BufferInfo& part) { part.part_offset_bytes = part.offset_bytes = 128; }));
  CHECK(broken([](BufferInfo& part) { part.part_offset_bytes = part.offset_bytes = 32; }));
  CHECK(broken([](BufferInfo& part) { part.offset_bytes = 0; }));
  CHECK(broken([](BufferInfo& part) { part.last_region = 7; }));
}

}  // namespace
}  // namespace camshaft::schedule
