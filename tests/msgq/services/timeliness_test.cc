// SPDX-License-Identifier: MIT
#include "msgq/services/timeliness.h"

#include <catch2/catch.hpp>

namespace camshaft::services {
namespace {

constexpr int64_t kMs = 1'000'000;

// A service of 20 Hz, whose clock is ours.
struct Service {
  int64_t now_ns = 1'000'000 * kMs;
  Timeliness timeliness{20, Tolerance(), now_ns};

  void send_after(int64_t ms, uint64_t count = 1) {
    now_ns += ms * kMs;
    timeliness.add(now_ns, count);
    timeliness.look(now_ns);
  }
  void look_after(int64_t ms) {
    now_ns += ms * kMs;
    timeliness.look(now_ns);
  }
};

}  // namespace

TEST_CASE("a service in time is alive, and its rates are what they are") {
  Service s;
  CHECK_FALSE(s.timeliness.seen());
  CHECK_FALSE(s.timeliness.alive());
  for (int i = 0; i < 400; ++i) s.send_after(50);
  CHECK(s.timeliness.alive());
  CHECK(s.timeliness.rate_ok());
  CHECK_FALSE(s.timeliness.late());
  CHECK(s.timeliness.times_late() == 0);
  CHECK(s.timeliness.rate_1s() == Approx(20));
  CHECK(s.timeliness.rate_10s() == Approx(20));
  s.look_after(40);  // between two messages nothing falls
  CHECK(s.timeliness.rate_1s() == Approx(20));
}

TEST_CASE("a service that stops is late by how much, since when") {
  Service s;
  for (int i = 0; i < 300; ++i) s.send_after(50);
  const int64_t last_ns = s.now_ns;
  s.look_after(74);
  CHECK_FALSE(s.timeliness.late());
  s.look_after(2);
  REQUIRE(s.timeliness.late());
  CHECK(s.timeliness.late().since_ns == last_ns + 50 * kMs);
  CHECK(s.timeliness.late().by_ns == 26 * kMs);
  CHECK(s.timeliness.alive());
  s.look_after(400);
  CHECK(s.timeliness.late().since_ns == last_ns + 50 * kMs);
  CHECK(s.timeliness.late().by_ns == 426 * kMs);
  s.look_after(30);
  CHECK_FALSE(s.timeliness.alive());
  CHECK(s.timeliness.rate_1s() < 20);
  // It comes back: that time is over, and kept.
  s.send_after(4);
  CHECK_FALSE(s.timeliness.late());
  CHECK(s.timeliness.alive());
  CHECK(s.timeliness.times_late() == 1);
  CHECK(s.timeliness.last_late().since_ns == last_ns + 50 * kMs);
  CHECK(s.timeliness.last_late().by_ns == 460 * kMs);
}

TEST_CASE("a service that never came is late since it was first due") {
  Service s;
  const int64_t opened_ns = s.now_ns;
  s.look_after(1000);
  CHECK(s.timeliness.late().since_ns == opened_ns + 50 * kMs);
  CHECK(s.timeliness.late().by_ns == 950 * kMs);
}

TEST_CASE("messages passed over are not taken for a gap") {
  Service s;
  s.send_after(50);
  s.send_after(500, 10);  // ten periods, ten messages
  CHECK(s.timeliness.times_late() == 0);
  s.send_after(500, 5);  // control: five are missing
  CHECK(s.timeliness.times_late() == 1);
  CHECK(s.timeliness.last_late().by_ns == 250 * kMs);
}

TEST_CASE("a wrong rate is noticed once there is enough to say so") {
  for (const int64_t period_ms : {30, 40, 60, 70}) {
    INFO(period_ms);
    Service s;
    for (int64_t ms = 0; ms < 9000; ms += period_ms) s.send_after(period_ms);
    CHECK(s.timeliness.rate_ok());  // too early
    for (int64_t ms = 0; ms < 9000; ms += period_ms) s.send_after(period_ms);
    CHECK(s.timeliness.rate_10s() == Approx(1000.0 / static_cast<double>(period_ms)));
    const bool is_near = period_ms == 60;  // 16.7 Hz is within 16 to 24, 25 and 14.3 are not
    CHECK(s.timeliness.rate_ok() == is_near);
  }
}

TEST_CASE("the last second and the last ten differ after a change") {
  Service s;
  for (int i = 0; i < 400; ++i) s.send_after(50);
  for (int i = 0; i < 20; ++i) s.send_after(100);
  CHECK(s.timeliness.rate_1s() == Approx(10));
  CHECK(s.timeliness.rate_10s() > 15);
  CHECK(s.timeliness.rate_10s() < 20);
}

TEST_CASE("a service on demand is never late") {
  Timeliness timeliness(0, Tolerance(), 5 * kMs);
  CHECK(timeliness.alive());
  timeliness.look(3600'000 * kMs);
  CHECK(timeliness.alive());
  CHECK(timeliness.rate_ok());
  CHECK_FALSE(timeliness.late());
  CHECK_FALSE(timeliness.seen());
  timeliness.add(3600'000 * kMs, 1);
  timeliness.add(3600'100 * kMs, 1);
  timeliness.look(3600'100 * kMs);
  CHECK(timeliness.rate_1s() == Approx(10));
  CHECK(timeliness.times_late() == 0);
}

TEST_CASE("clocks that go back, and more messages than there is room for, do no harm") {
  Service s;
  s.send_after(50);
  s.timeliness.add(s.now_ns - 1000 * kMs, 1);
  s.look_after(1);
  CHECK(s.timeliness.times_late() == 0);
  for (int i = 0; i < 100000; ++i) {
    s.now_ns += kMs / 10;
    s.timeliness.add(s.now_ns, 1);
  }
  s.timeliness.look(s.now_ns);
  CHECK(s.timeliness.rate_1s() == Approx(10000));
  CHECK(s.timeliness.rate_10s() == Approx(10000));
}

}  // namespace camshaft::services
