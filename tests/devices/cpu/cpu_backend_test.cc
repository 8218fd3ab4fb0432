// SPDX-License-Identifier: MIT
// What the conformance suite can't ask of every backend: this one's own options, kernels and
// errors.
#include "devices/cpu/cpu_backend.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "devices/cpu/host_cpu.h"
#include "devices/hal/validate.h"
#include "tests/devices/cpu/memory_calls.h"
#include "tests/support/compile_kernels.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using test::last_sentence;

namespace {

constexpr const char* kText = R"(
void store_range(void* const* params, int64_t begin, int64_t end) {
  int64_t* out = params[0];
  for (int64_t i = begin; i < end; ++i) out[i] = begin * 1000 + end;
}
)";

hal::Command launch(hal::Program program, std::span<const hal::KernelArg> args, uint32_t extent,
                    uint32_t parts) {
  hal::Command command;
  command.program = program;
  command.grid[0] = extent;
  command.parts = parts;
  command.args = args;
  return command;
}

}  // namespace

TEST_CASE("the device says what it is", "[cpu]") {
  const std::vector<hal::DeviceInfo> found = cpu::probe();
  REQUIRE(found.size() == 1);
  CHECK(std::string(found[0].name) == cpu::host_cpu().name);
  CHECK(std::string(found[0].arch) == cpu::host_cpu().arch);
  CHECK(found[0].max_parts == cpu::usable_cpu_count());
  CHECK(found[0].memory_bytes > 1 << 20);
  CHECK(found[0].raw_addresses);
  hal::OpenOptions options;
  options.threads = 3;
  CHECK((*cpu::open(options))->info().max_parts == 3);
  options.threads = 0;
  CHECK((*cpu::open(options))->info().max_parts == cpu::usable_cpu_count());
  options.threads = 1 << 20;
  CHECK(cpu::open(options).error().code() == Code::kInvalidArgument);
  const uint32_t cpus[] = {0};
  options.threads = 0;
  options.cpus = cpus;
  CHECK((*cpu::open(options))->info().max_parts == 1);
}

TEST_CASE("only host pointers are imported, and the sentence says what would work", "[cpu]") {
  const auto device = std::move(*cpu::open({.threads = 1}));
  alignas(64) char memory[256];
  const auto address = reinterpret_cast<uint64_t>(memory);
  const auto code = [&](const hal::ForeignMemory& foreign) {
    return device->import_memory(foreign).error().code();
  };
  CHECK(code({.handle = address, .size_bytes = 256}) == Code::kOk);
  CHECK(code({.handle = address + 1, .size_bytes = 255}) == Code::kUnsupported);
  CHECK(last_sentence().find("multiples of 64") != std::string::npos);
  CHECK(code({.handle = address + 32, .size_bytes = 100, .offset_bytes = 32}) == Code::kOk);
  CHECK(code({.handle = 0, .size_bytes = 64}) == Code::kInvalidArgument);
  CHECK(code({.handle = address, .size_bytes = UINT64_MAX}) == Code::kInvalidArgument);
  CHECK(code({.handle = UINT64_MAX, .size_bytes = 64, .offset_bytes = 64}) ==
        Code::kInvalidArgument);
  CHECK(code({.kind = hal::ForeignKind::kDmaBufFd, .handle = 3, .size_bytes = 64}) ==
        Code::kUnsupported);
  CHECK(last_sentence().find("map this memory") != std::string::npos);
  CHECK(code({.handle = address, .size_bytes = 64, .row_pitch_bytes = 16}) == Code::kUnsupported);
  CHECK(code({.handle = address, .size_bytes = 64, .format = 1}) == Code::kUnsupported);
}

TEST_CASE("only its own program format is loaded", "[cpu]") {
  const auto device = std::move(*cpu::open({.threads = 1}));
  const std::vector<std::byte> binary = test::compile_kernels(kText);
  const auto code = [&](std::string_view format, base::Bytes bytes, std::string_view kernel) {
    return device->load({.format = format, .bytes = bytes, .kernels = std::span(&kernel, 1)})
        .error()
        .code();
  };
  CHECK(code("elf-shared-object", binary, "store_range") == Code::kOk);
  CHECK(code("opencl-c", binary, "store_range") == Code::kUnsupported);
  CHECK(code("elf-shared-object", binary, "store_rang") == Code::kCorrupt);
  CHECK(last_sentence().find("no function 'store_rang'") != std::string::npos);
  CHECK(code("elf-shared-object", {}, "store_range") == Code::kCorrupt);
}

TEST_CASE("launches that are no CPU's are refused", "[cpu]") {
  const auto device = std::move(*cpu::open({.threads = 1}));
  const std::vector<std::byte> binary = test::compile_kernels(kText);
  const std::string_view kernels[] = {"store_range"};
  const hal::Program program =
      *device->load({.format = "elf-shared-object", .bytes = binary, .kernels = kernels});
  const hal::Command good = launch(program, {}, 4, 2);
  CHECK(device->record(std::span(&good, 1), 0).has_value());
  for (int axis = 0; axis < 3; ++axis) {
    hal::Command grouped = good;
    grouped.group[axis] = 8;
    CHECK(device->record(std::span(&grouped, 1), 0).error().code() == Code::kUnsupported);
    hal::Command deep = good;
    deep.grid[axis] = 2;
    CHECK(device->record(std::span(&deep, 1), 0).error().code() ==
          (axis == 0 ? Code::kOk : Code::kUnsupported));
  }
}

TEST_CASE("a launch has no more parts than indices", "[cpu]") {
  hal::ValidatingDevice device(std::move(*cpu::open({.threads = 2})));
  const std::vector<std::byte> binary = test::compile_kernels(kText);
  const std::string_view kernels[] = {"store_range"};
  const hal::Program program =
      *device.load({.format = "elf-shared-object", .bytes = binary, .kernels = kernels});
  const hal::Allocation out = *device.allocate(64, hal::MemoryKind::kHostVisible);
  const hal::KernelArg args[] = {{.buffer = out.buffer}};
  const hal::Command command = launch(program, args, 3, UINT32_MAX);
  const hal::CommandList list = *device.record(std::span(&command, 1), 0);
  REQUIRE(device.submit(list, {}).has_value());
  const auto* ranges = static_cast<const int64_t*>(out.host_ptr);
  CHECK(ranges[0] == 1);
  CHECK(ranges[1] == 1002);
  CHECK(ranges[2] == 2003);
  CHECK(ranges[3] == 0);
}

TEST_CASE("memory follows the options and is all given back", "[cpu]") {
  test::RecordedMemoryCalls calls;
  {
    const auto device = std::move(*cpu::open_with({.threads = 1, .huge_pages = true}, calls));
    const std::vector<std::byte> binary = test::compile_kernels(kText);
    const std::string_view kernels[] = {"store_range"};
    REQUIRE(device->load({.format = "elf-shared-object", .bytes = binary, .kernels = kernels}));
    REQUIRE(device->allocate(4 << 20, hal::MemoryKind::kDevice));
    CHECK(calls.advices.size() == 1);
    const hal::Buffer small = device->allocate(64, hal::MemoryKind::kDevice)->buffer;
    CHECK(calls.mapped.size() == 3);
    device->release(small);
    CHECK(calls.mapped.size() == 2);
    calls.failing["map_new"] = true;
    CHECK(device->allocate(64, hal::MemoryKind::kDevice).error().code() == Code::kOutOfMemory);
    CHECK(device->load({.format = "elf-shared-object", .bytes = binary, .kernels = kernels})
              .error()
              .code() == Code::kIo);
  }
  CHECK(calls.mapped.empty());
  CHECK(calls.open_files == 0);
}
