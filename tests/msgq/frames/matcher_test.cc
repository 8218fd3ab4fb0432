// SPDX-License-Identifier: MIT
#include "msgq/frames/matcher.h"

#include <catch2/catch.hpp>
#include <thread>

#include "tests/msgq/frames/fixture.h"
#include "tests/support/last_sentence.h"

namespace camshaft::frames {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Cameras {
  Fixture road{8};
  Fixture wide{8};
  std::unique_ptr<FrameReader> road_reader = road.join();
  std::unique_ptr<FrameReader> wide_reader = wide.join();
  FrameReader* readers[2] = {road_reader.get(), wide_reader.get()};
  FrameMatcher matcher = *FrameMatcher::make(readers, 10 * kMs);

  base::Result<MatchedFrames> receive(Take how = Take::kNext) {
    return matcher.receive(how, base::mono_time_ns());
  }
};

int64_t start_of(const MatchedFrames& matched, uint32_t camera) {
  return matched.frames[camera]->descriptor().exposure_start_ns;
}

}  // namespace

TEST_CASE("frames that were exposed together come together") {
  Cameras c;
  for (int i = 1; i <= 3; ++i) {
    c.road.publish(i, i * 50 * kMs);
    c.wide.publish(i, i * 50 * kMs + 4 * kMs);
    auto matched = c.receive();
    REQUIRE(matched.has_value());
    CHECK(matched->count == 2);
    CHECK(start_of(*matched, 0) == i * 50 * kMs);
    CHECK(matched->skew_ns == 4 * kMs);
    CHECK(is_filled_with(*matched->frames[1], i));
  }
  CHECK(c.matcher.counters().matched == 3);
  CHECK(c.matcher.counters().unmatched[0] == 0);
}

TEST_CASE("a camera's dropped frame costs one match, not the order") {
  Cameras c;
  c.road.publish(1, 50 * kMs);
  c.wide.publish(1, 50 * kMs);
  REQUIRE(c.receive().has_value());
  for (int i = 2; i <= 4; ++i) c.road.publish(i, i * 50 * kMs);
  for (int i : {3, 4}) c.wide.publish(i, i * 50 * kMs);  // without the second
  auto matched = c.receive();
  REQUIRE(matched.has_value());
  CHECK(start_of(*matched, 0) == 150 * kMs);
  CHECK(start_of(*matched, 1) == 150 * kMs);
  CHECK(c.matcher.counters().unmatched[0] == 1);
  CHECK(c.matcher.counters().unmatched[1] == 0);
}

TEST_CASE("frames further apart than allowed never match") {
  Cameras c;
  for (int i = 1; i <= 5; ++i) {
    c.road.publish(i, i * 50 * kMs);
    c.wide.publish(i, i * 50 * kMs + 11 * kMs);
  }
  CHECK(c.receive().error().code() == base::Code::kDeadlineExceeded);
  CHECK(c.matcher.counters().matched == 0);
  CHECK(c.matcher.counters().unmatched[0] > 0);
  // Control: the same times within a wider tolerance.
  Cameras wider;
  wider.matcher = *FrameMatcher::make(wider.readers, 11 * kMs);
  wider.road.publish(1, 50 * kMs);
  wider.wide.publish(1, 61 * kMs);
  CHECK(wider.receive().has_value());
}

TEST_CASE("a late camera is named, and what the other has is kept") {
  Cameras c;
  CHECK(c.receive().error().code() == base::Code::kDeadlineExceeded);
  CHECK(test::last_sentence() == "camera 'road' has had no frame yet");
  const int64_t now = base::mono_time_ns();
  c.road.publish(1, now);
  c.wide.publish(1, now);
  REQUIRE(c.receive().has_value());
  c.road.publish(2, now + 50 * kMs);
  CHECK(c.receive().error().code() == base::Code::kDeadlineExceeded);
  CHECK(test::last_sentence().find("camera 'road' has no frame to match: its last one is ") == 0);
  c.wide.publish(2, now + 50 * kMs);
  const auto matched = c.receive();
  REQUIRE(matched.has_value());
  CHECK(start_of(*matched, 0) == now + 50 * kMs);
}

TEST_CASE("the newest match passes over older frames") {
  Cameras c;
  for (int i = 1; i <= 5; ++i) {
    c.road.publish(i, i * 50 * kMs);
    c.wide.publish(i, i * 50 * kMs);
  }
  const auto matched = c.receive(Take::kNewest);
  REQUIRE(matched.has_value());
  CHECK(start_of(*matched, 0) == 250 * kMs);
  // A frame that was kept for a late camera gives way to a newer pair.
  c.road.publish(6, 300 * kMs);
  CHECK_FALSE(c.receive(Take::kNewest).has_value());
  c.road.publish(7, 350 * kMs);
  c.wide.publish(7, 350 * kMs);
  const auto newer = c.receive(Take::kNewest);
  REQUIRE(newer.has_value());
  CHECK(start_of(*newer, 0) == 350 * kMs);
}

TEST_CASE("a matcher holds one frame of a camera at most") {
  Cameras c;
  for (int i = 1; i <= 50; ++i) {
    c.road.publish(i, i * 50 * kMs);
    (void)c.receive();
    CHECK(c.road.pool->stats().leased_slots <= 1);
  }
  CHECK(FrameMatcher::make({}, 10).error().code() == base::Code::kInvalidArgument);
  CHECK(FrameMatcher::make(c.readers, -1).error().code() == base::Code::kInvalidArgument);
}

}  // namespace camshaft::frames
