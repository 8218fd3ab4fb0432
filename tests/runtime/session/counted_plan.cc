// SPDX-License-Identifier: MIT
#include "tests/runtime/session/counted_plan.h"

#include "devices/cpu/host_cpu.h"
#include "tests/support/compile_kernels.h"

namespace camshaft::test {
namespace {

using plan::ArgInfo;
using plan::Space;

constexpr const char* kText = R"(
void ones(void* const* params, int64_t begin, int64_t end) {
  float* out = params[1];
  for (int64_t i = begin; i < end; ++i) out[i] = 1;
}
void say(void* const* params, int64_t begin, int64_t end) {
  const int64_t* counts = params[0];
  const uint8_t* exceeded = params[1];
  int64_t* counts_out = params[2];
  uint8_t* exceeded_out = params[3];
  for (int64_t i = begin; i < end; ++i) counts_out[i] = counts[i];
  *exceeded_out = *exceeded != 0;
}
)";

plan::CommandInfo launch(const std::string& name, uint32_t kernel, uint32_t extent,
                         std::vector<ArgInfo> args) {
  plan::CommandInfo command;
  command.name = name;
  command.kernel = kernel;
  command.grid[0] = extent;
  command.args = std::move(args);
  return command;
}

}  // namespace

plan::PlanContents counted_plan() {
  plan::PlanContents contents;
  plan::PlanInfo& info = contents.info;
  info.model_name = "counted";
  info.inputs = {{"counts", base::DType::kInt64, {2}, "", {}},
                 {"exceeded", base::DType::kUInt8, {}, "", {}},
                 {"nothing", base::DType::kFloat32, {0, 3}, "", {}}};
  info.outputs = {{"rows", base::DType::kFloat32, {4, 5, 6}, "", {}, {0, 2}, 1},
                  {"rows.count", base::DType::kInt64, {2}, "", {}},
                  {"flag", base::DType::kBool, {}, "", {}},
                  {"none", base::DType::kFloat32, {2, 0}, "", {}}};
  info.exceeded_output = 2;
  info.bounds = {{"n", 4}};
  plan::TargetInfo target;
  target.target = "test:native";
  target.device = "cpu";
  target.arch = cpu::host_cpu().arch;
  target.binary_format = "elf-shared-object";
  target.kernels = {{"ones", "test"}, {"say", "test"}};
  // Arguments of no bytes: an empty input, the arena that isn't there.
  target.commands = {
      launch("ones", 0, 120, {{Space::kInput, 2, 0, 0}, {Space::kOutput, 0, 0, 480}}),
      launch("say", 1, 2,
             {{Space::kInput, 0, 0, 16},
              {Space::kInput, 1, 0, 1},
              {Space::kOutput, 1, 0, 16},
              {Space::kOutput, 2, 0, 1},
              {Space::kArena, 0, 0, 0},
              {Space::kWeights, 0, 0, 0},
              {Space::kOutput, 3, 0, 0}})};
  target.entry_points = {{"run", 0, 2}, {"prepare", 0, 1}};
  target.binary_section = contents.add_section(plan::SectionKind::kBinary, compile_kernels(kText));
  info.targets = {target};
  return contents;
}

}  // namespace camshaft::test
