// SPDX-License-Identifier: MIT
// A small plan for OpenCL: input "frame" u8[4,64], output "sum" u32[4], the sums of its rows.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "runtime/base/bytes.h"
#include "runtime/base/file.h"
#include "tests/runtime/session/tiny_plan.h"

namespace camshaft::test {

inline constexpr uint64_t kFrameBytes = 256;

inline plan::PlanContents frame_plan() {
  constexpr std::string_view kText = R"(
    __kernel void sum_rows(__global const uchar* frame, ulong frame_at,
                           __global uchar* sums, ulong sums_at) {
      uint sum = 0;
      for (uint x = 0; x < 64; ++x) sum += frame[frame_at + get_global_id(0) * 64 + x];
      ((__global uint*)(sums + sums_at))[get_global_id(0)] = sum;
    })";
  plan::CommandInfo launch;
  launch.name = "sums";
  launch.grid[0] = 4;
  launch.args = {{plan::Space::kInput, 0, 0, kFrameBytes}, {plan::Space::kOutput, 0, 0, 16}};
  plan::PlanContents contents;
  contents.info.model_name = "frame";
  contents.info.producer = "test";
  contents.info.model_digest = "00";
  contents.info.inputs = {{"frame", base::DType::kUInt8, {4, 64}, "", {}}};
  contents.info.outputs = {{"sum", base::DType::kUInt32, {4}, "", {}}};
  plan::TargetInfo target;
  target.target = "opencl";
  target.device = "opencl";
  target.arch = "opencl-c";
  target.toolchain = "none";
  target.binary_format = "opencl-c";
  target.threads = 1;
  target.kernels = {{"sum_rows", "test"}};
  target.commands = {launch};
  target.entry_points = {{"run", 0, 1}};
  const base::Bytes text = base::as_bytes(kText);
  target.binary_section =
      contents.add_section(plan::SectionKind::kBinary, {text.begin(), text.end()});
  contents.info.targets = {target};
  return contents;
}

inline plan::PlanFile open_frame_plan() {
  return open_plan(frame_plan());
}

inline void write_frame_plan(const std::string& path) {
  const auto bytes = plan::write_plan(frame_plan());
  REQUIRE(bytes);
  REQUIRE(base::write_file_atomically(path, *bytes).is_ok());
}

}  // namespace camshaft::test
