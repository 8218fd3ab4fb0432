// SPDX-License-Identifier: MIT
// What renderers refuse, and the sentences that they say it with.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/render/render.h"
#include "codegen/render/toolchain.h"
#include "runtime/base/log_ring.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using namespace camshaft::ir;

namespace {

struct Sample {
  Kernel kernel;
  ArrayId a, out;

  explicit Sample(const std::string& name, DType dtype = DType::kFloat32) {
    kernel.name = name;
    a = kernel.add_param("a", dtype, 64, false);
    out = kernel.add_param("out", dtype, 64, true);
  }
  ExprId first() { return kernel.load(a, kernel.int_const(0)); }
  void store(ExprId value) { kernel.body.push_back(make_store(out, kernel.int_const(0), value)); }
};

// Both ways of rendering refuse the kernels with this sentence.
void require_refused(const std::vector<Kernel>& kernels, const std::string& march,
                     const std::string& sentence) {
  for (const std::string& backend : render_test::backends()) {
    const render::CpuTarget target = render_test::target_of(backend + ":" + march);
    for (const bool is_text : {true, false}) {
      const uint64_t log_start = base::log_sequence();
      if (is_text) {
        const auto text = backend == "cpu" ? render::render_c(kernels, target)
                                           : render::render_llvm(kernels, target);
        REQUIRE_FALSE(text);
      } else {
        REQUIRE_FALSE(render::compile_shared_object(kernels, target));
      }
      REQUIRE_THAT(render_test::last_log_lines(log_start), Catch::Contains(sentence));
    }
  }
}

Kernel with_loop(LoopKind kind) {
  Sample s("loop");
  const VarId i = s.kernel.add_loop_var("i", 0, 7);
  s.kernel.body.push_back(
      make_for(i, s.kernel.int_const(0), s.kernel.int_const(8), kind,
               {make_store(s.out, s.kernel.var(i), s.kernel.load(s.a, s.kernel.var(i)))}));
  return s.kernel;
}

// Sets an environment variable for the life of the object.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      old_ = old;
      had_ = true;
    }
    ::setenv(name, value, 1);
  }
  ~Environment() {
    if (had_) {
      ::setenv(name_, old_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

}  // namespace

TEST_CASE("names") {
  require_refused({Sample("two words").kernel}, "x86-64-v3", "is made of letters");
  require_refused({Sample("9lives").kernel}, "x86-64-v3", "is made of letters");
  require_refused({Sample("").kernel}, "x86-64-v3", "is made of letters");
  for (const char* name : {"double", "fma", "f32x8", "i32_of_f32", "int64_t"}) {
    require_refused({Sample(name).kernel}, "x86-64-v3", "means something else in C");
  }
  require_refused({Sample("same").kernel, Sample("same").kernel}, "x86-64-v3",
                  "another kernel has this name");
  require_refused({Sample("same").kernel, Sample("same_body").kernel}, "x86-64-v3",
                  "another kernel has this name");
}

TEST_CASE("loops and barriers") {
  require_refused({with_loop(LoopKind::kVector)}, "x86-64-v3", "call prepare_kernel first");
  require_refused({with_loop(LoopKind::kUnrolled)}, "x86-64-v3", "call prepare_kernel first");
  Sample group("group");
  const VarId t = group.kernel.add_loop_var("t", 0, 0);
  const VarId i = group.kernel.add_loop_var("i", 0, 7);
  const ExprId zero = group.kernel.int_const(0);
  std::vector<Stmt> items = {make_for(i, zero, group.kernel.int_const(8), LoopKind::kItem,
                                      {make_store(group.out, group.kernel.var(i), group.first())})};
  group.kernel.body = {make_for(t, zero, group.kernel.int_const(1), LoopKind::kThread, items)};
  require_refused({group.kernel}, "x86-64-v3", "item loops are for GPUs");
}

TEST_CASE("ops that the target lacks") {
  for (const KOp op : {KOp::kExp, KOp::kLog, KOp::kSin, KOp::kCos, KOp::kAtan, KOp::kTanh,
                       KOp::kErf, KOp::kSigmoid}) {
    Sample s("math");
    s.store(s.kernel.unary(op, s.first()));
    require_refused({s.kernel}, "x86-64-v3",
                    std::string(kop_name(op)) + " on f32 has no instruction on x86-64-v3");
  }
  Sample power("power");
  power.store(power.kernel.binary(KOp::kPow, power.first(), power.first()));
  require_refused({power.kernel}, "cortex-a76", "pow on f32 has no instruction on cortex-a76");
  Sample fma("fused");
  fma.store(fma.kernel.fma(fma.first(), fma.first(), fma.first()));
  require_refused({fma.kernel}, "x86-64-v2", "fma on f32 has no instruction on x86-64-v2");
  Sample floor("down");
  floor.store(floor.kernel.unary(KOp::kFloor, floor.first()));
  require_refused({floor.kernel}, "x86-64", "floor on f32 has no instruction on x86-64");
  Sample rem("rem", DType::kFloat64);
  const ExprId value = rem.first();
  rem.store(rem.kernel.binary(KOp::kRem, value, rem.kernel.add(value, value)));
  require_refused({rem.kernel}, "x86-64-v2", "rem on f64 has no instruction on x86-64-v2");
}

TEST_CASE("stack, emptiness and broken kernels") {
  Sample big("big");
  const ArrayId local = big.kernel.add_local("local", DType::kFloat32, 100'000);
  big.kernel.body.push_back(make_store(local, big.kernel.int_const(0), big.first()));
  require_refused({big.kernel}, "x86-64-v3",
                  "local arrays take 400000 bytes, more than the 262144");
  Sample outside("outside");
  outside.kernel.body.push_back(
      make_store(outside.out, outside.kernel.int_const(64), outside.first()));
  require_refused({outside.kernel}, "x86-64-v3", "outside");
  for (const std::string& backend : render_test::backends()) {
    REQUIRE_FALSE(render::compile_shared_object({}, render_test::target_of(backend)));
  }
}

TEST_CASE("a missing or foreign compiler or linker") {
  Sample s("copy");
  s.store(s.first());
  const render::CpuTarget target = render_test::target_of("cpu:x86-64-v3");
  const struct {
    const char* variable;
    const char* value;
    const char* sentence;
  } rows[] = {
      {"CAMSHAFT_CLANG", "/nowhere/clang", "clang 19 not found: CAMSHAFT_CLANG=/nowhere"},
      {"CAMSHAFT_CLANG", "/bin/true", "names neither clang nor lld"},
      {"CAMSHAFT_LLD", "/nowhere/lld", "the linker lld 19 not found: CAMSHAFT_LLD=/nowhere"}};
  REQUIRE(render::compile_shared_object({s.kernel}, target));
  for (const auto& row : rows) {
    const Environment environment(row.variable, row.value);
    const uint64_t log_start = base::log_sequence();
    REQUIRE_FALSE(render::compile_shared_object({s.kernel}, target));
    REQUIRE_THAT(render_test::last_log_lines(log_start), Catch::Contains(row.sentence));
  }
  const Environment no_path("PATH", "/nowhere");
  const uint64_t log_start = base::log_sequence();
  REQUIRE_FALSE(render::compile_shared_object({s.kernel}, target));
  REQUIRE_THAT(render_test::last_log_lines(log_start),
               Catch::Contains("clang 19 not found: install the package clang-19, or set"));
}

#if !CAMSHAFT_WITH_LLVM
TEST_CASE("a build without LLVM says so") {
  Sample s("copy");
  s.store(s.first());
  const render::CpuTarget target = render_test::target_of("llvm:x86-64-v3");
  const uint64_t log_start = base::log_sequence();
  REQUIRE_FALSE(render::compile_shared_object({s.kernel}, target));
  REQUIRE_FALSE(render::render_llvm({s.kernel}, target));
  REQUIRE_FALSE(render::toolchain_version(target));
  REQUIRE_THAT(render_test::last_log_lines(log_start),
               Catch::Contains("this build has no llvm target"));
}
#endif
