// SPDX-License-Identifier: MIT
// Outputs whose extents depend on data, bounds that a run exceeds, tensors without elements.
#include "runtime/session/extents.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "devices/hal/validate.h"
#include "devices/registry.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/counted_plan.h"
#include "tests/runtime/session/tiny_plan.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using session::Session;
using test::last_sentence;

namespace {

using Extents = std::array<int64_t, 3>;

struct Fixture {
  plan::PlanFile plan = test::open_plan(test::counted_plan());
  std::unique_ptr<hal::ValidatingDevice> device;
  std::unique_ptr<Session> session;

  Fixture() {
    device = std::make_unique<hal::ValidatingDevice>(
        std::move(*hal::open_device(devices::backends(), "cpu", {.threads = 1})));
    auto opened = Session::open(plan, *device, {});
    REQUIRE(opened);
    session = std::move(*opened);
  }
  ~Fixture() {
    session.reset();
    CHECK(device->error_count() == 0);
  }

  void say(int64_t first, int64_t second, uint8_t exceeded = 0) {
    const int64_t counts[] = {first, second};
    std::memcpy(session->input_span(0)->data(), counts, sizeof counts);
    std::memcpy(session->input_span(1)->data(), &exceeded, 1);
  }
  Extents run() {
    REQUIRE(session->run({}));
    return extents();
  }
  Extents extents() {
    Extents result = {-7, -7, -7};
    REQUIRE(session->output_extents(0, result).is_ok());
    return result;
  }
};

}  // namespace

TEST_CASE("extents are the last run's, on counted axes only") {
  Fixture f;
  f.say(3, 0);
  CHECK(f.run() == Extents{3, 5, 0});
  f.say(4, 6);
  CHECK(f.run() == Extents{4, 5, 6});
  int64_t counts = 0;
  CHECK(f.session->output_extents(1, {&counts, 1}).is_ok());
  CHECK(counts == 2);  // an output without counts is as its shape says
  CHECK(f.session->output_extents(2, {}).is_ok());
}

TEST_CASE("counts that no axis can have are not believed") {
  Fixture f;
  f.say(5, -1);
  CHECK(f.run() == Extents{4, 5, 0});
  f.say(INT64_MAX, INT64_MIN);
  CHECK(f.run() == Extents{4, 5, 0});
}

TEST_CASE("extents fail as outputs do") {
  Fixture f;
  Extents extents = {};
  CHECK(f.session->output_extents(0, extents).code() == Code::kInvalidArgument);  // not run
  f.say(1, 1);
  REQUIRE(f.session->run({}));
  CHECK(f.session->output_extents(4, extents).code() == Code::kInvalidArgument);
  CHECK(f.session->output_extents(0, std::span(extents).first(2)).code() == Code::kInvalidArgument);
  CHECK(last_sentence() ==
        "the output 'rows' has 3 extents, and there is room for 2: give as many");
}

TEST_CASE("a run that exceeds a bound fails, and hands nothing out") {
  Fixture f;
  f.say(4, 2, 1);
  const auto result = f.session->run({});
  CHECK(result.error().code() == Code::kBoundExceeded);
  CHECK(last_sentence().find("run 1 needs more than a bound allows that the plan was compiled with "
                             "(n=4)") == 0);
  CHECK(f.session->output(0).error().code() == Code::kBoundExceeded);
  Extents extents = {};
  CHECK(f.session->output_extents(0, extents).code() == Code::kBoundExceeded);
  f.say(4, 2);
  CHECK(f.run() == Extents{4, 5, 2});  // the next one is no worse for it
  CHECK(f.session->run({})->sequence == 3);
}

TEST_CASE("an entry point that says nothing of bounds is not blamed for an earlier run") {
  Fixture f;
  f.say(4, 2, 1);
  REQUIRE(!f.session->run({}));
  CHECK(f.session->run({.entry = *f.session->entry_index("prepare")}));
}

TEST_CASE("what says that a bound was exceeded can't be bound elsewhere") {
  Fixture f;
  alignas(64) std::array<std::byte, 64> memory = {};
  const auto imported =
      f.session->import_memory({.handle = reinterpret_cast<uint64_t>(memory.data()),
                                .size_bytes = memory.size(),
                                .writable = true});
  REQUIRE(imported);
  CHECK(f.session->bind_output(2, *imported).code() == Code::kInvalidArgument);
  CHECK(f.session->bind_output(1, *imported).is_ok());
  f.say(2, 3);
  CHECK(f.run() == Extents{2, 5, 3});  // counts may be, and are read where they went
  CHECK(memory[0] == std::byte{2});
  CHECK(f.session->unbind_output(1).is_ok());
}

TEST_CASE("tensors without elements can be set and read") {
  Fixture f;
  constexpr int64_t kShape[] = {0, 3};
  CHECK(f.session->set_input(2, {.shape = kShape}).is_ok());
  CHECK(f.session->input_span(2)->empty());
  constexpr int64_t kOther[] = {3, 0};
  CHECK(f.session->set_input(2, {.shape = kOther}).code() == Code::kInvalidArgument);
  f.say(1, 1);
  REQUIRE(f.session->run({}));
  const auto none = f.session->output(3);
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("a plan that needs more memory than the device has is refused with what it needs") {
  plan::PlanContents contents = test::counted_plan();
  plan::TargetInfo& target = contents.info.targets[0];
  target.arena_bytes = plan::kMaxBufferBytes;
  target.arena_blocks = {{"large", 0, plan::kMaxBufferBytes, 0, 0}};
  const plan::PlanFile plan = test::open_plan(contents);
  const auto device = std::move(*hal::open_device(devices::backends(), "cpu", {.threads = 1}));
  REQUIRE(device->info().memory_bytes < plan::kMaxBufferBytes);
  CHECK(Session::open(plan, *device, {}).error().code() == Code::kWrongTarget);
  CHECK(last_sentence().find(
            "needs 1024.0 GiB of memory, 1024.0 of them for values between kernels") !=
        std::string::npos);
}
