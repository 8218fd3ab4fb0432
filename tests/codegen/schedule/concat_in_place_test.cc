// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <set>

#include "tests/codegen/schedule/schedule_testing.h"

namespace camshaft::schedule {
namespace {

// Nodes are numbered in the order of the text.
int32_t base_of(const Schedule& schedule, NodeId id) {
  return schedule.buffer(id).part_of;
}

int32_t number_of(const Schedule& schedule, NodeId id) {
  return schedule.buffer_of[static_cast<size_t>(id)];
}

const std::string kHead = R"(
    %x = input "x" : f32[1x16x4x4]
    %w = constant {seed 1} : f32[16x16x1x1]
    %v = constant {seed 2} : f32[8x32x1x1]
)";
const std::string kAttrs =
    "{strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}\n";

std::string conv(const std::string& name, const std::string& x, const std::string& w) {
  return "    %" + name + " = conv(%" + x + ", %" + w + ") " + kAttrs;
}

TEST_CASE("operands of a concatenation are written side by side") {
  for (const int32_t block : {1, 8}) {
    const Schedule schedule = schedule_of(kHead + conv("a", "x", "w") + conv("b", "a", "w") +
                                              "%c = concat(%a, %b) {axis=1}\n" +
                                              conv("d", "c", "v") + "output \"y\" = %d",
                                          block);
    REQUIRE(schedule.regions.size() == 3);
    CHECK(base_of(schedule, 3) == number_of(schedule, 5));
    CHECK(base_of(schedule, 4) == number_of(schedule, 5));
    CHECK(schedule.buffer(3).part_offset_bytes == 0);
    CHECK(schedule.buffer(4).part_offset_bytes == 16 * 16 * 4);
    CHECK(schedule.buffer(5).first_region == 0);
    CHECK(schedule.buffer(5).last_region == 2);
    CHECK(schedule.arena_bytes == 32 * 16 * 4);
  }
}

TEST_CASE("what can't be written in place is copied") {
  const auto regions = [](const std::string& body, int32_t block = 8) {
    return schedule_of(kHead + body, block).regions.size();
  };
  // control: as in the case above
  const std::string a = conv("a", "x", "w");
  CHECK(regions(a + conv("b", "a", "w") + "%c = concat(%a, %b) {axis=1}\n" + conv("d", "c", "v") +
                "output \"y\" = %d") == 3);
  // A graph input, the same value twice, a result that is an output, and values in turn.
  CHECK(regions(a + "%c = concat(%a, %x) {axis=1}\n" + conv("d", "c", "v") + "output \"y\" = %d") ==
        3);
  CHECK(regions(a + "%c = concat(%a, %a) {axis=1}\n" + conv("d", "c", "v") + "output \"y\" = %d") ==
        3);
  CHECK(regions(a + conv("b", "a", "w") + "%c = concat(%a, %b) {axis=1}\noutput \"y\" = %c") == 3);
  CHECK(regions(a + conv("b", "a", "w") + "%c = concat(%a, %b) {axis=2}\n%d = conv(%c, %w) " +
                kAttrs + "output \"y\" = %d") == 4);
}

TEST_CASE("a graph output is not moved into a concatenation") {
  const Schedule schedule = schedule_of(kHead + conv("a", "x", "w") + conv("b", "a", "w") +
                                        "%c = concat(%a, %b) {axis=1}\n" + conv("d", "c", "v") +
                                        "output \"y\" = %d\noutput \"a\" = %a");
  CHECK(schedule.regions.size() == 4);
  CHECK(base_of(schedule, 3) == -1);
}

TEST_CASE("halves of a value that stay side by side keep it whole") {
  const std::string body = kHead + conv("a", "x", "w") + R"(
    %p = slice(%a) {begin=[0,0,0,0], extent=[1,8,4,4], step=[1,1,1,1]}
    %q = slice(%a) {begin=[0,8,0,0], extent=[1,8,4,4], step=[1,1,1,1]}
    %u = constant {seed 3} : f32[16x8x1x1]
)" + conv("b", "q", "u");
  const std::string end = conv("d", "c", "v") + "output \"y\" = %d";
  const Schedule in_order = schedule_of(body + "%c = concat(%p, %q, %b) {axis=1}\n" + end);
  CHECK(in_order.regions.size() == 3);
  CHECK(base_of(in_order, 3) == number_of(in_order, 8));
  // The half that a convolution reads is a view of the result, where it has been written.
  CHECK(base_of(in_order, 5) == number_of(in_order, 8));
  CHECK(in_order.buffer(5).part_offset_bytes == 8 * 16 * 4);
  const Schedule swapped = schedule_of(body + "%c = concat(%q, %p, %b) {axis=1}\n" + end);
  CHECK(swapped.regions.size() == 4);
}

TEST_CASE("an operand that only the concatenation reads is computed in its place") {
  const Schedule schedule = schedule_of(R"(
    %x = input "x" : f32[1x8x2x2]
    %w = constant {seed 1} : f32[16x8x1x1]
    %v = constant {seed 2} : f32[8x24x1x1]
    %u = constant {seed 3} : f32[8x8x1x1]
)" + conv("a", "x", "w") + conv("b", "x", "u") +
                                        R"(
    %t = transpose(%b) {perm=[0,1,3,2]}
    %c = concat(%a, %t) {axis=1}
)" + conv("d", "c", "v") + "output \"y\" = %d");
  REQUIRE(schedule.regions.size() == 4);
  CHECK(schedule.regions[2].output == 6);
  CHECK(schedule.regions[2].nodes == std::vector<NodeId>{6});
  CHECK(schedule.regions[2].leaves == std::vector<NodeId>{5});
  CHECK(base_of(schedule, 6) == number_of(schedule, 7));
  CHECK(schedule.buffer(6).part_offset_bytes == 16 * 4 * 4);
}

TEST_CASE("concatenations in one another, and of the same values, share one buffer") {
  const std::string growing = kHead + R"(
    %u = constant {seed 3} : f32[16x32x1x1]
    %s = constant {seed 4} : f32[8x48x1x1]
)" + conv("a", "x", "w") + conv("b", "a", "w") +
                              "%c = concat(%a, %b) {axis=1}\n" + conv("d", "c", "u");
  const std::string end = conv("f", "e", "s") + "output \"y\" = %f";
  for (const char* all : {"%a, %b, %d", "%c, %d"}) {
    const Schedule schedule = schedule_of(growing + "%e = concat(" + all + ") {axis=1}\n" + end);
    REQUIRE(schedule.regions.size() == 4);
    for (const NodeId id : {5, 6, 7, 8}) CHECK(base_of(schedule, id) == number_of(schedule, 9));
    CHECK(schedule.buffer(7).part_offset_bytes == 0);
    CHECK(schedule.buffer(8).part_offset_bytes == 32 * 16 * 4);
    CHECK(schedule.arena_bytes == 48 * 16 * 4);
  }
}

// What the result lies in must be written there, though it could be read where it comes from: in
// another order of channels, or by readers that compute it themselves.
TEST_CASE("an operand that others could read elsewhere is written in its place all the same") {
  const std::string head = R"(
    %x = input "x" : f32[1x8x4x8]
    %w = constant {seed 1} : f32[8x8x1x1]
    %v = constant {seed 2} : f32[8x16x1x1]
)" + conv("q", "x", "w");
  const std::string end = conv("d", "c", "v") + "output \"y\" = %d\n";
  const std::string turned = head + R"(
    %r = reshape(%q) {shape=[1,4,2,4,8]}
    %t = transpose(%r) {perm=[0,2,1,3,4]}
    %a = exp(%t)
    %s = reshape(%a) {shape=[1,8,4,8]}
    %c = concat(%s, %q) {axis=1}
    %m = exp(%s)
)" + end + "output \"z\" = %m";
  const std::string cut = head + R"(
    %a = exp(%x)
    %b = concat(%a, %x) {axis=1}
    %p = exp(%b)
    %s = slice(%p) {begin=[0,8,0,0], extent=[1,8,4,8], step=[1,1,1,1]}
    %c = concat(%s, %q) {axis=1}
    %m = neg(%s)
)" + end + "output \"z\" = %m\noutput \"n\" = %p";
  for (const std::string& text : {turned, cut}) {
    for (const int32_t block : {1, 4, 8}) {
      const Schedule schedule = schedule_of(text, block);
      std::set<NodeId> written;
      for (const Region& region : schedule.regions) written.insert(region.output);
      for (const BufferInfo& part : schedule.buffers) {
        if (part.part_of < 0) continue;
        const NodeId base = schedule.buffers[static_cast<size_t>(part.part_of)].value;
        CAPTURE(part.value, base);
        CHECK((written.count(part.value) > 0 || written.count(base) > 0));
      }
    }
  }
}

TEST_CASE("a schedule whose parts overlap or leave a gap is refused") {
  const Schedule good =
      schedule_of(kHead + conv("a", "x", "w") + conv("b", "a", "w") +
                  "%c = concat(%a, %b) {axis=1}\n" + conv("d", "c", "v") + "output \"y\" = %d");
  const auto part = static_cast<size_t>(number_of(good, 4));
  Schedule overlapping = good;
  overlapping.buffers[part].part_offset_bytes -= 64;
  overlapping.buffers[part].offset_bytes -= 64;
  CHECK(!verify_schedule(overlapping).is_ok());
  Schedule gap = good;
  gap.buffers[part].size_bytes -= 64;
  CHECK(!verify_schedule(gap).is_ok());
  Schedule late = good;
  std::swap(late.regions[1], late.regions[2]);
  CHECK(!verify_schedule(late).is_ok());
}

}  // namespace
}  // namespace camshaft::schedule
