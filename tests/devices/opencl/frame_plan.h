// SPDX-License-Identifier: MIT
// Two small plans for OpenCL that sum up the rows of what they read, to output "sum" u32[4]: one
// has input "frame" u8[4,64], the other "picture" u8[1,4,16,4], which it reads as an image.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "runtime/base/bytes.h"
#include "runtime/base/file.h"
#include "tests/runtime/session/tiny_plan.h"

namespace camshaft::test {

inline constexpr uint64_t kFrameBytes = 256;

inline plan::PlanContents sum_plan(const plan::TensorInfo& input, std::string_view text,
                                   const plan::ArgInfo& read) {
  plan::CommandInfo launch;
  launch.name = "sums";
  launch.grid[0] = 4;
  launch.args = {read, {plan::Space::kOutput, 0, 0, 16}};
  plan::PlanContents contents;
  contents.info.model_name = "sums";
  contents.info.producer = "test";
  contents.info.model_digest = "00";
  contents.info.inputs = {input};
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
  const base::Bytes bytes = base::as_bytes(text);
  target.binary_section =
      contents.add_section(plan::SectionKind::kBinary, {bytes.begin(), bytes.end()});
  contents.info.targets = {target};
  return contents;
}

inline plan::PlanContents frame_plan() {
  constexpr std::string_view kText = R"(
    __kernel void sum_rows(__global const uchar* frame, ulong frame_at,
                           __global uchar* sums, ulong sums_at) {
      uint sum = 0;
      for (uint x = 0; x < 64; ++x) sum += frame[frame_at + get_global_id(0) * 64 + x];
      ((__global uint*)(sums + sums_at))[get_global_id(0)] = sum;
    })";
  return sum_plan({"frame", base::DType::kUInt8, {4, 64}, "", {}}, kText,
                  {plan::Space::kInput, 0, 0, kFrameBytes});
}

inline plan::PlanContents picture_plan() {
  constexpr std::string_view kText = R"(
    __constant sampler_t nearest =
        CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
    __kernel void sum_rows(__read_only image2d_t picture, __global uchar* sums, ulong sums_at) {
      uint sum = 0;
      for (int x = 0; x < 16; ++x) {
        const uint4 texel = read_imageui(picture, nearest, (int2)(x, get_global_id(0)));
        sum += texel.x + texel.y + texel.z + texel.w;
      }
      ((__global uint*)(sums + sums_at))[get_global_id(0)] = sum;
    })";
  plan::ArgInfo read = {plan::Space::kInput, 0, 0, kFrameBytes};
  read.image = {.dtype = base::DType::kUInt8, .width = 16, .height = 4, .row_pitch_bytes = 64};
  return sum_plan({"picture", base::DType::kUInt8, {1, 4, 16, 4}, "", {}}, kText, read);
}

inline plan::PlanFile open_frame_plan() {
  return open_plan(frame_plan());
}
inline plan::PlanFile open_picture_plan() {
  return open_plan(picture_plan());
}

inline void write_plan_file(const plan::PlanContents& contents, const std::string& path) {
  const auto bytes = plan::write_plan(contents);
  REQUIRE(bytes);
  REQUIRE(base::write_file_atomically(path, *bytes).is_ok());
}

}  // namespace camshaft::test
