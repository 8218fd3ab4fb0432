// SPDX-License-Identifier: MIT
// A plan on the CPU reads frames where the camera wrote them.
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "devices/registry.h"
#include "runtime/session/session.h"
#include "tests/msgq/frames/fixture.h"
#include "tests/runtime/session/tiny_plan.h"

namespace camshaft::frames {
namespace {

using test::kTinyCount;

constexpr uint64_t kFrameBytes = kTinyCount * sizeof(float);

struct FloatPool {
  test::QueueDomain domain;
  std::unique_ptr<FramePool> pool;

  FloatPool() {
    auto opened = FramePool::open({.name = "road",
                                   .domain = domain.options(),
                                   .geometry = *lay_out(kBytes, kFrameBytes, 1),
                                   .slots = 3});
    REQUIRE(opened.has_value());
    pool = std::move(*opened);
  }

  // A frame whose numbers are all `value`; where its bytes are for the producer.
  const std::byte* publish(float value) {
    auto frame = pool->begin();
    REQUIRE(frame.has_value());
    const FrameMemory memory = frame->memory();
    auto access = frame->begin_access(Access::kWrite);
    for (size_t i = 0; i < kTinyCount; ++i) {
      std::memcpy(access->writable_bytes().data() + i * sizeof value, &value, sizeof value);
    }
    REQUIRE(access->end().is_ok());
    REQUIRE(pool->publish(std::move(*frame), {}).has_value());
    return memory.host_ptr;
  }
};

// What a device is told of a slot's memory.
hal::ForeignMemory foreign_memory(const FrameMemory& memory) {
  hal::ForeignMemory foreign;
  foreign.kind = hal::ForeignKind::kHostPointer;
  foreign.handle = reinterpret_cast<uint64_t>(memory.host_ptr);
  foreign.size_bytes = memory.size_bytes;
  return foreign;
}

float second_of(const base::Result<base::Bytes>& bytes) {
  REQUIRE(bytes.has_value());
  float value = 0;
  std::memcpy(&value, bytes->data() + sizeof value, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a plan on the CPU reads a pool's frames in place") {
  FloatPool f;
  std::atomic<bool> is_joined = false;
  std::unique_ptr<FrameReader> reader;
  std::thread thread([&] {
    auto joined =
        FrameReader::join("road", {.domain = f.domain.options(), .deadline_ns = in_seconds(60)});
    if (joined) reader = std::move(*joined);
    is_joined = true;
  });
  while (!is_joined) f.pool->serve();
  thread.join();
  REQUIRE(reader != nullptr);

  const plan::PlanFile plan = test::open_tiny();
  auto device = hal::open_device(devices::backends(), "cpu", {.threads = 1});
  REQUIRE(device.has_value());
  auto opened = session::Session::open(plan, **device, {});
  REQUIRE(opened.has_value());
  session::Session& session = **opened;
  // Each slot once, at load time.
  hal::Buffer slots[kMaxSlots];
  for (uint32_t i = 0; i < reader->slot_count(); ++i) {
    auto imported = session.import_memory(foreign_memory(reader->memory(i)));
    REQUIRE(imported.has_value());
    slots[i] = *imported;
  }

  float total = 0;
  for (int i = 1; i <= 20; ++i) {
    const auto value = static_cast<float>(i);
    const std::byte* const written_at = f.publish(value);
    FrameLease frame = take(*reader);
    CHECK(frame.memory().host_ptr != written_at);  // another mapping, as in another process
    REQUIRE(session.bind_input(0, slots[frame.descriptor().slot]).is_ok());
    auto access = frame.begin_access();
    REQUIRE(session.run({}).has_value());
    CHECK(access->end().is_ok());
    total += value;  // the plan sums its inputs up
    CHECK(second_of(session.output(0)) == total);
    CHECK(frame.release().is_ok());
  }

  // That nothing was copied: the producer's buffer is changed behind the session's back.
  std::byte* const bytes = const_cast<std::byte*>(f.publish(100));
  FrameLease frame = take(*reader);
  REQUIRE(session.bind_input(0, slots[frame.descriptor().slot]).is_ok());
  REQUIRE(session.run({}).has_value());
  CHECK(second_of(session.output(0)) == total + 100);
  const float changed = 7;
  std::memcpy(bytes + sizeof changed, &changed, sizeof changed);
  REQUIRE(session.run({}).has_value());
  CHECK(second_of(session.output(0)) == total + 100 + 7);
}

}  // namespace camshaft::frames
