// SPDX-License-Identifier: MIT
// Every conversion between dtypes, of scalars and of lanes, including the ones in memory only: C
// and LLVM give the interpreter's bits.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using namespace camshaft::ir;

namespace {

constexpr int64_t kElements = 4096;

// A kernel that casts its input to every dtype, and reinterprets it where a size fits.
Kernel cast_kernel(DType from, int32_t lanes) {
  Kernel k;
  k.name = std::string("from_") + base::dtype_name(from) + "_x" + std::to_string(lanes);
  k.thread_extent = kElements / lanes;
  const ArrayId input = k.add_param("input", from, kElements, false);
  const VarId thread = k.add_loop_var("t", 0, k.thread_extent - 1);
  const ExprId index = k.mul(k.var(thread), lanes);
  const ExprId value = k.load(input, index, lanes);
  std::vector<Stmt> body;
  const auto output = [&](const std::string& name, ExprId result) {
    const ArrayId array = k.add_param(name, k.expr(result).type.dtype, kElements, true);
    body.push_back(make_store(array, index, result));
  };
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const auto to = static_cast<DType>(i);
    output(std::string("to_") + base::dtype_name(to), to == from ? value : k.cast(value, to));
    const bool has_bits = to != DType::kBool && from != DType::kBool;
    if (to == from || !has_bits || base::dtype_size_bytes(to) != base::dtype_size_bytes(from)) {
      continue;
    }
    output(std::string("as_") + base::dtype_name(to), k.bitcast(value, to));
  }
  k.body.push_back(make_for(thread, k.int_const(0), k.int_const(k.thread_extent), LoopKind::kThread,
                            std::move(body)));
  return k;
}

}  // namespace

TEST_CASE("every cast gives the interpreter's bits") {
  std::vector<Kernel> kernels;
  for (int i = 0; i < base::kDTypeCount; ++i) {
    for (const int32_t lanes : {1, 8}) kernels.push_back(cast_kernel(static_cast<DType>(i), lanes));
  }
  for (const std::string& spec : render_test::runnable_targets()) {
    render_test::require_same_as_interpreter(kernels, spec);
  }
}

TEST_CASE("every f16 and bf16 value converts as the interpreter converts it") {
  // 2^16 inputs are all there are.
  for (const DType half : {DType::kFloat16, DType::kBFloat16}) {
    Kernel k;
    k.name = "all_halves";
    k.thread_extent = 65536 / 8;
    const ArrayId bits = k.add_param("bits", DType::kUInt16, 65536, true);
    const ArrayId wide = k.add_param("wide", DType::kFloat32, 65536, true);
    const VarId thread = k.add_loop_var("t", 0, k.thread_extent - 1);
    const ExprId index = k.mul(k.var(thread), 8);
    const ExprId number = k.cast(k.ramp(index, k.int_const(1), 8), DType::kUInt16);
    std::vector<Stmt> body = {
        make_store(bits, index, number),
        make_store(wide, index, k.cast(k.bitcast(number, half), DType::kFloat32))};
    k.body.push_back(make_for(thread, k.int_const(0), k.int_const(k.thread_extent),
                              LoopKind::kThread, std::move(body)));
    for (const std::string& spec : render_test::runnable_targets()) {
      render_test::require_same_as_interpreter({k}, spec);
    }
  }
}
