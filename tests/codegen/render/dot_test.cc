// SPDX-License-Identifier: MIT
// Sums of products of bytes become the instructions that targets have for them. What they compute
// is compared with the interpreter in ops_test.cc.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"
#include "tests/codegen/render/render_testing.h"

namespace camshaft::render {
namespace {

ir::Kernel dot_kernel(int32_t lanes) {
  ir::Kernel kernel;
  kernel.name = "dots";
  const ir::ArrayId a = kernel.add_param("a", ir::DType::kInt32, 64, false);
  const ir::ArrayId b = kernel.add_param("b", ir::DType::kInt32, 64, false);
  const ir::ArrayId out = kernel.add_param("out", ir::DType::kInt32, 64, true);
  const ir::ExprId zero = kernel.int_const(0);
  kernel.body = {
      ir::make_store(out, zero,
                     kernel.dot(kernel.load(out, zero, lanes), kernel.load(a, zero, lanes),
                                kernel.load(b, zero, lanes)))};
  return kernel;
}

std::string assembly_on(const std::string& spec) {
  const CpuTarget target = render_test::target_of(spec);
  const auto text = render_assembly(dot_kernel(target.lanes(ir::DType::kInt32)), target);
  REQUIRE(text.has_value());
  return *text;
}

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("dots are the target's instructions") {
  const std::pair<const char*, const char*> expected[] = {
      {"sapphirerapids", "vpdpbusd"}, {"alderlake", "vpdpbusd"}, {"znver3", "vpmaddwd"},
      {"x86-64-v4", "vpmaddwd"},      {"cortex-a76", "sdot"},    {"neoverse-n2", "usdot"}};
  for (const std::string& backend : render_test::backends()) {
    for (const auto& [march, instruction] : expected) {
      const std::string spec = backend + ":" + march;
      INFO(spec);
      const std::string text = assembly_on(spec);
      CHECK(has(text, instruction));
      CHECK(has(text, "vpdpbusd") == (std::string(instruction) == "vpdpbusd"));
    }
    CHECK(!has(assembly_on(backend + ":cortex-a72"), "sdot"));
    CHECK(!has(assembly_on(backend + ":x86-64"), "vpmaddwd"));
  }
}

TEST_CASE("lanes that fill no register have no dot") {
  const CpuTarget target = render_test::target_of("llvm:sapphirerapids");
  CHECK(dot_form(target, 16) == DotForm::kVnni);
  CHECK(dot_form(target, 4) == DotForm::kVnni);
  CHECK(dot_form(target, 2) == DotForm::kNone);
  CHECK(dot_form(target, 32) == DotForm::kNone);
}

}  // namespace camshaft::render
