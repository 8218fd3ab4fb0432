// SPDX-License-Identifier: MIT
#include "devices/hal/trace.h"

#include <catch2/catch.hpp>
#include <string>

#include "devices/null/null_backend.h"

using namespace camshaft;
using hal::Call;

namespace {

std::unique_ptr<hal::TraceDevice> make_traced(uint32_t capacity) {
  return std::make_unique<hal::TraceDevice>(std::move(*null::open({})), capacity);
}

}  // namespace

TEST_CASE("every call is written down in order", "[hal]") {
  const auto device = make_traced(100);
  const hal::Buffer buffer = device->allocate(640, hal::MemoryKind::kDevice)->buffer;
  const hal::Program program = *device->load({.format = "none", .bytes = {}, .kernels = {}});
  const hal::CommandList list = *device->record({}, 0);
  const hal::Ticket ticket = *device->submit(list, {});
  REQUIRE(device->wait(ticket, {}).is_ok());
  CHECK_FALSE(device->import_memory({.handle = 1, .size_bytes = 5}).has_value());
  device->release(list);
  device->release(program);
  device->release(buffer);
  REQUIRE(device->reset().is_ok());

  const std::vector<hal::TraceEntry> entries = device->entries();
  const Call expected[] = {Call::kAllocate,
                           Call::kLoad,
                           Call::kRecord,
                           Call::kSubmit,
                           Call::kWait,
                           Call::kImportMemory,
                           Call::kReleaseCommandList,
                           Call::kReleaseProgram,
                           Call::kReleaseBuffer,
                           Call::kReset};
  REQUIRE(entries.size() == std::size(expected));
  for (size_t i = 0; i < entries.size(); ++i) {
    CHECK(entries[i].call == expected[i]);
    CHECK(entries[i].sequence == i + 1);
    CHECK(entries[i].duration_ns >= 0);
    CHECK(entries[i].start_ns > 0);
    if (i > 0) CHECK(entries[i].start_ns >= entries[i - 1].start_ns);
  }
  CHECK(entries[0].detail == 640);
  CHECK(entries[0].handle == buffer.id);
  CHECK(entries[3].detail == ticket);
  CHECK(entries[3].handle == list.id);
  CHECK(entries[4].detail == ticket);
  CHECK(entries[5].code == base::Code::kUnsupported);
  CHECK(entries[8].handle == buffer.id);
}

TEST_CASE("copies in a list are counted", "[hal]") {
  const auto device = make_traced(10);
  const hal::Buffer buffer = device->allocate(128, hal::MemoryKind::kDevice)->buffer;
  hal::Command copy;
  copy.kind = hal::CommandKind::kCopy;
  copy.source.buffer = buffer;
  copy.destination = {.buffer = buffer, .offset_bytes = 64};
  copy.size_bytes = 64;
  const hal::Command commands[] = {{.kind = hal::CommandKind::kBarrier}, copy, copy};
  REQUIRE(device->record(commands, 0));
  REQUIRE(device->record(std::span(commands, 1), 0));
  CHECK(device->entries()[1].detail == 3);
  CHECK(device->entries()[1].copies == 2);
  CHECK(device->entries()[2].copies == 0);
  CHECK(device->to_text().find("copies: 2") != std::string::npos);
  CHECK(device->to_json().find("\"copies\": 2") != std::string::npos);
}

TEST_CASE("the ring keeps the newest calls", "[hal]") {
  const auto device = make_traced(3);
  const hal::CommandList list = *device->record({}, 0);
  for (int i = 0; i < 10; ++i) REQUIRE(device->submit(list, {}));
  const std::vector<hal::TraceEntry> entries = device->entries();
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].sequence == 9);
  CHECK(entries[2].sequence == 11);
  CHECK(entries[2].detail == 10);
}

TEST_CASE("a trace can be printed", "[hal]") {
  const auto device = make_traced(10);
  REQUIRE(device->allocate(77, hal::MemoryKind::kDevice));
  CHECK_FALSE(device->import_memory({.handle = 1, .size_bytes = 5}).has_value());
  const std::string text = device->to_text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find("allocate") != std::string::npos);
  CHECK(text.find("unsupported") != std::string::npos);
  const std::string json = device->to_json();
  CHECK(json.find("\"device\": \"null device\"") != std::string::npos);
  CHECK(json.find("\"call\": \"allocate\"") != std::string::npos);
  CHECK(json.find("\"detail\": 77, \"result\": \"ok\"},\n") != std::string::npos);
  CHECK(json.find("\"result\": \"unsupported\"}\n]}") != std::string::npos);
}
