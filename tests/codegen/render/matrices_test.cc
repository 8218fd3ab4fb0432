// SPDX-License-Identifier: MIT
// Matrix registers become AMX's, where the target has them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "codegen/ir/kernel.h"
#include "codegen/render/amx.h"
#include "codegen/render/render.h"
#include "tests/codegen/render/render_testing.h"

namespace camshaft::render {
namespace {

ir::Kernel product() {
  const auto kernel = ir::parse_kernel(R"(kernel "product" threads 4 {
  param a: bf16[4096]
  param b: bf16[4096]
  param out: f32[4096] writable
  matrix c: f32[16, 16]
  matrix x: bf16[16, 32]
  matrix w: bf16[16, 32]
  for t in 0..4 thread {
    clear_matrix(c)
    for i in 0..8 serial {
      load_matrix(x, a, i * 512, 32)
      load_matrix(w, b, i * 512, 32)
      multiply_matrices(c, x, w)
    }
    store_matrix(c, out, t * 256, 16)
  }
}
)");
  REQUIRE(kernel.has_value());
  return *kernel;
}

// f32 lanes rounded to bf16 lanes.
ir::Kernel narrowing(int lanes) {
  ir::Kernel kernel;
  kernel.name = "narrow";
  const ir::ArrayId from = kernel.add_param("x", ir::DType::kFloat32, 64, false);
  const ir::ArrayId to = kernel.add_param("out", ir::DType::kBFloat16, 64, true);
  const ir::ExprId zero = kernel.int_const(0);
  kernel.body = {
      ir::make_store(to, zero, kernel.cast(kernel.load(from, zero, lanes), ir::DType::kBFloat16))};
  return kernel;
}

std::string assembly_on(const ir::Kernel& kernel, const std::string& spec) {
  const auto target = make_cpu_target(spec);
  REQUIRE(target.has_value());
  const auto text = render_assembly(kernel, *target);
  REQUIRE(text.has_value());
  return *text;
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST_CASE("matrices are tile registers, set up and released once") {
  for (const std::string& backend : render_test::backends()) {
    const std::string text = assembly_on(product(), backend + ":sapphirerapids");
    CAPTURE(backend, text);
    for (const char* once : {"ldtilecfg", "tilerelease", "tilezero", "tdpbf16ps", "tilestored"}) {
      const bool is_unrolled = count(text, once) == 8;  // by the compiler
      CHECK((count(text, once) == 1 || is_unrolled));
    }
    CHECK(count(text, "tileloadd") == 2 * count(text, "tdpbf16ps"));
    CHECK(count(text, "ldtilecfg") == 1);
    CHECK(count(text, "tilerelease") == 1);
    // LDTILECFG stands before any tile, the release after all.
    CHECK(text.find("ldtilecfg") < text.find("tilezero"));
    CHECK(text.find("tilerelease") > text.rfind("tilestored"));
  }
}

TEST_CASE("the configuration has rows and bytes of each register") {
  const std::array<uint8_t, 64> bytes = amx_configuration(product());
  CHECK(bytes[0] == 1);
  for (size_t i = 0; i < 8; ++i) {
    CHECK(bytes[16 + 2 * i] == (i < 3 ? 64 : 0));
    CHECK(bytes[17 + 2 * i] == 0);
    CHECK(bytes[48 + i] == (i < 3 ? 16 : 0));
  }
}

TEST_CASE("only plans with matrices ask for them, and only targets that have them render them") {
  const auto has_amx = [](const std::vector<std::string>& features) {
    return std::any_of(features.begin(), features.end(),
                       [](const std::string& name) { return name.starts_with("amx-"); });
  };
  const auto target = make_cpu_target("cpu:sapphirerapids");
  REQUIRE(target.has_value());
  CHECK(has_amx(needed_features({product()}, *target)));
  CHECK(has_amx(needed_features({narrowing(16), product()}, *target)));
  CHECK_FALSE(has_amx(needed_features({narrowing(16)}, *target)));
  for (const char* other : {"cpu:x86-64-v4", "cpu:znver4", "cpu:cortex-a76"}) {
    const auto lacking = make_cpu_target(other);
    REQUIRE(lacking.has_value());
    const auto text = render_c({product()}, *lacking);
    REQUIRE_FALSE(text.has_value());
    CHECK(text.error().code() == base::Code::kUnsupported);
  }
}

TEST_CASE("f32 is narrowed to bf16 by the instruction for it") {
  for (const std::string& backend : render_test::backends()) {
    for (const char* march : {":sapphirerapids", ":znver4", ":znver5"}) {
      for (const int lanes : {4, 8, 16}) {
        CHECK(count(assembly_on(narrowing(lanes), backend + march), "vcvtneps2bf16") == 1);
      }
      CHECK(count(assembly_on(narrowing(1), backend + march), "vcvtneps2bf16") == 0);
    }
    CHECK(count(assembly_on(narrowing(16), backend + ":icelake-server"), "vcvtneps2bf16") == 0);
  }
}

}  // namespace
}  // namespace camshaft::render
