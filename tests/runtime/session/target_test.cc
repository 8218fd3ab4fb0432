// SPDX-License-Identifier: MIT
#include "runtime/session/target.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using session::choose_target;
using test::last_sentence;

namespace {

constexpr const char* kFeatures[] = {"avx", "avx2", "fma"};

hal::DeviceInfo machine() {
  hal::DeviceInfo info;
  info.backend = "cpu";
  std::snprintf(info.name, sizeof info.name, "Test CPU");
  std::snprintf(info.arch, sizeof info.arch, "x86_64");
  info.features = kFeatures;
  return info;
}

plan::TargetInfo target(const std::string& name, const std::string& arch,
                        std::vector<std::string> features) {
  plan::TargetInfo info;
  info.target = name;
  info.device = name.substr(0, 4) == "cuda" ? "cuda" : "cpu";
  info.arch = arch;
  info.features = std::move(features);
  return info;
}

plan::PlanInfo plan_of(std::vector<plan::TargetInfo> targets) {
  plan::PlanInfo info;
  info.targets = std::move(targets);
  return info;
}

}  // namespace

TEST_CASE("the first target that fits is chosen", "[session]") {
  const plan::PlanInfo plan = plan_of(
      {target("cuda:sm_90", "sm_90", {}), target("llvm:znver5", "x86_64", {"avx512f", "fma"}),
       target("llvm:znver3", "x86_64", {"fma", "avx2"}), target("cpu:x86-64", "x86_64", {})});
  const auto chosen = [&](std::string_view wanted) {
    const auto result = choose_target(plan, machine(), wanted);
    return result ? (*result)->target : std::string(base::code_name(result.error().code()));
  };
  CHECK(chosen("") == "llvm:znver3");
  CHECK(chosen("llvm") == "llvm:znver3");
  CHECK(chosen("cpu") == "cpu:x86-64");
  CHECK(chosen("cpu:x86-64") == "cpu:x86-64");
  CHECK(chosen("llvm:znver5") == "wrong target");
  CHECK(chosen("llv") == "invalid argument");
  CHECK(chosen("metal") == "invalid argument");
  CHECK(last_sentence().find("cuda:sm_90, llvm:znver5, llvm:znver3, cpu:x86-64") !=
        std::string::npos);
}

TEST_CASE("a refusal names the plan's target and the device", "[session]") {
  const auto refusal = [](const plan::TargetInfo& info) {
    const auto result = choose_target(plan_of({info}), machine(), "");
    CHECK(result.error().code() == Code::kWrongTarget);
    return last_sentence();
  };
  const std::string other_cpu =
      refusal(target("llvm:znver5", "x86_64", {"avx2", "avx512bf16", "avx512f"}));
  CHECK(other_cpu.find("llvm:znver5") != std::string::npos);
  CHECK(other_cpu.find("Test CPU, x86_64") != std::string::npos);
  CHECK(other_cpu.find("lacks avx512bf16, avx512f") != std::string::npos);
  CHECK(refusal(target("cpu:cortex-a76", "aarch64", {})).find("cpu, aarch64") != std::string::npos);
  CHECK(refusal(target("cuda:sm_90", "sm_90", {})).find("another kind of device") !=
        std::string::npos);
  // A feature that nobody knows is a feature that the device lacks.
  CHECK(refusal(target("llvm:future", "x86_64", {"avx2", "avx9"})).find("lacks avx9") !=
        std::string::npos);
}

TEST_CASE("a device that aligns more than plans do is refused", "[session]") {
  hal::DeviceInfo coarse = machine();
  coarse.buffer_alignment = 256;
  CHECK(choose_target(plan_of({target("cpu:x86-64", "x86_64", {})}), coarse, "").error().code() ==
        Code::kWrongTarget);
}

TEST_CASE("a device with smaller images than the plan's is refused", "[session]") {
  plan::TargetInfo info = target("cpu:x86-64", "x86_64", {});
  info.commands.resize(1);
  info.commands[0].args = {
      {plan::Space::kArena, 0, 0, 8192, {base::DType::kFloat32, 200, 2, 4096}}};
  hal::DeviceInfo device = machine();
  const auto verdict = [&](uint32_t width, uint32_t height) {
    device.max_image_width = width;
    device.max_image_height = height;
    return choose_target(plan_of({info}), device, "").error().code();
  };
  CHECK(verdict(200, 2) == Code::kOk);
  CHECK(verdict(200, 1) == Code::kWrongTarget);
  CHECK(verdict(199, 2) == Code::kWrongTarget);
  CHECK(last_sentence().find("has images of at most 199 x 2 texels, and the plan's take 200 x 2") !=
        std::string::npos);
}
