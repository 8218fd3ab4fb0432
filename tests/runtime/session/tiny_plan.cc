// SPDX-License-Identifier: MIT
#include "tests/runtime/session/tiny_plan.h"

#include <cstring>
#include <stdexcept>

#include "devices/cpu/host_cpu.h"
#include "tests/support/compile_kernels.h"
#include "tests/support/last_sentence.h"

namespace camshaft::test {
namespace {

using plan::ArgInfo;
using plan::Space;

constexpr const char* kText = R"(
void scale(void* const* params, int64_t begin, int64_t end) {
  const float* a = params[0];
  const float* w = params[1];
  float* out = params[2];
  for (int64_t i = begin; i < end; ++i) out[i] = a[i] * w[i];
}
void add(void* const* params, int64_t begin, int64_t end) {
  const float* a = params[0];
  const float* b = params[1];
  float* out = params[2];
  for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
}
void twice(void* const* params, int64_t begin, int64_t end) {
  const int32_t* b = params[0];
  int32_t* out = params[1];
  for (int64_t i = begin; i < end; ++i) out[i] = 2 * b[i];
}
)";

constexpr uint64_t kBytes = kTinyCount * sizeof(float);

constexpr ArgInfo kA = {Space::kInput, 0, 0, kBytes};
constexpr ArgInfo kB = {Space::kInput, 1, 0, 64};
constexpr ArgInfo kSum = {Space::kOutput, 0, 0, kBytes};
constexpr ArgInfo kDoubled = {Space::kOutput, 1, 0, 64};
constexpr ArgInfo kWeights = {Space::kWeights, 0, 64, kBytes};
constexpr ArgInfo kScaled = {Space::kArena, 0, 0, kBytes};
constexpr ArgInfo kTotal = {Space::kState, 0, 0, kBytes};

plan::CommandInfo launch(const std::string& name, uint32_t kernel, uint32_t extent, uint32_t parts,
                         std::vector<ArgInfo> args) {
  plan::CommandInfo command;
  command.name = name;
  command.kernel = kernel;
  command.grid[0] = extent;
  command.parts = parts;
  command.args = std::move(args);
  return command;
}

plan::CommandInfo copy(const std::string& name, ArgInfo source, ArgInfo destination) {
  plan::CommandInfo command;
  command.kind = plan::CommandKind::kCopy;
  command.name = name;
  command.args = {source, destination};
  return command;
}

// 64 bytes of something else first, so that the offset matters.
std::vector<std::byte> weights() {
  std::vector<std::byte> bytes(64 + kBytes, std::byte{0xee});
  for (size_t i = 0; i < kTinyCount; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + 64 + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

plan::TargetInfo make_target() {
  plan::TargetInfo target;
  target.target = "test:native";
  target.device = "cpu";
  target.arch = cpu::host_cpu().arch;
  target.toolchain = "clang";
  target.binary_format = "elf-shared-object";
  target.threads = 3;
  target.arena_bytes = kBytes;
  target.arena_lower_bound_bytes = kBytes;
  target.kernels = {{"scale", "test"}, {"add", "test"}, {"twice", "test"}};
  target.states = {{"total", kBytes}};
  target.commands = {
      launch("scale", 0, kTinyCount, 3, {kA, kWeights, kScaled}),
      launch("sum", 1, kTinyCount, 2, {kScaled, kTotal, kSum}),
      copy("remember", kSum, kTotal),
      launch("double", 2, 16, 1, {kB, kDoubled}),
      launch("scale", 0, kTinyCount, 3, {kA, kWeights, kScaled}),
      copy("start", kScaled, kTotal),
  };
  target.entry_points = {{"run", 0, 4}, {"prepare", 4, 2}};
  target.arena_blocks = {{"scaled", 0, kBytes, 0, 5}};
  return target;
}

}  // namespace

plan::PlanContents tiny_plan() {
  plan::PlanContents contents;
  contents.info.model_name = "tiny";
  contents.info.producer = "test";
  contents.info.model_digest = "00";
  contents.info.inputs = {{"a", base::DType::kFloat32, {4, 16}, "", {}},
                          {"b", base::DType::kInt32, {16}, "", {}}};
  contents.info.outputs = {{"sum",
                            base::DType::kFloat32,
                            {4, 16},
                            "",
                            {{"row0", 0, {16}, ""}, {"tail", 56, {2, 4}, "m"}}},
                           {"doubled", base::DType::kInt32, {16}, "", {}}};
  plan::TargetInfo target = make_target();
  target.weights_section = contents.add_section(plan::SectionKind::kWeights, weights());
  target.binary_section = contents.add_section(plan::SectionKind::kBinary, compile_kernels(kText));
  contents.info.targets = {target};
  return contents;
}

std::vector<std::byte> write_tiny() {
  auto bytes = plan::write_plan(tiny_plan());
  if (!bytes) throw std::runtime_error(last_sentence());
  return std::move(*bytes);
}

plan::PlanFile open_tiny() {
  return open_plan(tiny_plan());
}

plan::PlanFile open_plan(const plan::PlanContents& contents) {
  auto bytes = plan::write_plan(contents);
  if (!bytes) throw std::runtime_error(last_sentence());
  auto file = plan::PlanFile::from_bytes(*bytes);
  if (!file) throw std::runtime_error(last_sentence());
  return std::move(*file);
}

}  // namespace camshaft::test
