// SPDX-License-Identifier: MIT
// Every op in every dtype that has it, on scalars and on lanes: C and LLVM give the interpreter's
// bits. The ops of one dtype and lane count share a kernel, which has an output for each.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using namespace camshaft::ir;
using render_test::require_same_as_interpreter;

namespace {

constexpr int64_t kElements = 2048;

// A kernel with inputs a, b, c and m (bool), which computes lanes of them in a loop.
class OpKernel {
 public:
  OpKernel(const std::string& name, DType dtype, int32_t lanes) : dtype_(dtype), lanes_(lanes) {
    kernel_.name = name + "_" + base::dtype_name(dtype) + "_x" + std::to_string(lanes);
    for (const char* input : {"a", "b", "c"}) {
      inputs_.push_back(kernel_.add_param(input, dtype, kElements, false));
    }
    inputs_.push_back(kernel_.add_param("m", DType::kBool, kElements, false));
    kernel_.thread_extent = kElements / lanes;
    thread_ = kernel_.add_loop_var("t", 0, kernel_.thread_extent - 1);
    for (const ArrayId input : inputs_) values_.push_back(kernel_.load(input, index(), lanes));
  }

  Kernel& kernel() { return kernel_; }
  ExprId a() const { return values_[0]; }
  ExprId b() const { return values_[1]; }
  ExprId c() const { return values_[2]; }
  ExprId m() const { return values_[3]; }
  ExprId constant(double value) { return kernel_.splat(value, {dtype_, lanes_}); }
  ExprId unary(KOp op) { return kernel_.unary(op, a()); }
  ExprId binary(KOp op) { return kernel_.binary(op, a(), b()); }

  // Stores a value of as many lanes as the kernel has, or a scalar made of them.
  void output(const std::string& name, ExprId value) {
    const ValueType type = kernel_.expr(value).type;
    const bool is_scalar = type.lanes < lanes_;
    const ArrayId array =
        kernel_.add_param(name, type.dtype, is_scalar ? kernel_.thread_extent : kElements, true);
    body_.push_back(make_store(array, is_scalar ? kernel_.var(thread_) : index(), value));
  }

  Kernel finish() {
    kernel_.body.push_back(make_for(thread_, kernel_.int_const(0),
                                    kernel_.int_const(kernel_.thread_extent), LoopKind::kThread,
                                    std::move(body_)));
    return std::move(kernel_);
  }

 private:
  ExprId index() { return kernel_.mul(kernel_.var(thread_), lanes_); }

  Kernel kernel_;
  DType dtype_;
  int32_t lanes_;
  VarId thread_ = -1;
  std::vector<ArrayId> inputs_;
  std::vector<ExprId> values_;
  std::vector<Stmt> body_;
};

void add_common_outputs(OpKernel& k) {
  for (const KOp op : {KOp::kAdd, KOp::kSub, KOp::kMul, KOp::kMin, KOp::kMax}) {
    k.output(kop_name(op), k.binary(op));
  }
  k.output("min_constant", k.kernel().binary(KOp::kMin, k.a(), k.constant(6)));
  k.output("max_constant", k.kernel().binary(KOp::kMax, k.a(), k.constant(0)));
  k.output("max_swapped", k.kernel().binary(KOp::kMax, k.constant(0), k.a()));
  for (const KOp op : {KOp::kEq, KOp::kLt, KOp::kLe}) k.output(kop_name(op), k.binary(op));
  k.output("select", k.kernel().select(k.m(), k.a(), k.b()));
  k.output("select_lt", k.kernel().select(k.binary(KOp::kLt), k.b(), k.c()));
  k.output("mixed", k.kernel().select(k.kernel().binary(KOp::kAnd, k.binary(KOp::kLe), k.m()),
                                      k.kernel().sub(k.a(), k.b()), k.kernel().add(k.b(), k.c())));
}

void add_reductions(OpKernel& k, int32_t lanes) {
  if (lanes == 1) return;
  for (const KOp op : {KOp::kReduceAdd, KOp::kReduceMax, KOp::kReduceMin}) {
    k.output(kop_name(op), k.unary(op));
  }
}

Kernel float_ops(DType dtype, int32_t lanes, const MathSupport& math) {
  OpKernel k("float_ops", dtype, lanes);
  add_common_outputs(k);
  add_reductions(k, lanes);
  k.output("div", k.binary(KOp::kDiv));
  k.output("mul_then_add", k.kernel().add(k.kernel().binary(KOp::kMul, k.a(), k.b()), k.c()));
  for (const KOp op : {KOp::kAbs, KOp::kNeg, KOp::kSqrt}) k.output(kop_name(op), k.unary(op));
  if (dtype == DType::kFloat32 || math.fma) k.output("rem", k.binary(KOp::kRem));
  if (math.fma) k.output("fma", k.kernel().fma(k.a(), k.b(), k.c()));
  if (math.rounding) {
    for (const KOp op : {KOp::kFloor, KOp::kCeil, KOp::kRound}) k.output(kop_name(op), k.unary(op));
  }
  return k.finish();
}

Kernel integer_ops(DType dtype, int32_t lanes) {
  OpKernel k("integer_ops", dtype, lanes);
  add_common_outputs(k);
  add_reductions(k, lanes);
  for (const KOp op : {KOp::kDiv, KOp::kRem, KOp::kAnd, KOp::kOr, KOp::kXor}) {
    k.output(kop_name(op), k.binary(op));
  }
  k.output("div_constant", k.kernel().binary(KOp::kDiv, k.a(), k.constant(7)));
  k.output("rem_constant", k.kernel().binary(KOp::kRem, k.a(), k.constant(7)));
  if (base::is_signed_int(dtype)) {
    k.output("div_minus_one", k.kernel().binary(KOp::kDiv, k.a(), k.constant(-1)));
  }
  const double bits = static_cast<double>(base::dtype_size_bytes(dtype)) * 8;
  const ExprId amount = k.kernel().binary(KOp::kAnd, k.b(), k.constant(bits - 1));
  k.output("shl", k.kernel().binary(KOp::kShl, k.a(), amount));
  k.output("shr", k.kernel().binary(KOp::kShr, k.a(), amount));
  k.output("shr_constant", k.kernel().binary(KOp::kShr, k.a(), k.constant(3)));
  if (dtype == DType::kInt32) k.output("dot", k.kernel().dot(k.a(), k.b(), k.c()));
  k.output("constant_shl", k.kernel().binary(KOp::kShl, k.constant(1), amount));
  return k.finish();
}

Kernel bool_ops(int32_t lanes) {
  OpKernel k("bool_ops", DType::kBool, lanes);
  for (const KOp op : {KOp::kAnd, KOp::kOr, KOp::kXor, KOp::kEq}) {
    k.output(kop_name(op), k.binary(op));
  }
  k.output("not", k.kernel().binary(KOp::kXor, k.a(), k.constant(1)));
  k.output("select", k.kernel().select(k.m(), k.a(), k.b()));
  return k.finish();
}

std::vector<Kernel> all_kernels(const MathSupport& math) {
  std::vector<Kernel> kernels;
  for (const int32_t lanes : {1, 2, 4, 8, 16}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      kernels.push_back(float_ops(dtype, lanes, math));
    }
    kernels.push_back(bool_ops(lanes));
    if (lanes == 2) continue;
    for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                              DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64}) {
      kernels.push_back(integer_ops(dtype, lanes));
    }
  }
  return kernels;
}

}  // namespace

TEST_CASE("every op gives the interpreter's bits") {
  for (const std::string& spec : render_test::runnable_targets()) {
    require_same_as_interpreter(all_kernels(render_test::target_of(spec).math), spec);
  }
}

TEST_CASE("a wrong kernel is told from a right one") {
  OpKernel k("sum", DType::kFloat32, 8);
  k.output("sum", k.binary(KOp::kAdd));
  const Kernel kernel = k.finish();
  render_test::Params right(kernel);
  for (size_t i = 0; i < 2; ++i) {
    render_test::fill_with_hard_values(right.data(i), DType::kFloat32, kElements, i);
  }
  REQUIRE(interpret_kernel(kernel, right.pointers(), 0, kernel.thread_extent).is_ok());
  render_test::Params wrong(right);
  REQUIRE(render_test::first_difference(right.data(4), wrong.data(4), DType::kFloat32, kElements) ==
          -1);
  wrong.data(4)[4 * 1001] ^= std::byte{1};
  REQUIRE(render_test::first_difference(right.data(4), wrong.data(4), DType::kFloat32, kElements) ==
          1001);
}
