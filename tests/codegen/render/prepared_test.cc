// SPDX-License-Identifier: MIT
// Kernels as strategies write them, with vector and unrolled loops and math ops, made ready by
// prepare_kernel(); and threads that flush denormals, as the runtime's workers do.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_passes.h"
#include "codegen/render/render.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using namespace camshaft::ir;

namespace {

constexpr int64_t kElements = 1003;  // no multiple of any lane count

// out_op[i] = op(a[i]) over a vector loop, for every math op.
Kernel math_kernel(DType dtype) {
  Kernel k;
  k.name = std::string("math_") + base::dtype_name(dtype);
  const ArrayId a = k.add_param("a", dtype, kElements, false);
  const ArrayId b = k.add_param("b", dtype, kElements, false);
  const VarId i = k.add_loop_var("i", 0, kElements - 1);
  const ExprId x = k.load(a, k.var(i));
  const ExprId y = k.load(b, k.var(i));
  std::vector<Stmt> body;
  const auto output = [&](const std::string& name, ExprId value) {
    const ArrayId out = k.add_param(name, dtype, kElements, true);
    body.push_back(make_store(out, k.var(i), value));
  };
  for (const KOp op : {KOp::kSqrt, KOp::kFloor, KOp::kCeil, KOp::kRound, KOp::kExp, KOp::kLog}) {
    output(kop_name(op), k.unary(op, x));
  }
  if (dtype == DType::kFloat32) {
    for (const KOp op : {KOp::kSin, KOp::kCos, KOp::kAtan, KOp::kTanh, KOp::kErf, KOp::kSigmoid}) {
      output(kop_name(op), k.unary(op, x));
    }
    output("pow", k.binary(KOp::kPow, x, y));
  }
  output("fma", k.fma(x, y, x));
  k.body.push_back(make_for(i, k.int_const(0), k.int_const(kElements), LoopKind::kVector, body));
  return k;
}

// Sums of products of rows, with an unrolled loop inside a vector loop and strides 1, 2 and 0.
Kernel window_kernel() {
  constexpr int64_t kTaps = 5;
  constexpr int64_t kWidth = 120;
  Kernel k;
  k.name = "window";
  k.thread_extent = 3;
  const ArrayId a = k.add_param("a", DType::kFloat32, 3 * (2 * kWidth + kTaps), false);
  const ArrayId w = k.add_param("w", DType::kFloat32, kTaps, false);
  const ArrayId out = k.add_param("out", DType::kFloat32, 3 * kWidth, true);
  const ArrayId acc = k.add_local("acc", DType::kFloat32, kWidth);
  const VarId t = k.add_loop_var("t", 0, 2);
  const VarId i = k.add_loop_var("i", 0, kWidth - 1);
  const VarId j = k.add_loop_var("j", 0, kTaps - 1);
  const ExprId from =
      k.add(k.mul(k.var(t), 2 * kWidth + kTaps), k.add(k.mul(k.var(i), 2), k.var(j)));
  const ExprId product = k.binary(KOp::kMul, k.load(a, from), k.load(w, k.var(j)));
  const ExprId sum = k.add(k.load(acc, k.var(i)), product);
  const ExprId place = k.add(k.mul(k.var(t), kWidth), k.var(i));
  std::vector<Stmt> vector_body = {make_store(acc, k.var(i), k.float_const(0.5)),
                                   make_for(j, k.int_const(0), k.int_const(kTaps),
                                            LoopKind::kUnrolled, {make_store(acc, k.var(i), sum)}),
                                   make_store(out, place, k.load(acc, k.var(i)))};
  k.body.push_back(
      make_for(t, k.int_const(0), k.int_const(3), LoopKind::kThread,
               {make_for(i, k.int_const(0), k.int_const(kWidth), LoopKind::kVector, vector_body)}));
  return k;
}

Kernel prepared(const Kernel& kernel, const render::CpuTarget& target) {
  return prepare_kernel(kernel, target.lanes(DType::kFloat32), target.math);
}

// A thread whose float unit takes and gives zero for denormals, for the life of the object.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#endif
};

}  // namespace

TEST_CASE("prepared kernels give the interpreter's bits") {
  for (const std::string& spec : render_test::runnable_targets()) {
    const render::CpuTarget target = render_test::target_of(spec);
    render_test::require_same_as_interpreter(
        {prepared(math_kernel(DType::kFloat32), target),
         prepared(math_kernel(DType::kFloat64), target), prepared(window_kernel(), target)},
        spec);
  }
}

#if CAMSHAFT_WITH_LLVM && defined(__x86_64__)
TEST_CASE("both backends agree where denormals are flushed") {
  for (const std::string march : {"", ":x86-64-v2"}) {
    const render::CpuTarget target = render_test::target_of("cpu" + march);
    const Kernel kernel = prepared(math_kernel(DType::kFloat32), target);
    const auto by_clang = render::compile_shared_object({kernel}, target);
    const auto by_llvm =
        render::compile_shared_object({kernel}, render_test::target_of("llvm" + march));
    REQUIRE(by_clang);
    REQUIRE(by_llvm);
    const render_test::Library clang_library(*by_clang);
    const render_test::Library llvm_library(*by_llvm);
    render_test::Params first(kernel);
    for (const size_t input : {0, 1}) {
      render_test::fill_with_hard_values(first.data(input), DType::kFloat32, kElements, input);
    }
    render_test::Params second(first);
    render_test::Params unflushed(first);
    clang_library.function(kernel.name)(unflushed.pointers(), 0, 1);
    {
      const FlushDenormals flush;
      clang_library.function(kernel.name)(first.pointers(), 0, 1);
      llvm_library.function(kernel.name)(second.pointers(), 0, 1);
    }
    bool flushing_matters = false;
    for (int i = 2; i < kernel.param_count(); ++i) {
      const auto param = static_cast<size_t>(i);
      INFO(kernel.array(i).name);
      REQUIRE(render_test::first_difference(first.data(param), second.data(param), DType::kFloat32,
                                            kElements) == -1);
      flushing_matters |= render_test::first_difference(first.data(param), unflushed.data(param),
                                                        DType::kFloat32, kElements) != -1;
    }
    REQUIRE(flushing_matters);
  }
}
#endif
