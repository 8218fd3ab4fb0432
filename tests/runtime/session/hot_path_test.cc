// SPDX-License-Identifier: MIT
// What a frame may not do: allocate, or, with one thread, call the operating system.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "devices/registry.h"
#include "runtime/base/clock.h"
#include "runtime/realtime/histogram.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/counted_plan.h"
#include "tests/runtime/session/tiny_plan.h"
#include "tests/support/heap/malloc_count.h"
#include "tests/support/system_calls.h"

using namespace camshaft;
using session::Session;
using test::clock_call;
using test::succeeded;
using test::wait_status_of;
using test::was_killed;

namespace {

constexpr int kRuns = 1000;

struct alignas(64) Camera {
  float pixels[test::kTinyCount] = {};
};

// Everything that a robot does with a session, ready for the first frame.
struct Robot {
  plan::PlanFile plan = test::open_tiny();
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<Session> session;
  Camera cameras[2];
  hal::Buffer imported[2];
  session::Slice slice;
  std::vector<std::byte> b = std::vector<std::byte>(64);
  realtime::LatencyHistogram latencies;
  double checksum = 0;

  explicit Robot(uint32_t threads, bool profile = false) {
    device = std::move(*hal::open_device(devices::backends(), "cpu", {.threads = threads}));
    session = std::move(*Session::open(plan, *device, {.profile = profile}));
    for (int i = 0; i < 2; ++i) {
      imported[i] =
          *session->import_memory({.handle = reinterpret_cast<uint64_t>(cameras[i].pixels),
                                   .size_bytes = sizeof cameras[i].pixels});
    }
    slice = *session->find_slice("sum", "tail");
  }

  // False if anything failed.
  bool run_frame(int number) noexcept {
    constexpr int64_t kShape[] = {16};
    const int camera = number % 2;
    cameras[camera].pixels[60] = 1;
    const int64_t now_ns = base::mono_time_ns();
    if (!session->bind_input(0, imported[camera]).is_ok()) return false;
    if (!session->set_input(1, {.dtype = base::DType::kInt32, .shape = kShape, .data = b})
             .is_ok()) {
      return false;
    }
    const auto result =
        session->run({.deadline = {now_ns + 1'000'000'000}, .input_time_ns = now_ns});
    if (!result) return false;
    latencies.record(result->age_ns);
    const auto tail = session->output(slice);
    const auto doubled = session->output(1);
    if (!tail || !doubled) return false;
    float value = 0;
    std::memcpy(&value, tail->data() + 4 * sizeof value, sizeof value);
    checksum += value;
    for (const int64_t time_ns : session->command_times(0)) latencies.record(time_ns);
    return true;
  }
  // The state's element 60 grows by 60 a frame.
  static double expected_checksum(int runs) { return 60.0 * runs * (runs + 1) / 2; }
};

uint64_t allocations_in(const std::function<void()>& work) {
  const uint64_t before = test::malloc_count();
  work();
  return test::malloc_count() - before;
}

}  // namespace

TEST_CASE("1,000 frames make no allocation", "[hot-path]") {
  for (const uint32_t threads : {1u, 2u}) {
    for (const bool profile : {false, true}) {
      Robot robot(threads, profile);
      bool good = true;
      const uint64_t allocations = allocations_in([&] {
        for (int i = 0; i < kRuns; ++i) good = robot.run_frame(i) && good;
      });
      CHECK(allocations == 0);
      CHECK(good);
      CHECK(robot.checksum == Robot::expected_checksum(kRuns));
    }
  }
}

TEST_CASE("extents, and runs that exceed a bound, make no allocation", "[hot-path]") {
  const plan::PlanFile plan = test::open_plan(test::counted_plan());
  const auto device = std::move(*hal::open_device(devices::backends(), "cpu", {.threads = 1}));
  const auto session = std::move(*Session::open(plan, *device, {}));
  int64_t sum = 0;
  int refused = 0;
  const uint64_t allocations = allocations_in([&] {
    for (int64_t i = 0; i < kRuns; ++i) {
      const int64_t counts[] = {i % 5, 6};
      std::memcpy(session->input_span(0)->data(), counts, sizeof counts);
      session->input_span(1)->front() = std::byte{i % 100 == 99};
      int64_t extents[3] = {};
      if (session->run({}) && session->output_extents(0, extents).is_ok()) {
        sum += extents[0];
      } else {
        ++refused;
      }
    }
  });
  CHECK(allocations == 0);
  CHECK(refused == kRuns / 100);
  CHECK(sum == kRuns / 5 * 10 - refused * 4);
}

TEST_CASE("refused inputs make no allocation either", "[hot-path]") {
  Robot robot(1);
  constexpr int64_t kShape[] = {17};
  int refused = 0;
  const uint64_t allocations = allocations_in([&] {
    for (int i = 0; i < 100; ++i) {
      const base::Status status = robot.session->set_input(
          1, {.dtype = base::DType::kInt32, .shape = kShape, .data = robot.b});
      refused += status.is_ok() ? 0 : 1;
    }
  });
  CHECK(allocations == 0);
  CHECK(refused == 100);
}

TEST_CASE("an allocation in a frame would be noticed", "[hot-path]") {
  Robot robot(1);
  std::vector<std::unique_ptr<int>> kept(1);
  CHECK(allocations_in([&] {
          for (int i = 0; i < kRuns; ++i) {
            robot.run_frame(i);
            if (i == 500) kept[0] = std::make_unique<int>(i);
          }
        }) == 1);
  void* volatile memory = nullptr;
  CHECK(allocations_in([&] { memory = std::malloc(10); }) == 1);
  CHECK(allocations_in([&] { memory = std::realloc(memory, 10'000); }) >= 1);
  std::free(memory);
}

TEST_CASE("1,000 frames on one thread make no system call", "[hot-path]") {
  const int status = wait_status_of(
      [] {
        auto robot = std::make_shared<Robot>(1);
        return [robot] {
          bool good = true;
          for (int i = 0; i < kRuns; ++i) good = robot->run_frame(i) && good;
          return good && robot->checksum == Robot::expected_checksum(kRuns);
        };
      },
      clock_call());
  CHECK_FALSE(was_killed(status));
  CHECK(succeeded(status));
}

TEST_CASE("a system call in a frame would be noticed", "[hot-path]") {
  const int status = wait_status_of(
      [] {
        auto robot = std::make_shared<Robot>(1);
        return [robot] {
          for (int i = 0; i < kRuns; ++i) {
            robot->run_frame(i);
            if (i == 500) (void)getppid();
          }
          return true;
        };
      },
      clock_call());
  CHECK(was_killed(status));
  // And a child that fails otherwise is not taken for one that succeeded.
  CHECK_FALSE(succeeded(wait_status_of([] { return [] { return false; }; })));
}
