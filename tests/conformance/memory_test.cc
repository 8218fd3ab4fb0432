// SPDX-License-Identifier: MIT
// Conformance: buffers, copies, imported memory.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/conformance/suite.h"

using namespace camshaft;
using conformance::Bench;

namespace {

constexpr uint64_t kCount = 1000;
constexpr uint64_t kBytes = kCount * sizeof(uint32_t);

uint32_t* words(void* memory) {
  return static_cast<uint32_t*>(memory);
}

struct alignas(64) Foreign {
  uint32_t values[1024];
};

hal::ForeignMemory import_of(Foreign& foreign, bool writable = true) {
  hal::ForeignMemory memory;
  memory.handle = reinterpret_cast<uint64_t>(foreign.values);
  memory.size_bytes = sizeof foreign.values;
  memory.writable = writable;
  return memory;
}

}  // namespace

CONFORMANCE_TEST("host-visible memory is mapped, aligned and zero") {
  for (const uint64_t size_bytes : {1u, 63u, 64u, 4097u, 3u << 20}) {
    const hal::Allocation memory = bench.host_buffer(size_bytes);
    EXPECT(reinterpret_cast<uint64_t>(memory.host_ptr) % bench.device().info().buffer_alignment ==
           0);
    const auto* bytes = static_cast<const char*>(memory.host_ptr);
    for (uint64_t i = 0; i < size_bytes; ++i) EXPECT(bytes[i] == 0);
  }
}

CONFORMANCE_TEST("device memory is zero") {
  const hal::Buffer buffer = bench.device_buffer(kBytes);
  EXPECT(bench.read(buffer, kCount) == std::vector<uint32_t>(kCount, 0));
}

CONFORMANCE_TEST("an impossible allocation fails and harms nothing") {
  const auto result = bench.device().allocate(uint64_t{1} << 60, hal::MemoryKind::kDevice);
  EXPECT(result.error().code() == base::Code::kOutOfMemory);
  EXPECT(bench.read(bench.device_buffer(kBytes), kCount)[0] == 0);
}

CONFORMANCE_TEST("copies move bytes between host and device memory") {
  const hal::Allocation source = bench.host_buffer(kBytes);
  const hal::Buffer middle = bench.device_buffer(kBytes);
  for (uint32_t i = 0; i < kCount; ++i) words(source.host_ptr)[i] = i * 7 + 1;
  bench.run({Bench::copy(Bench::in(source.buffer), Bench::in(middle), kBytes)});
  const std::vector<uint32_t> values = bench.read(middle, kCount);
  for (uint32_t i = 0; i < kCount; ++i) EXPECT(values[i] == i * 7 + 1);
}

CONFORMANCE_TEST("copies keep to their offsets and sizes") {
  const hal::Allocation source = bench.host_buffer(256);
  const hal::Allocation destination = bench.host_buffer(256);
  std::memset(source.host_ptr, 7, 256);
  bench.run({Bench::copy(Bench::in(source.buffer, 3), Bench::in(destination.buffer, 65), 11)});
  const auto* bytes = static_cast<const char*>(destination.host_ptr);
  for (int i = 0; i < 256; ++i) EXPECT(bytes[i] == (i >= 65 && i < 76 ? 7 : 0));
}

CONFORMANCE_TEST("imported memory is copied from at each submit") {
  Foreign foreign = {};
  const auto imported = bench.device().import_memory(import_of(foreign, false));
  EXPECT(imported.has_value());
  const hal::Allocation seen = bench.host_buffer(64);
  const hal::CommandList list =
      bench.record({Bench::copy(Bench::in(*imported), Bench::in(seen.buffer), 64)});
  for (const uint32_t value : {5u, 6u}) {
    foreign.values[0] = value;
    bench.run(list);
    EXPECT(words(seen.host_ptr)[0] == value);
  }
}

CONFORMANCE_TEST("imported memory is used in place") {
  Foreign foreign = {};
  const auto imported = bench.device().import_memory(import_of(foreign, false));
  EXPECT(imported.has_value());
  const hal::Buffer out = bench.device_buffer(kBytes);
  const hal::CommandList list = bench.record({bench.launch(
      conformance::kAdd, kCount, {Bench::in(out), Bench::in(*imported), Bench::scalar(1)})});
  for (const uint32_t value : {10u, 20u}) {
    foreign.values[kCount - 1] = value;
    bench.run(list);
    EXPECT(bench.read(out, kCount)[kCount - 1] == value + 1);
  }
}

CONFORMANCE_TEST("kernels write to imported memory") {
  Foreign foreign = {};
  const auto imported = bench.device().import_memory(import_of(foreign));
  EXPECT(imported.has_value());
  bench.run({bench.launch(conformance::kIndex, kCount, {Bench::in(*imported)})});
  for (uint32_t i = 0; i < 1024; ++i) EXPECT(foreign.values[i] == (i < kCount ? i : 0));
}

CONFORMANCE_TEST("importing respects the offset") {
  Foreign foreign = {};
  foreign.values[32] = 77;
  hal::ForeignMemory memory = import_of(foreign, false);
  memory.offset_bytes = 128;
  memory.size_bytes -= 128;
  const auto imported = bench.device().import_memory(memory);
  EXPECT(imported.has_value());
  EXPECT(bench.read(*imported, 1)[0] == 77);
}

CONFORMANCE_TEST("memory that can't be aliased is refused") {
  Foreign foreign = {};
  hal::ForeignMemory memory = import_of(foreign);
  memory.handle += 4;
  memory.size_bytes -= 4;
  EXPECT(bench.device().import_memory(memory).error().code() == base::Code::kUnsupported);
  memory.kind = static_cast<hal::ForeignKind>(200);
  EXPECT(bench.device().import_memory(memory).error().code() == base::Code::kUnsupported);
}

CONFORMANCE_TEST("the owner of imported memory is told once") {
  int released[2] = {};
  Foreign foreign = {};
  hal::ForeignMemory memory = import_of(foreign);
  memory.on_release = [](void* context) { ++*static_cast<int*>(context); };
  memory.release_context = &released[0];
  const auto first = bench.device().import_memory(memory);
  memory.release_context = &released[1];
  const auto second = bench.device().import_memory(memory);
  EXPECT(first && second && released[0] == 0);
  bench.device().release(*first);
  EXPECT(released[0] == 1 && released[1] == 0);
  // The other one goes with the device.
  bench.wrap([](std::unique_ptr<hal::Device> device) { return device; });
  EXPECT(released[0] == 1 && released[1] == 1);
}

CONFORMANCE_TEST("handles are never given out twice") {
  uint32_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const hal::Buffer buffer = bench.device_buffer(64);
    EXPECT(buffer.id > last);
    last = buffer.id;
    bench.device().release(buffer);
  }
}
