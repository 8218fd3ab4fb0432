// SPDX-License-Identifier: MIT
#include "devices/hal/validate.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "devices/null/null_backend.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using hal::KernelArg;
using test::last_sentence;

namespace {

// A validated null device with a buffer, a program and ways to say what is wrong with a command.
struct Fixture {
  hal::ValidatingDevice device{std::move(*null::open({}))};
  hal::Buffer buffer = device.allocate(256, hal::MemoryKind::kDevice)->buffer;
  std::string_view kernels[2] = {"a", "b"};
  hal::Program program = *device.load({.format = "none", .bytes = {}, .kernels = kernels});

  KernelArg in(uint64_t offset_bytes = 0) const {
    KernelArg arg;
    arg.buffer = buffer;
    arg.offset_bytes = offset_bytes;
    return arg;
  }
  static KernelArg slot(uint32_t slot, uint64_t offset_bytes = 0) {
    KernelArg arg;
    arg.kind = hal::ArgKind::kSlot;
    arg.slot = slot;
    arg.offset_bytes = offset_bytes;
    return arg;
  }
  hal::Command launch(std::span<const KernelArg> args) const {
    hal::Command command;
    command.program = program;
    command.args = args;
    return command;
  }
  static hal::Command copy(KernelArg source, KernelArg destination, uint64_t size_bytes) {
    hal::Command command;
    command.kind = hal::CommandKind::kCopy;
    command.source = source;
    command.destination = destination;
    command.size_bytes = size_bytes;
    return command;
  }
  base::Status record(const hal::Command& command, uint32_t slots = 0) {
    return device.record(std::span(&command, 1), slots).error();
  }
};

// That a mistake is counted and refused, with a sentence that holds `text`.
void check_refused(Fixture& f, base::Status status, const std::string& text) {
  CHECK(status.code() == Code::kInvalidArgument);
  CHECK(f.device.error_count() == 1);
  CHECK(last_sentence().find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("correct use is not complained about", "[hal]") {
  Fixture f;
  const KernelArg args[] = {f.in(64), Fixture::slot(0, 64)};
  const hal::Command commands[] = {f.launch(args), Fixture::copy(f.in(), f.in(128), 128)};
  const auto list = f.device.record(commands, 1);
  REQUIRE(list);
  const hal::Binding bindings[] = {{.buffer = f.buffer, .offset_bytes = 128}};
  const auto ticket = f.device.submit(*list, bindings);
  REQUIRE(ticket);
  CHECK(f.device.wait(*ticket, {}).is_ok());
  f.device.release(*list);
  f.device.release(f.program);
  f.device.release(f.buffer);
  CHECK(f.device.reset().is_ok());
  CHECK(f.device.error_count() == 0);
}

TEST_CASE("wrong launches are refused", "[hal]") {
  Fixture f;
  const KernelArg args[] = {f.in()};
  hal::Command command = f.launch(args);
  SECTION("program") {
    command.program.id = 9;
    check_refused(f, f.record(command), "no program 9");
  }
  SECTION("kernel") {
    command.kernel = 2;
    check_refused(f, f.record(command), "no kernel 2");
  }
  SECTION("grid") {
    command.grid[1] = 0;
    check_refused(f, f.record(command), "grid or group of 0");
  }
  SECTION("group") {
    command.group[2] = 0;
    check_refused(f, f.record(command), "grid or group of 0");
  }
  SECTION("parts") {
    command.parts = 0;
    check_refused(f, f.record(command), "0 parts");
  }
  SECTION("kind") {
    command.kind = static_cast<hal::CommandKind>(77);
    check_refused(f, f.record(command), "kind 77");
  }
  SECTION("argument count differs from an earlier launch") {
    CHECK(f.record(command).is_ok());
    command.args = {};
    check_refused(f, f.record(command), "1 arguments before, now 0");
  }
  SECTION("alignment") {
    const KernelArg odd[] = {f.in(32)};
    check_refused(f, f.record(f.launch(odd)), "not a multiple of 64");
  }
  SECTION("beyond the buffer") {
    const KernelArg far[] = {f.in(256)};
    check_refused(f, f.record(f.launch(far)), "which has 256");
  }
  SECTION("buffer") {
    KernelArg unknown[] = {f.in()};
    unknown[0].buffer.id = 5;
    check_refused(f, f.record(f.launch(unknown)), "no buffer 5");
  }
  SECTION("slot") {
    const KernelArg slots[] = {Fixture::slot(1)};
    check_refused(f, f.record(f.launch(slots), 1), "slot 1 of a list that has 1");
  }
}

TEST_CASE("wrong copies and time stamps are refused", "[hal]") {
  Fixture f;
  SECTION("empty") {
    check_refused(f, f.record(Fixture::copy(f.in(), f.in(128), 0)), "0 bytes");
  }
  SECTION("source too short") {
    check_refused(f, f.record(Fixture::copy(f.in(200), f.in(), 100)), "200 + 100");
  }
  SECTION("destination too short") {
    check_refused(f, f.record(Fixture::copy(f.in(), f.in(200), 100)), "200 + 100");
  }
  SECTION("overflow") {
    check_refused(f, f.record(Fixture::copy(f.in(UINT64_MAX), f.in(), 100)), "of buffer");
    CHECK(f.record(Fixture::copy(Fixture::slot(0, UINT64_MAX), f.in(), 100), 1).code() ==
          Code::kInvalidArgument);
  }
  SECTION("overlap") {
    check_refused(f, f.record(Fixture::copy(f.in(), f.in(99), 100)), "overlap");
  }
  SECTION("read-only destination") {
    alignas(64) char memory[64];
    const auto imported = f.device.import_memory(
        {.handle = reinterpret_cast<uint64_t>(memory), .size_bytes = sizeof memory});
    REQUIRE(imported);
    KernelArg destination = f.in();
    destination.buffer = *imported;
    check_refused(f, f.record(Fixture::copy(f.in(), destination, 8)), "read-only");
  }
  SECTION("scalar") {
    KernelArg scalar;
    scalar.kind = hal::ArgKind::kScalar;
    check_refused(f, f.record(Fixture::copy(scalar, f.in(), 8)), "a scalar");
  }
  SECTION("time stamp off its alignment") {
    hal::Command command;
    command.kind = hal::CommandKind::kTimestamp;
    command.destination = f.in(4);
    check_refused(f, f.record(command), "8-aligned");
  }
}

TEST_CASE("wrong submits and waits are refused", "[hal]") {
  Fixture f;
  const hal::Command copy = Fixture::copy(f.in(), Fixture::slot(0), 100);
  const hal::CommandList list = *f.device.record(std::span(&copy, 1), 1);
  const auto submit = [&](hal::Binding binding) {
    return f.device.submit(list, std::span(&binding, 1)).error();
  };
  const hal::Buffer small = f.device.allocate(64, hal::MemoryKind::kDevice)->buffer;
  SECTION("list") {
    check_refused(f, f.device.submit({9}, {}).error(), "no command list 9");
  }
  SECTION("count") {
    check_refused(f, f.device.submit(list, {}).error(), "0 bindings for a list with 1");
  }
  SECTION("buffer") {
    check_refused(f, submit({.buffer = {77}}), "buffer 77");
  }
  SECTION("too small") {
    check_refused(f, submit({.buffer = small}), "needs 100 bytes");
  }
  SECTION("offset beyond") {
    check_refused(f, submit({.buffer = f.buffer, .offset_bytes = 192}), "needs 100 bytes");
  }
  SECTION("alignment") {
    check_refused(f, submit({.buffer = f.buffer, .offset_bytes = 8}), "not a multiple of 64");
  }
  SECTION("read-only") {
    alignas(64) char memory[128];
    const auto imported = f.device.import_memory(
        {.handle = reinterpret_cast<uint64_t>(memory), .size_bytes = sizeof memory});
    REQUIRE(imported);
    check_refused(f, submit({.buffer = *imported}), "read-only");
  }
  SECTION("memory released") {
    const hal::Buffer other = f.device.allocate(256, hal::MemoryKind::kDevice)->buffer;
    REQUIRE(submit({.buffer = other}).is_ok());
    REQUIRE(f.device.wait(1, {}).is_ok());
    f.device.release(f.buffer);
    check_refused(f, submit({.buffer = other}), "which was released");
  }
  SECTION("ticket") {
    check_refused(f, f.device.wait(1, {}), "ticket 1");
  }
}

TEST_CASE("wrong releases are counted and not passed on", "[hal]") {
  Fixture f;
  f.device.release(f.buffer);
  CHECK(f.device.error_count() == 0);
  f.device.release(f.buffer);
  CHECK(f.device.error_count() == 1);
  CHECK(last_sentence().find("released twice") != std::string::npos);
  f.device.release(hal::Program{7});
  f.device.release(hal::CommandList{7});
  CHECK(f.device.error_count() == 3);
  CHECK(f.device.allocate(0, hal::MemoryKind::kDevice).error().code() == Code::kInvalidArgument);
  CHECK(f.device.import_memory({}).error().code() == Code::kInvalidArgument);
  CHECK(f.device.error_count() == 5);
}

TEST_CASE("what is in flight can't be released", "[hal]") {
  Fixture f;
  const KernelArg args[] = {f.in()};
  const hal::Command command = f.launch(args);
  const hal::CommandList list = *f.device.record(std::span(&command, 1), 0);
  const hal::Ticket ticket = *f.device.submit(list, {});
  f.device.release(list);
  f.device.release(f.buffer);
  f.device.release(f.program);
  CHECK(f.device.error_count() == 3);
  CHECK(last_sentence().find("until ticket 1") != std::string::npos);
  REQUIRE(f.device.wait(ticket, {}).is_ok());
  f.device.release(list);
  f.device.release(f.buffer);
  f.device.release(f.program);
  CHECK(f.device.error_count() == 3);
}

namespace {

// A backend that breaks the contract in one way.
class BadDevice final : public hal::Device {
 public:
  uint32_t next_id = 1;
  uint32_t step = 1;
  void* host_ptr = nullptr;
  hal::Ticket next_ticket = 1;
  hal::DeviceInfo device_info;

  const hal::DeviceInfo& info() const override { return device_info; }
  hal::Result<hal::Allocation> allocate(uint64_t, hal::MemoryKind) override {
    return hal::Allocation{.buffer = {take_id()}, .host_ptr = host_ptr};
  }
  hal::Result<hal::Buffer> import_memory(const hal::ForeignMemory&) override {
    return hal::Buffer{take_id()};
  }
  hal::Result<hal::Program> load(const hal::ProgramImage&) override {
    return hal::Program{take_id()};
  }
  hal::Result<hal::CommandList> record(std::span<const hal::Command>, uint32_t) override {
    return hal::CommandList{take_id()};
  }
  void release(hal::Buffer) override {}
  void release(hal::Program) override {}
  void release(hal::CommandList) override {}
  hal::Result<hal::Ticket> submit(hal::CommandList,
                                  std::span<const hal::Binding>) noexcept override {
    return next_ticket;
  }
  base::Status wait(hal::Ticket, hal::Deadline) noexcept override { return base::ok(); }
  base::Status reset() override { return base::ok(); }

 private:
  uint32_t take_id() {
    const uint32_t id = next_id;
    next_id += step;
    return id;
  }
};

}  // namespace

TEST_CASE("a backend that breaks the contract is reported", "[hal]") {
  auto owned = std::make_unique<BadDevice>();
  BadDevice& bad = *owned;
  hal::ValidatingDevice device(std::move(owned));
  alignas(64) char memory[128];
  bad.host_ptr = memory;
  SECTION("handles again") {
    bad.step = 0;
    REQUIRE(device.allocate(1, hal::MemoryKind::kDevice));
    CHECK(device.allocate(1, hal::MemoryKind::kDevice).error().code() == Code::kInternal);
    CHECK(device.import_memory({.size_bytes = 1}).error().code() == Code::kInternal);
  }
  SECTION("handle 0") {
    bad.next_id = 0;
    bad.step = 0;
    CHECK(device.load({}).error().code() == Code::kInternal);
    CHECK(device.record({}, 0).error().code() == Code::kInternal);
  }
  SECTION("unmapped host memory") {
    bad.host_ptr = nullptr;
    CHECK(device.allocate(1, hal::MemoryKind::kHostVisible).error().code() == Code::kInternal);
  }
  SECTION("misaligned memory") {
    bad.host_ptr = memory + 8;
    CHECK(device.allocate(1, hal::MemoryKind::kHostVisible).error().code() == Code::kInternal);
  }
  SECTION("tickets that don't rise") {
    const hal::CommandList list = *device.record({}, 0);
    REQUIRE(device.submit(list, {}));
    CHECK(device.submit(list, {}).error().code() == Code::kInternal);
  }
  CHECK(device.error_count() >= 1);
}
