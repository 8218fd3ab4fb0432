// SPDX-License-Identifier: MIT
// What the shared objects promise: reproducible bytes, nothing writable, nothing imported, and no
// exports but the kernels.
#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/compile.h"
#include "codegen/render/elf_check.h"
#include "codegen/render/render.h"
#include "runtime/base/log_ring.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using namespace camshaft::ir;

namespace {

// out[i] = (a[i] + 1) * constants, and a local array that is set to zero: what tempts compilers to
// call memset and to put constants in memory.
Kernel sample_kernel(const std::string& name, int64_t count) {
  Kernel k;
  k.name = name;
  k.thread_extent = 4;
  const ArrayId a = k.add_param("a", DType::kFloat32, 4 * count, false);
  const ArrayId out = k.add_param("out", DType::kFloat32, 4 * count, true);
  const ArrayId zeros = k.add_local("zeros", DType::kFloat32, count);
  const VarId t = k.add_loop_var("t", 0, 3);
  const VarId i = k.add_loop_var("i", 0, count - 1);
  const VarId j = k.add_loop_var("j", 0, count - 1);
  const ExprId place = k.add(k.mul(k.var(t), count), k.var(j));
  const ExprId sum = k.add(k.load(a, place), k.load(zeros, k.var(j)));
  std::vector<Stmt> body = {
      make_for(i, k.int_const(0), k.int_const(count), LoopKind::kSerial,
               {make_store(zeros, k.var(i), k.float_const(0))}),
      make_for(j, k.int_const(0), k.int_const(count), LoopKind::kSerial,
               {make_store(out, place, k.binary(KOp::kMul, sum, k.float_const(1.2345)))})};
  k.body.push_back(make_for(t, k.int_const(0), k.int_const(4), LoopKind::kThread, std::move(body)));
  return k;
}

std::vector<Kernel> sample_kernels() {
  std::vector<Kernel> kernels;
  for (int i = 0; i < 12; ++i) {
    kernels.push_back(sample_kernel("kernel_" + std::to_string(i), 64 + i));
  }
  return kernels;
}

std::vector<std::string> names_of(const std::vector<Kernel>& kernels) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels) names.push_back(kernel.name);
  return names;
}

std::vector<std::byte> compile(const std::vector<Kernel>& kernels, const std::string& spec) {
  const uint64_t log_start = base::log_sequence();
  const auto bytes = render::compile_shared_object(kernels, render_test::target_of(spec));
  INFO(spec << ": " << render_test::last_log_lines(log_start));
  REQUIRE(bytes);
  return *bytes;
}

Elf64_Phdr* segments(std::vector<std::byte>& bytes) {
  auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  return reinterpret_cast<Elf64_Phdr*>(bytes.data() + header->e_phoff);
}

}  // namespace

TEST_CASE("the same kernels give the same bytes") {
  for (const std::string& spec : render_test::runnable_targets()) {
    REQUIRE(compile(sample_kernels(), spec) == compile(sample_kernels(), spec));
  }
  REQUIRE(compile({sample_kernel("k", 64)}, "cpu") != compile({sample_kernel("k", 65)}, "cpu"));
}

TEST_CASE("shared objects are read-only and closed, on every architecture") {
  const std::vector<Kernel> kernels = sample_kernels();
  for (const std::string& backend : render_test::backends()) {
    for (const char* march :
         {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "znver5", "sapphirerapids", "generic",
          "cortex-a76", "neoverse-v1", "apple-m1"}) {
      const std::vector<std::byte> bytes = compile(kernels, backend + ":" + march);
      REQUIRE(render::check_shared_object(bytes, names_of(kernels)).is_ok());
      const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
      const bool is_arm =
          render_test::target_of(backend + ":" + march).triple.starts_with("aarch64");
      REQUIRE(header->e_machine == (is_arm ? EM_AARCH64 : EM_X86_64));
      REQUIRE(bytes.size() < 200'000);
    }
  }
}

TEST_CASE("a shared object that breaks a promise is refused") {
  const std::vector<Kernel> kernels = sample_kernels();
  const std::vector<std::byte> good = compile(kernels, "cpu");
  const std::vector<std::string> names = names_of(kernels);
  REQUIRE(render::check_shared_object(good, names).is_ok());

  std::vector<std::string> fewer = names;
  fewer.pop_back();
  REQUIRE(render::check_shared_object(good, fewer).code() == base::Code::kInternal);

  std::vector<std::byte> writable = good;
  auto* header = reinterpret_cast<Elf64_Ehdr*>(writable.data());
  for (int i = 0; i < header->e_phnum; ++i) segments(writable)[i].p_flags |= PF_W;
  REQUIRE(render::check_shared_object(writable, names).code() == base::Code::kInternal);

  for (const size_t size : {size_t{0}, size_t{63}, size_t{200}, good.size() / 4}) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    REQUIRE_FALSE(render::check_shared_object(cut, names).is_ok());
  }
}

TEST_CASE("code that calls a function is refused by its name") {
  const auto object = render::compile_c_text(
      "float expf(float);\n"
      "void kernel(float* const* params, long begin, long end) {\n"
      "  for (long i = begin; i < end; ++i) params[1][i] = expf(params[0][i]);\n"
      "}\n",
      render_test::target_of("cpu"));
  REQUIRE(object);
  const uint64_t log_start = base::log_sequence();
  const auto linked = render::link_shared_object({*object}, {"kernel"});
  REQUIRE_FALSE(linked);
  REQUIRE(linked.error().code() == base::Code::kInternal);
  REQUIRE_THAT(render_test::last_log_lines(log_start),
               Catch::Contains("a compiled kernel calls expf, but kernels may call nothing"));
}

TEST_CASE("data that a kernel could write is refused") {
  const auto object = render::compile_c_text(
      "static long calls;\n"
      "void kernel(long* const* params, long begin, long end) {\n"
      "  params[0][0] = ++calls + begin + end;\n"
      "}\n",
      render_test::target_of("cpu"));
  REQUIRE(object);
  const uint64_t log_start = base::log_sequence();
  REQUIRE_FALSE(render::link_shared_object({*object}, {"kernel"}));
  REQUIRE_THAT(render_test::last_log_lines(log_start), Catch::Contains("writable segment"));
}
