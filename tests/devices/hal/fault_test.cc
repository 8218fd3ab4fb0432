// SPDX-License-Identifier: MIT
#include "devices/hal/fault.h"

#include <catch2/catch.hpp>

#include "devices/null/null_backend.h"
#include "runtime/base/clock.h"

using namespace camshaft;
using base::Code;
using hal::Call;
using hal::FaultAction;

namespace {

struct Fixture {
  hal::FaultDevice device{std::move(*null::open({}))};
  hal::CommandList list = *device.record({}, 0);

  Code submit() { return device.submit(list, {}).error().code(); }
};

}  // namespace

TEST_CASE("without faults nothing fails", "[hal]") {
  Fixture f;
  CHECK(f.submit() == Code::kOk);
  CHECK(f.device.wait(1, {}).is_ok());
}

TEST_CASE("the n-th call of a kind fails", "[hal]") {
  Fixture f;
  f.device.arm({.call = Call::kAllocate, .first = 2, .count = 2, .code = Code::kOutOfMemory});
  const auto allocate = [&] {
    return f.device.allocate(64, hal::MemoryKind::kDevice).error().code();
  };
  CHECK(allocate() == Code::kOk);
  CHECK(allocate() == Code::kOutOfMemory);
  CHECK(allocate() == Code::kOutOfMemory);
  CHECK(allocate() == Code::kOk);
  CHECK(f.submit() == Code::kOk);  // other kinds are left alone
}

TEST_CASE("every kind of call can fail", "[hal]") {
  Fixture f;
  for (const Call call : {Call::kImportMemory, Call::kLoad, Call::kRecord, Call::kReset}) {
    f.device.arm({.call = call, .code = Code::kIo});
  }
  CHECK(f.device.import_memory({}).error().code() == Code::kIo);
  CHECK(f.device.load({}).error().code() == Code::kIo);
  CHECK(f.device.record({}, 0).error().code() == Code::kIo);
  CHECK(f.device.reset().code() == Code::kIo);
  CHECK(f.device.reset().is_ok());
  f.device.arm({.call = Call::kWait, .code = Code::kDeadlineExceeded});
  CHECK(f.device.wait(0, {}).code() == Code::kDeadlineExceeded);
  CHECK(f.device.wait(0, {}).is_ok());  // not a device fault, so not sticky
}

TEST_CASE("device faults are sticky until reset", "[hal]") {
  for (const Call call : {Call::kSubmit, Call::kWait}) {
    Fixture f;
    f.device.arm({.call = call});
    if (call == Call::kWait) {
      CHECK(f.submit() == Code::kOk);
      CHECK(f.device.wait(1, {}).code() == Code::kDeviceFault);
    }
    CHECK(f.submit() == Code::kDeviceFault);
    CHECK(f.device.wait(0, {}).code() == Code::kDeviceFault);
    CHECK(f.device.record({}, 0).error().code() == Code::kDeviceFault);
    f.device.disarm();
    CHECK(f.submit() == Code::kDeviceFault);
    CHECK(f.device.reset().is_ok());
    CHECK(f.submit() == Code::kOk);
  }
}

TEST_CASE("a delayed call takes at least as long", "[hal]") {
  Fixture f;
  f.device.arm({.call = Call::kSubmit, .action = FaultAction::kDelay, .delay_ns = 3'000'000});
  const int64_t start_ns = base::mono_time_ns();
  CHECK(f.submit() == Code::kOk);
  CHECK(base::mono_time_ns() - start_ns >= 3'000'000);
}

TEST_CASE("dropped work is never done", "[hal]") {
  Fixture f;
  const hal::Allocation source = *f.device.allocate(64, hal::MemoryKind::kHostVisible);
  const hal::Allocation target = *f.device.allocate(64, hal::MemoryKind::kHostVisible);
  hal::Command copy;
  copy.kind = hal::CommandKind::kCopy;
  copy.source.buffer = source.buffer;
  copy.destination.buffer = target.buffer;
  copy.size_bytes = 64;
  const hal::CommandList list = *f.device.record(std::span(&copy, 1), 0);
  auto* from = static_cast<char*>(source.host_ptr);
  const auto* to = static_cast<const char*>(target.host_ptr);

  f.device.arm({.call = Call::kSubmit, .first = 2, .action = FaultAction::kDrop});
  from[0] = 1;
  REQUIRE(f.device.submit(list, {}).has_value());
  from[0] = 2;
  const hal::Ticket dropped = *f.device.submit(list, {});
  CHECK(dropped == 2);
  CHECK(to[0] == 1);
  const auto soon = [] { return hal::Deadline{base::mono_time_ns() + 1'000'000}; };
  CHECK(f.device.wait(1, {}).is_ok());
  CHECK(f.device.wait(dropped, soon()).code() == Code::kDeadlineExceeded);
  // Tickets after it are not reached either: a timeline has no holes.
  const hal::Ticket after = *f.device.submit(list, {});
  CHECK(f.device.wait(after, soon()).code() == Code::kDeadlineExceeded);

  REQUIRE(f.device.reset().is_ok());
  const hal::Ticket again = *f.device.submit(list, {});
  CHECK(again > after);
  CHECK(f.device.wait(again, {}).is_ok());
}
