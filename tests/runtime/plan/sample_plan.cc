// SPDX-License-Identifier: MIT
#include "tests/runtime/plan/sample_plan.h"

#include <bit>

#include "runtime/base/bytes.h"
#include "runtime/plan/checksum.h"

namespace camshaft::plan::test {
namespace {

std::vector<std::byte> numbered_bytes(size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

// 16000 as i64 and 1, 0.5, -2 as f32, each padded to 64 bytes.
std::vector<std::byte> frozen_values() {
  std::vector<std::byte> bytes(128);
  base::store_le<int64_t>(bytes.data(), 16000);
  size_t at = 64;
  for (const float gain : {1.0F, 0.5F, -2.0F}) {
    base::store_le<uint32_t>(bytes.data() + at, std::bit_cast<uint32_t>(gain));
    at += sizeof gain;
  }
  return bytes;
}

CommandInfo make_launch(const std::string& name, uint32_t kernel, std::vector<ArgInfo> args) {
  CommandInfo command;
  command.name = name;
  command.description = "1x3x8x8 -> 1x4x8x8 k3x3 s1";
  command.kernel = kernel;
  command.grid[0] = 4;
  command.grid[1] = 8;
  command.parts = 2;
  command.args = std::move(args);
  command.flops = 2 * 4 * 64 * 27;
  command.bytes = 4096;
  return command;
}

TargetInfo make_target(const std::string& name) {
  TargetInfo target;
  target.target = name;
  target.device = "cpu";
  target.arch = "x86_64";
  target.features = {"avx2", "fma"};
  target.toolchain = "LLVM 19.1.7";
  target.binary_format = "elf-shared-object";
  target.threads = 2;
  target.arena_bytes = 2048;
  target.arena_lower_bound_bytes = 1024;
  target.kernels = {{"conv_0", "conv_direct"}, {"gemm_1", "gemm"}};
  target.states = {{"history", 1024}};
  const ArgInfo image = {Space::kInput, 0, 0, 768};
  const ArgInfo weights = {Space::kWeights, 0, 64, 432};
  const ArgInfo features = {Space::kArena, 0, 1024, 1024};
  const ArgInfo history = {Space::kState, 0, 0, 1024};
  const ArgInfo result = {Space::kOutput, 0, 0, 160};
  target.commands = {make_launch("conv1+relu", 0, {image, weights, features}),
                     make_launch("fc", 1, {features, history, result}),
                     {}};
  target.commands[2].kind = CommandKind::kCopy;
  target.commands[2].name = "history";
  target.commands[2].args = {features, history};
  target.entry_points = {{"run", 0, 3}, {"prepare", 0, 1}};
  target.arena_blocks = {{"features", 1024, 1024, 0, 2}};
  return target;
}

}  // namespace

PlanContents make_sample() {
  PlanContents plan;
  plan.info.model_name = "sample";
  plan.info.producer = "camshaft test";
  plan.info.model_digest = "00ff";
  plan.info.inputs = {{"image", DType::kFloat32, {1, 3, 8, 8}, "", {}}};
  plan.info.outputs = {{"lanes",
                        DType::kFloat32,
                        {1, 40},
                        "",
                        {{"left", 0, {2, 16}, "m"}, {"probability", 32, {2}, ""}}},
                       {"boxes", DType::kFloat32, {1, 8, 6}, "", {}, {1}, 2},
                       {"boxes.count", DType::kInt64, {1}, "", {}},
                       {"exceeded", DType::kBool, {}, "", {}}};
  plan.info.exceeded_output = 3;
  plan.info.float_dtype = DType::kBFloat16;
  plan.info.bounds = {{"boxes", 8}};
  plan.info.frozen = {{"rate", DType::kInt64, {}, "", {}}, {"gain", DType::kFloat32, {3}, "", {}}};
  const uint32_t weights = plan.add_section(SectionKind::kWeights, numbered_bytes(500, 1));
  for (const std::string name : {"llvm:x86-64-v3", "cpu:x86-64-v3"}) {
    TargetInfo target = make_target(name);
    target.weights_section = weights;
    target.binary_section =
        plan.add_section(SectionKind::kBinary, numbered_bytes(300 + name.size(), 2));
    target.source_section = plan.add_section(SectionKind::kSource, numbered_bytes(77, 3));
    plan.info.targets.push_back(target);
  }
  Golden golden;
  golden.target = plan.info.targets[0].target;
  golden.inputs_section = plan.add_section(SectionKind::kGoldenInputs, numbered_bytes(768, 4));
  golden.outputs_section = plan.add_section(SectionKind::kGoldenOutputs, numbered_bytes(512, 5));
  const Hash128 hash = checksum(plan.sections.back().bytes);
  golden.output_hash_low = hash.low;
  golden.output_hash_high = hash.high;
  plan.info.goldens = {golden};
  plan.info.frozen_section = plan.add_section(SectionKind::kFrozenInputs, frozen_values());
  plan.info.targets[0].driver_binaries = {
      {"device 1, driver 2", "00ff",
       plan.add_section(SectionKind::kDriverBinary, numbered_bytes(128, 6))}};
  return plan;
}

std::vector<std::byte> write_sample() {
  return write_plan(make_sample()).value();
}

}  // namespace camshaft::plan::test
