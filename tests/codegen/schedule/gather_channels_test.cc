// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "tests/codegen/schedule/schedule_testing.h"

namespace camshaft::schedule {
namespace {

// Nodes are numbered in the order of the text: values that are made by %a and %b, of which %c has
// some channels, in an order that leaves nothing to write in place.
const std::string kHead = R"(
    %x = input "x" : f32[1x16x4x4]
    %w = constant {seed 1} : f32[16x16x1x1]
    %v = constant {seed 2} : f32[8x16x1x1]
    %a = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}
    %b = conv(%a, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}
    %p = slice(%a) {begin=[0,8,0,0], extent=[1,8,4,4], step=[1,1,1,1]}
    %q = slice(%b) {begin=[0,3,0,0], extent=[1,8,4,4], step=[1,1,1,1]}
)";
constexpr NodeId kConcat = 7;
const std::string kCopy = "%c = concat(%q, %p) {axis=1}\n";
const std::string kReader =
    "%d = conv(%c, %v) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}\n"
    "output \"y\" = %d";

struct Gathered {
  Schedule schedule;
  int asked = 0;  // about a concatenation in a convolution
};

Gathered gather(const std::string& body, bool answer = true, int32_t block = 8) {
  Gathered result;
  ScheduleOptions options{block, true};
  options.joins = [&](const Schedule& schedule, const Region& joined) {
    const bool is_gather =
        joined.inner != kNoNode && schedule.graph.node(joined.inner).op == ir::Op::kConcat;
    result.asked += is_gather ? 1 : 0;
    return is_gather && answer;
  };
  result.schedule = make_schedule(ir::graph_from(body), options);
  INFO(print_schedule(result.schedule));
  REQUIRE(verify_schedule(result.schedule).is_ok());
  return result;
}

TEST_CASE("slices that a convolution reads where they lie need no copy") {
  for (const int32_t block : {1, 8}) {
    const auto [schedule, asked] = gather(kHead + kCopy + kReader, true, block);
    CHECK(asked == 1);
    REQUIRE(schedule.regions.size() == 3);
    const Region& region = schedule.regions[2];
    CHECK(region.inner == kConcat);
    CHECK(schedule.buffer_of[kConcat] == -1);
    CHECK(std::count(region.nodes.begin(), region.nodes.end(), kConcat) == 1);
    // Eight whole channels of %a are a view of it; of %b, a view where channels lie one by one.
    const auto is_leaf = [&](NodeId id) {
      return std::count(region.leaves.begin(), region.leaves.end(), id) == 1;
    };
    CHECK(is_leaf(5));
    CHECK(is_leaf(block == 1 ? 6 : 4));
    CHECK(schedule.buffer(3).last_region == 2);
    CHECK(schedule.buffer(4).last_region == 2);
    // Parts still are parts of what they were.
    CHECK(schedule.buffers[static_cast<size_t>(schedule.buffer(5).part_of)].value == 3);
  }
}

TEST_CASE("what the target won't gather is copied") {
  const auto [schedule, asked] = gather(kHead + kCopy + kReader, false);
  CHECK(asked == 1);
  CHECK(schedule.regions.size() == 4);
  CHECK(schedule.buffer_of[kConcat] >= 0);
}

TEST_CASE("only what a single convolution reads, and would be copied, is asked about") {
  const auto asked = [](const std::string& body) { return gather(body).asked; };
  CHECK(asked(kHead + kCopy + kReader) == 1);  // control
  CHECK(asked(kHead + kCopy + kReader + "\n%e = neg(%c)\noutput \"z\" = %e") == 0);
  CHECK(asked(kHead + kCopy + kReader + "\noutput \"z\" = %c") == 0);
  CHECK(asked(kHead + kCopy + "%d = tanh(%c)\noutput \"y\" = %d") == 0);
  // A concatenation of whole values that could not be placed, and one of rows.
  CHECK(asked(kHead + "%u = constant {seed 3} : f32[8x32x1x1]\n%c = concat(%x, %b) {axis=1}\n"
                      "%d = conv(%c, %u) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], "
                      "pads_end=[0,0]}\noutput \"y\" = %d") == 0);
  CHECK(asked(kHead + "%u = constant {seed 3} : f32[8x8x1x1]\n%c = concat(%q, %p) {axis=2}\n"
                      "%d = conv(%c, %u) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], "
                      "pads_end=[0,0]}\noutput \"y\" = %d") == 0);
  // Halves of one value, side by side with another one: written in place.
  CHECK(asked(kHead + "%r = slice(%a) {begin=[0,0,0,0], extent=[1,8,4,4], step=[1,1,1,1]}\n"
                      "%u = constant {seed 3} : f32[8x32x1x1]\n%c = concat(%r, %p, %b) {axis=1}\n"
                      "%d = conv(%c, %u) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], "
                      "pads_end=[0,0]}\noutput \"y\" = %d") == 0);
}

}  // namespace
}  // namespace camshaft::schedule
