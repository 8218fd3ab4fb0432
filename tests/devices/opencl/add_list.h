// SPDX-License-Identifier: MIT
// The smallest work on a buffer: adds one to its first 16 numbers (u32).
#pragma once

#include <catch2/catch.hpp>
#include <string_view>

#include "devices/hal/device.h"

namespace camshaft::test {

inline constexpr std::string_view kAddText = R"(
__kernel void add_one(__global uchar* base, ulong at) {
  __global uint* data = (__global uint*)(base + at);
  data[get_global_id(0)] += 1;
}
)";
inline constexpr std::string_view kAddKernels[] = {"add_one"};

inline hal::CommandList record_add(hal::Device& device, const hal::KernelArg& arg) {
  const auto program = device.load(
      {.format = "opencl-c", .bytes = std::as_bytes(std::span(kAddText)), .kernels = kAddKernels});
  REQUIRE(program);
  hal::Command command;
  command.program = *program;
  command.grid[0] = 16;
  command.args = {&arg, 1};
  const auto list = device.record(std::span(&command, 1), arg.kind == hal::ArgKind::kSlot ? 1 : 0);
  REQUIRE(list);
  return *list;
}

inline hal::CommandList record_add(hal::Device& device, hal::Buffer buffer) {
  hal::KernelArg arg;
  arg.buffer = buffer;
  return record_add(device, arg);
}

inline base::Status run(hal::Device& device, hal::CommandList list,
                        std::span<const hal::Binding> bindings = {}) {
  const auto ticket = device.submit(list, bindings);
  return ticket ? device.wait(*ticket, {}) : ticket.error();
}

}  // namespace camshaft::test
