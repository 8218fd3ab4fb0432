// SPDX-License-Identifier: MIT
// PubMaster and SubMaster, on the transports.
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "msgq/services/pub_master.h"
#include "msgq/services/sub_master.h"
#include "msgq/transport/in_process.h"
#include "msgq/transport/shared_memory.h"
#include "msgq/transport/stepped.h"
#include "runtime/base/clock.h"
#include "tests/support/allocation_count.h"
#include "tests/support/last_sentence.h"
#include "tests/support/queue_domain.h"

namespace camshaft::services {
namespace {

using base::Code;
using test::last_sentence;

constexpr int64_t kMs = 1'000'000;

// So seldom that no service is late in a test that is not about that, however busy the machine is.
constexpr double kSeldomHz = 0.01;

schema::Message controls(float steering, bool valid = true, const char* reason = "") {
  schema::Message message;
  message.valid = valid;
  message.reason = reason;
  message.body = schema::Controls{.steering_angle_rad = steering, .alert = {}};
  return message;
}

PubMaster open_pub(transport::Transport& transport, std::vector<std::string_view> names) {
  auto opened = PubMaster::open(transport, names);
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

SubMaster open_sub(transport::Transport& transport, std::vector<Subscription> subscriptions) {
  auto opened = SubMaster::open(transport, subscriptions, {.name = "test"});
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

base::Status send(PubMaster& out, std::string_view service, schema::Message message) {
  return out.send(service, message);
}

}  // namespace

TEST_CASE("messages go from PubMaster to SubMaster in shared memory") {
  const test::QueueDomain domain;
  transport::SharedMemory transport(domain.options());
  SubMaster in =
      open_sub(transport, {{.service = "controls", .rate_hz = kSeldomHz}, {"vehicleState"}});
  PubMaster out = open_pub(transport, {"controls", "vehicleState"});
  CHECK(in.update(transport.now_ns()).code() == Code::kDeadlineExceeded);
  CHECK_FALSE(in.state("controls").seen);

  REQUIRE(send(out, "controls", controls(0.5F)).is_ok());
  REQUIRE(in.update(transport.now_ns() + 60'000 * kMs).is_ok());
  const ServiceState& state = in.state("controls");
  CHECK(state.updated);
  CHECK(state.seen);
  CHECK(state.alive);
  CHECK(state.valid);
  CHECK(state.sequence == 1);
  CHECK(state.sent_ns <= transport.now_ns());
  CHECK(in.body<schema::Controls>("controls")->steering_angle_rad == 0.5F);
  CHECK(in.body<schema::Health>("controls") == nullptr);
  CHECK(in.message("controls").service == "controls");
  CHECK(in.message("controls").mono_time_ns > 0);
  CHECK(!in.bytes(in.index("controls")).empty());
  CHECK_FALSE(in.state("vehicleState").updated);
  CHECK(in.body<schema::VehicleState>("vehicleState") == nullptr);

  CHECK(in.update(transport.now_ns()).code() == Code::kDeadlineExceeded);
  CHECK_FALSE(in.state("controls").updated);  // what was there is not new again
  CHECK(in.bytes(in.index("controls")).empty());
  CHECK(in.body<schema::Controls>("controls")->steering_angle_rad == 0.5F);
}

TEST_CASE("the newest message, or one after the other") {
  transport::InProcess transport;
  PubMaster out = open_pub(transport, {"controls", "health"});
  SubMaster newest = open_sub(transport, {{"controls"}});
  SubMaster each = open_sub(transport, {{.service = "controls", .conflate = false}});
  for (const float angle : {1.0F, 2.0F, 3.0F}) {
    REQUIRE(send(out, "controls", controls(angle)).is_ok());
  }
  REQUIRE(newest.update(transport.now_ns()).is_ok());
  CHECK(newest.body<schema::Controls>("controls")->steering_angle_rad == 3);
  CHECK(newest.state("controls").received == 1);
  CHECK(newest.state("controls").dropped == 0);
  for (const float angle : {1.0F, 2.0F, 3.0F}) {
    REQUIRE(each.update(transport.now_ns()).is_ok());
    CHECK(each.body<schema::Controls>("controls")->steering_angle_rad == angle);
  }
  CHECK(each.update(transport.now_ns()).code() == Code::kDeadlineExceeded);
}

TEST_CASE("only services that wake end a wait; the others are taken along") {
  transport::InProcess transport;
  PubMaster out = open_pub(transport, {"controls", "health"});
  SubMaster in = open_sub(transport, {{"controls"}, {.service = "health", .wakes = false}});
  schema::Message health;
  health.body = schema::Health();
  REQUIRE(out.send("health", health).is_ok());
  CHECK(in.update(transport.now_ns() + kMs).code() == Code::kDeadlineExceeded);
  CHECK(in.state("health").updated);
}

TEST_CASE("what a writer calls not valid, and why") {
  transport::InProcess transport;
  PubMaster out = open_pub(transport, {"controls"});
  SubMaster in = open_sub(transport, {{.service = "controls", .rate_hz = kSeldomHz}});
  REQUIRE(send(out, "controls", controls(1, false, "the model's output is too old")).is_ok());
  REQUIRE(in.update(transport.now_ns()).is_ok());
  CHECK(in.state("controls").updated);
  CHECK_FALSE(in.state("controls").valid);
  CHECK_FALSE(in.all_ok());
  CHECK(in.complaint() == "controls is not valid: the model's output is too old");
  REQUIRE(send(out, "controls", controls(1)).is_ok());
  REQUIRE(in.update(transport.now_ns()).is_ok());
  CHECK(in.all_ok());  // control
  CHECK(in.complaint().empty());
}

TEST_CASE("bytes that are no message make the service invalid, and are not handed out") {
  transport::InProcess transport;
  PubMaster out = open_pub(transport, {"controls"});
  SubMaster in = open_sub(transport, {{.service = "controls", .rate_hz = kSeldomHz}});
  REQUIRE(send(out, "controls", controls(1)).is_ok());
  REQUIRE(in.update(transport.now_ns()).is_ok());
  REQUIRE(out.send_bytes("controls", base::as_bytes(std::string_view("rubbish!"))).is_ok());
  REQUIRE(in.update(transport.now_ns()).is_ok());
  CHECK_FALSE(in.state("controls").updated);
  CHECK_FALSE(in.state("controls").valid);
  CHECK(in.state("controls").damaged == 1);
  CHECK(in.body<schema::Controls>("controls") == nullptr);
  CHECK(in.complaint() == "controls is not valid: its message is damaged");
  // A message that is whole, and of another service.
  schema::Message health;
  health.body = schema::Health();
  schema::Encoder encoder;
  REQUIRE(out.send_bytes("controls", *encoder.encode(health)).is_ok());
  REQUIRE(in.update(transport.now_ns()).is_ok());
  CHECK_FALSE(in.state("controls").updated);
  CHECK(in.complaint() == "controls is not valid: its message is of another schema");
}

TEST_CASE("wrong names and bodies are refused with a sentence") {
  transport::InProcess transport;
  const std::string_view unknown[] = {"carState"};
  CHECK(PubMaster::open(transport, unknown).error().code() == Code::kInvalidArgument);
  CHECK(last_sentence().find("there is no service 'carState'; there are roadCameraState, ") == 0);
  const std::string_view slip[] = {"controlz"};
  CHECK(PubMaster::open(transport, slip).error().code() == Code::kInvalidArgument);
  CHECK(last_sentence().find("there is no service 'controlz' (did you mean 'controls'?); ") == 0);
  const Subscription wanted[] = {{"carState"}};
  CHECK(SubMaster::open(transport, wanted, {}).error().code() == Code::kInvalidArgument);
  const Subscription asleep[] = {{.service = "controls", .wakes = false}};
  CHECK(SubMaster::open(transport, asleep, {}).error().code() == Code::kInvalidArgument);
  PubMaster out = open_pub(transport, {"controls"});
  CHECK(send(out, "health", controls(1)).code() == Code::kInvalidArgument);
  CHECK(last_sentence() == "this PubMaster does not send 'health': name it when opening it");
  schema::Message health;
  health.body = schema::Health();
  CHECK(out.send("controls", health).code() == Code::kInvalidArgument);
  CHECK(last_sentence() == "'controls' carries controls, not health");
}

// On a clock of the test's own: the driver of a stepped transport says what time it is.
TEST_CASE("a late service is named, with by how much and since when") {
  transport::Stepped transport;
  transport.set_now(995 * kMs);
  std::string complaint;
  bool was_ok = false;
  ServiceState late, back;
  std::thread program([&] {
    SubMaster in = open_sub(transport, {{"controls"}, {.service = "health", .is_optional = true}});
    (void)in.update(0);
    was_ok = in.all_ok();
    (void)in.update(0);
    complaint = in.complaint();
    late = in.state("controls");
    (void)in.update(0);
    back = in.state("controls");
    transport.finish();
  });
  schema::Encoder encoder;
  schema::Message message = controls(1);
  const base::Bytes bytes = *encoder.encode(message);
  const uint64_t id = schema::schema_id(schema::body_index("controls"));
  const auto step = [&](int64_t now_ms, bool has_message) {
    REQUIRE(transport.next_request(base::mono_time_ns() + 60'000 * kMs).has_value());
    transport.set_now(now_ms * kMs);
    if (has_message) REQUIRE(transport.deliver("controls", bytes, id).is_ok());
    transport.resume();
  };
  step(1000, true);
  step(1094, false);
  step(1100, true);
  program.join();
  CHECK(was_ok);
  CHECK(complaint == "controls is 84 ms late: its message was due 0.1 s ago");
  CHECK(late.late.since_ns == 1010 * kMs);
  CHECK(late.late.by_ns == 84 * kMs);
  CHECK(late.alive);
  CHECK_FALSE(back.late);
  CHECK(back.times_late == 1);
  CHECK(back.last_late.by_ns == 90 * kMs);
}

TEST_CASE("messages cost no allocation, whatever happens to the others") {
  const test::QueueDomain domain;
  transport::SharedMemory transport(domain.options());
  PubMaster out = open_pub(transport, {"controls", "vehicleState"});
  SubMaster in = open_sub(transport, {{"controls"}, {"vehicleState"}});
  schema::Message message = controls(1);
  schema::Message vehicle;
  vehicle.valid = true;
  vehicle.body = schema::VehicleState{.speed_mps = 3, .faults = {"a fault"}};
  bool is_fine = true;
  const auto pass = [&] {
    message.mono_time_ns = 0;
    is_fine &= out.send("controls", message).is_ok();
    is_fine &= out.send("vehicleState", vehicle).is_ok();
    is_fine &= in.update(INT64_MAX).is_ok();
    is_fine &= in.state(0).valid && in.state(1).valid;
  };
  for (int i = 0; i < 3; ++i) pass();
  const uint64_t before = test::allocation_count();
  for (int i = 0; i < 1000; ++i) pass();
  CHECK(test::allocation_count() == before);
  CHECK(is_fine);
}

}  // namespace camshaft::services
