// SPDX-License-Identifier: MIT
// Conformance: programs, launches, lists, tickets, faults.
#include <catch2/catch.hpp>
#include <cstring>

#include "devices/hal/fault.h"
#include "runtime/base/clock.h"
#include "tests/conformance/suite.h"

using namespace camshaft;
using conformance::Bench;

namespace {

void expect_index(const std::vector<uint32_t>& values, uint32_t factor = 1, uint32_t offset = 0) {
  for (uint32_t i = 0; i < values.size(); ++i) EXPECT(values[i] == i * factor + offset);
}

}  // namespace

CONFORMANCE_TEST("a launch covers its grid") {
  for (const uint32_t extent : {1u, 2u, 3u, 64u, 1001u}) {
    for (const uint32_t parts : {1u, 2u, 3u, 16u}) {
      const hal::Buffer out = bench.device_buffer((extent + 1) * sizeof(uint32_t));
      bench.run({bench.launch(conformance::kIndex, extent, {Bench::in(out)}, parts),
                 bench.launch(conformance::kTwice, extent, {Bench::in(out)}, parts)});
      std::vector<uint32_t> values = bench.read(out, extent + 1);
      EXPECT(values.back() == 0);
      values.pop_back();
      expect_index(values, 2);
    }
  }
}

CONFORMANCE_TEST("a large grid in more parts than threads") {
  constexpr uint32_t kExtent = (3 << 20) + 5;
  const hal::Buffer out = bench.device_buffer(kExtent * sizeof(uint32_t));
  bench.run({bench.launch(conformance::kIndex, kExtent, {Bench::in(out)}, 37)});
  expect_index(bench.read(out, kExtent));
}

CONFORMANCE_TEST("commands see the writes of those before them") {
  // Each step reads what all parts of the one before wrote; parts alternate, so that threads must
  // wait for others than those that they waited for last.
  constexpr uint32_t kExtent = 4096;
  constexpr uint32_t kRounds = 60;
  const hal::Buffer a = bench.device_buffer(kExtent * sizeof(uint32_t));
  const hal::Buffer b = bench.device_buffer(kExtent * sizeof(uint32_t));
  std::vector<hal::Command> commands = {
      bench.launch(conformance::kIndex, kExtent, {Bench::in(a)}, 4)};
  hal::Command barrier;
  barrier.kind = hal::CommandKind::kBarrier;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const auto& [from, to] = round % 2 == 0 ? std::pair(a, b) : std::pair(b, a);
    if (round % 7 == 3) {
      commands.push_back(Bench::copy(Bench::in(from), Bench::in(to), kExtent * sizeof(uint32_t)));
      commands.push_back(bench.launch(conformance::kAdd, kExtent,
                                      {Bench::in(to), Bench::in(from), Bench::scalar(1)},
                                      1 + round % 5));
    } else {
      commands.push_back(bench.launch(conformance::kAdd, kExtent,
                                      {Bench::in(to), Bench::in(from), Bench::scalar(1)},
                                      1 + round % 5));
    }
    if (round % 3 == 0) commands.push_back(barrier);
  }
  const hal::CommandList list = bench.record(commands);
  for (int run = 0; run < 20; ++run) bench.run(list);
  expect_index(bench.read(kRounds % 2 == 0 ? a : b, kExtent), 1, kRounds);
}

CONFORMANCE_TEST("slots are bound by each submit") {
  constexpr uint32_t kExtent = 500;
  const hal::CommandList list =
      bench.record({bench.launch(conformance::kAdd, kExtent,
                                 {Bench::slot(1), Bench::slot(0, 64), Bench::scalar(100)}, 2)},
                   3);
  const hal::Allocation in = bench.host_buffer(4096);
  const hal::Allocation out[2] = {bench.host_buffer(4096), bench.host_buffer(4096)};
  auto* values = static_cast<uint32_t*>(in.host_ptr);
  for (uint32_t i = 0; i < 1024; ++i) values[i] = i;
  // Slot 2 is used by no command and may stay unbound.
  for (const auto& target : out) {
    bench.run(list, {{.buffer = in.buffer, .offset_bytes = 128},
                     {.buffer = target.buffer, .offset_bytes = 64},
                     {}});
  }
  for (const auto& target : out) {
    const auto* written = static_cast<const uint32_t*>(target.host_ptr);
    for (uint32_t i = 0; i < 1024; ++i) {
      EXPECT(written[i] == (i >= 16 && i < 16 + kExtent ? i - 16 + 48 + 100 : 0));
    }
  }
}

CONFORMANCE_TEST("scalars reach kernels") {
  const hal::Buffer zero = bench.device_buffer(64);
  const hal::Buffer a = bench.device_buffer(64);
  const hal::Buffer b = bench.device_buffer(64);
  bench.run({bench.launch(conformance::kAdd, 1, {Bench::in(a), Bench::in(zero), Bench::scalar(11)}),
             bench.launch(conformance::kAdd, 1,
                          {Bench::in(b), Bench::in(a), Bench::scalar(0xfffffff0u)})});
  EXPECT(bench.read(a, 1)[0] == 11);
  EXPECT(bench.read(b, 1)[0] == 11 + 0xfffffff0u);
}

CONFORMANCE_TEST("lists can be run again and interleaved") {
  constexpr uint32_t kExtent = 300;
  const hal::Buffer data = bench.device_buffer(kExtent * sizeof(uint32_t));
  const hal::CommandList start =
      bench.record({bench.launch(conformance::kIndex, kExtent, {Bench::in(data)}, 3)});
  const hal::CommandList twice =
      bench.record({bench.launch(conformance::kTwice, kExtent, {Bench::in(data)}, 2)});
  for (int round = 0; round < 5; ++round) {
    bench.run(start);
    for (int i = 0; i < 3; ++i) bench.run(twice);
  }
  expect_index(bench.read(data, kExtent), 8);
}

CONFORMANCE_TEST("an empty list runs") {
  bench.run(bench.record({}));
  bench.run(bench.record({}, 2), {{}, {}});
}

CONFORMANCE_TEST("tickets rise and are reached") {
  hal::Device& device = bench.device();
  EXPECT(device.wait(0, hal::Deadline{0}).is_ok());  // reached from the start
  const hal::CommandList list = bench.record({});
  hal::Ticket last = 0;
  for (int i = 0; i < 10; ++i) {
    const auto ticket = device.submit(list, {});
    EXPECT(ticket.has_value() && *ticket > last);
    last = *ticket;
  }
  EXPECT(device.wait(last, {}).is_ok());
  // A ticket that is reached stays reached, whatever the deadline.
  EXPECT(device.wait(last, hal::Deadline{0}).is_ok());
  EXPECT(device.wait(1, hal::Deadline{0}).is_ok());
}

CONFORMANCE_TEST("time stamps don't go back") {
  const hal::Allocation stamps = bench.host_buffer(64);
  std::vector<hal::Command> commands(3);
  for (uint64_t i = 0; i < commands.size(); ++i) {
    commands[i].kind = hal::CommandKind::kTimestamp;
    commands[i].destination = Bench::in(stamps.buffer, i * 8);
  }
  bench.run(commands);
  const auto* times = static_cast<const uint64_t*>(stamps.host_ptr);
  EXPECT(times[0] > 0 && times[0] <= times[1] && times[1] <= times[2]);
}

CONFORMANCE_TEST("a damaged program is refused") {
  const std::byte noise[100] = {};
  const std::string_view kernels[] = {"f"};
  // The format is a good program's.
  const auto refused = [&](std::string_view format) {
    return bench.device()
        .load({.format = format, .bytes = noise, .kernels = kernels})
        .error()
        .code();
  };
  EXPECT(refused("no such format") == base::Code::kUnsupported);
  for (const auto& row : conformance::backend_rows()) {
    if (std::string_view(row.program_format) == "none") continue;
    const base::Code code = refused(row.program_format);
    EXPECT(code == base::Code::kCorrupt || code == base::Code::kUnsupported);
  }
}

CONFORMANCE_TEST("a released handle is ignored") {
  // Through no decorator: the backend itself must shrug.
  bench.device().release(bench.device_buffer(64));
  const hal::CommandList list = bench.record({});
  bench.device().release(list);
  const hal::Buffer kept = bench.device_buffer(64);
  EXPECT(bench.read(kept, 1)[0] == 0);
}

CONFORMANCE_TEST("a device works after a reset") {
  const hal::Allocation memory = bench.host_buffer(64);
  static_cast<uint32_t*>(memory.host_ptr)[0] = 3;
  EXPECT(bench.device().reset().is_ok());
  EXPECT(bench.read(memory.buffer, 1)[0] == 3);
}

CONFORMANCE_TEST("a device works after a fault and a reset") {
  hal::FaultDevice* fault = nullptr;
  bench.wrap([&](std::unique_ptr<hal::Device> device) {
    auto wrapped = std::make_unique<hal::FaultDevice>(std::move(device));
    fault = wrapped.get();
    return wrapped;
  });
  hal::Device& device = bench.device();
  const hal::Buffer data = bench.device_buffer(64);
  const hal::CommandList list =
      bench.record({bench.launch(conformance::kIndex, 16, {Bench::in(data)})});
  fault->arm({.call = hal::Call::kSubmit});
  // Sticky: the first failure is what every later call returns.
  EXPECT(device.submit(list, {}).error().code() == base::Code::kDeviceFault);
  EXPECT(device.submit(list, {}).error().code() == base::Code::kDeviceFault);
  EXPECT(device.wait(0, {}).code() == base::Code::kDeviceFault);
  EXPECT(device.allocate(64, hal::MemoryKind::kDevice).error().code() == base::Code::kDeviceFault);
  EXPECT(device.reset().is_ok());
  bench.run(list);
  expect_index(bench.read(data, 16));
}
