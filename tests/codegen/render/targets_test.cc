// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <string>

#include "codegen/render/host.h"
#include "codegen/render/render.h"
#include "codegen/render/target_info.h"
#include "runtime/base/log_ring.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using render::CpuTarget;
using render_test::target_of;

TEST_CASE("named targets") {
  const CpuTarget zen3 = target_of("llvm:znver3");
  REQUIRE(zen3.backend == "llvm");
  REQUIRE(zen3.march == "znver3");
  REQUIRE(zen3.triple == "x86_64-unknown-linux-gnu");
  REQUIRE(zen3.features ==
          "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3");
  REQUIRE(zen3.vector_bytes == 32);
  REQUIRE(zen3.vector_registers == 16);
  REQUIRE(zen3.lanes(ir::DType::kFloat32) == 8);
  REQUIRE(zen3.math.fma);

  const CpuTarget old = target_of("cpu:x86-64-v2");
  REQUIRE(old.vector_bytes == 16);
  REQUIRE_FALSE(old.fma);
  REQUIRE_FALSE(old.math.fma);
  REQUIRE(old.math.rounding);
  REQUIRE_FALSE(target_of("cpu:x86-64").math.rounding);

  const CpuTarget wide = target_of("cpu:skylake-avx512");
  REQUIRE(wide.vector_bytes == 64);
  REQUIRE(wide.vector_registers == 32);

  const CpuTarget arm = target_of("llvm:cortex-a76");
  REQUIRE(arm.triple == "aarch64-unknown-linux-gnu");
  REQUIRE(arm.features == "+dotprod,+fullfp16");
  REQUIRE(arm.vector_bytes == 16);
  REQUIRE(arm.vector_registers == 32);
  REQUIRE(arm.math.fma);
}

TEST_CASE("the host is resolved to a name and to features that it has") {
  for (const std::string& backend : render_test::backends()) {
    const CpuTarget host = target_of(backend);
    REQUIRE(host.march != "native");
    const CpuTarget named = target_of(backend + ":" + host.march);
    REQUIRE(named.triple == host.triple);
    const auto detected = render::detect_host_cpu();
    REQUIRE(detected);
    for (const std::string& feature : render::feature_list(host)) {
      REQUIRE(std::count(detected->features.begin(), detected->features.end(), feature.substr(1)) ==
              1);
      REQUIRE(render::has_feature(named, feature.substr(1)));
    }
  }
}

TEST_CASE("unknown targets are refused with those near to them") {
  const auto refusal = [](const std::string& spec) {
    const uint64_t log_start = base::log_sequence();
    const auto target = render::make_cpu_target(spec);
    REQUIRE_FALSE(target);
    REQUIRE(target.error().code() == base::Code::kInvalidArgument);
    return render_test::last_log_lines(log_start);
  };
  REQUIRE_THAT(refusal("cpu:znver6"), Catch::Contains("unknown CPU \"znver6\"; known: znver1, "));
  REQUIRE_THAT(refusal("cpu:cortex-a77"), Catch::Contains("known: cortex-a72, cortex-a76"));
  REQUIRE_THAT(refusal("llvm:skylake-avx51"), Catch::Contains("skylake-avx512"));
  REQUIRE_THAT(refusal("cpu:zilog-z80"),
               Catch::Contains("x86-64-v2") && Catch::Contains("apple-m1"));
  REQUIRE_THAT(refusal("cpu:"), Catch::Contains("unknown CPU"));
  REQUIRE_THAT(refusal("cpu:native"), Catch::Contains("unknown CPU"));
  REQUIRE_THAT(refusal("cuda:sm_90"), Catch::Contains("not a CPU"));
  REQUIRE_THAT(refusal(""), Catch::Contains("not a CPU"));
}

TEST_CASE("a target says its names in a plan, and what devices must have") {
  const render::TargetNames cpu = render::target_names(target_of("llvm:znver3"));
  CHECK(cpu.target == "llvm:znver3");
  CHECK(cpu.device == "cpu");
  CHECK(cpu.arch == "x86_64");
  const auto features = render::needed_features({}, target_of("llvm:znver3"));
  CHECK(std::count(features.begin(), features.end(), "avx2") == 1);

  const render::CpuTarget opencl = target_of("opencl");
  CHECK(render::target_names(opencl).target == "opencl");
  CHECK(render::target_names(opencl).device == "opencl");
  CHECK(render::target_names(opencl).arch == "opencl-c");
  ir::Kernel single;
  single.name = "single";
  single.add_param("x", ir::DType::kFloat32, 1, true);
  ir::Kernel twofold;
  twofold.name = "twofold";
  twofold.add_param("x", ir::DType::kFloat64, 1, true);
  CHECK(render::needed_features({single}, opencl).empty());
  CHECK(render::needed_features({single, twofold}, opencl) ==
        std::vector<std::string>{"cl_khr_fp64"});
  const auto program = render::compile_program({twofold}, opencl);
  REQUIRE(program);
  CHECK(program->format == "opencl-c");
  const std::string text(reinterpret_cast<const char*>(program->bytes.data()),
                         program->bytes.size());
  CHECK_THAT(text, Catch::Contains("cl_khr_fp64 : enable"));
  CHECK_FALSE(render::make_target("opencl:x").has_value());
  CHECK_FALSE(render::make_target("cuda").has_value());
}

TEST_CASE("the toolchain has a name and a version") {
  for (const std::string& backend : render_test::backends()) {
    const auto version = render::toolchain_version(target_of(backend));
    REQUIRE(version);
    REQUIRE_THAT(*version, Catch::StartsWith(backend == "cpu" ? "clang 19." : "LLVM 19."));
  }
}
