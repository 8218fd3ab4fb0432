// SPDX-License-Identifier: MIT
// Loops, branches, Lets, local arrays and the ways to reach memory.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "tests/codegen/render/render_testing.h"

using namespace camshaft;
using namespace camshaft::ir;
using render_test::require_same_as_interpreter;

namespace {

void require_same_everywhere(const std::vector<Kernel>& kernels) {
  for (const std::string& spec : render_test::runnable_targets()) {
    require_same_as_interpreter(kernels, spec);
  }
}

Stmt thread_loop(Kernel& k, VarId thread, std::vector<Stmt> body) {
  return make_for(thread, k.int_const(0), k.int_const(k.thread_extent), LoopKind::kThread,
                  std::move(body));
}

// A tile of products held in a local array across a loop: acc[i][j] += a[t][i][p] * b[p][j].
Kernel tile_kernel(int32_t rows, int32_t lanes, bool fma) {
  constexpr int64_t kDepth = 37;
  Kernel k;
  k.name = "tile_" + std::to_string(rows) + "x" + std::to_string(lanes);
  k.thread_extent = 5;
  const ArrayId a = k.add_param("a", DType::kFloat32, k.thread_extent * rows * kDepth, false);
  const ArrayId b = k.add_param("b", DType::kFloat32, kDepth * lanes, false);
  const ArrayId out = k.add_param("out", DType::kFloat32, k.thread_extent * rows * lanes, true);
  const ArrayId acc = k.add_local("acc", DType::kFloat32, int64_t{rows} * lanes);
  const VarId t = k.add_loop_var("t", 0, k.thread_extent - 1);
  const VarId p = k.add_loop_var("p", 0, kDepth - 1);
  std::vector<Stmt> body, inner, last;
  for (int32_t i = 0; i < rows; ++i) {
    const ExprId place = k.int_const(int64_t{i} * lanes);
    const ExprId row = k.add(k.mul(k.var(t), rows), i);
    const ExprId left = k.broadcast(k.load(a, k.add(k.mul(row, kDepth), k.var(p))), lanes);
    const ExprId right = k.load(b, k.mul(k.var(p), lanes), lanes);
    const ExprId sum = k.load(acc, place, lanes);
    body.push_back(make_store(acc, place, k.splat(0, {DType::kFloat32, lanes})));
    if (i == 0) inner.push_back(make_prefetch(b, k.mul(k.var(p), lanes)));
    inner.push_back(make_store(
        acc, place, fma ? k.fma(left, right, sum) : k.add(k.binary(KOp::kMul, left, right), sum)));
    last.push_back(make_store(out, k.mul(row, lanes), k.load(acc, place, lanes)));
  }
  body.push_back(make_for(p, k.int_const(0), k.int_const(kDepth), LoopKind::kSerial, inner));
  body.insert(body.end(), last.begin(), last.end());
  k.body.push_back(thread_loop(k, t, std::move(body)));
  return k;
}

// Gathers with vector indices from an index array, loads with every stride that is shuffled and
// some that aren't, from a base that is a choice, and scatters to a permuted place. The strided
// array ends where the last lane is.
Kernel gather_kernel(DType dtype, int32_t lanes) {
  constexpr int64_t kElements = 256;
  Kernel k;
  k.name = std::string("gather_") + base::dtype_name(dtype) + "_x" + std::to_string(lanes);
  k.thread_extent = kElements / lanes;
  const ArrayId from = k.add_param("from", DType::kUInt8, kElements, false);
  const ArrayId input = k.add_param("input", dtype, kElements, false);
  const ArrayId gathered = k.add_param("gathered", dtype, kElements, true);
  const ArrayId scattered = k.add_param("scattered", dtype, kElements, true);
  const VarId t = k.add_loop_var("t", 0, k.thread_extent - 1);
  const ExprId index = k.mul(k.var(t), lanes);
  const ExprId chosen = k.cast(k.load(from, index, lanes), DType::kInt64);
  const ExprId backward = k.ramp(k.sub(k.int_const(kElements - 1), index), k.int_const(-1), lanes);
  std::vector<Stmt> body = {make_store(gathered, index, k.load(input, chosen)),
                            make_store(scattered, backward, k.load(input, index, lanes))};
  for (const int64_t stride : {-2, -1, 1, 2, 3, 4, 5}) {
    const int64_t reach = std::abs(stride) * (lanes - 1);
    const int64_t steps = k.thread_extent - 1;
    const std::string name = "stride_" + std::to_string(stride + 2);
    const ArrayId from_array = k.add_param(name, dtype, reach + steps + 1, false);
    const ArrayId to_array = k.add_param(name + "_out", dtype, kElements, true);
    const ExprId first = k.binary(KOp::kMin, k.var(t), k.int_const(steps / 2));
    const ExprId base = stride < 0 ? k.add(first, reach) : first;
    const ExprId place = k.ramp(base, k.int_const(stride), lanes);
    body.push_back(make_store(to_array, index, k.load(from_array, place)));
  }
  k.body.push_back(thread_loop(k, t, std::move(body)));
  return k;
}

// An index whose lanes are known distances from sums of several scalars.
ExprId periodic_index(Kernel& k, ExprId shared, int64_t period, int64_t inside, int64_t outside,
                      int32_t lanes) {
  const ExprId lane = k.ramp(k.int_const(0), k.int_const(1), lanes);
  const auto all = [&](ExprId scalar) { return k.broadcast(scalar, lanes); };
  const ExprId unit = all(k.int_const(period));
  const ExprId column = k.binary(KOp::kRem, lane, unit);
  const ExprId row = k.binary(KOp::kDiv, lane, unit);
  const ExprId from = k.add(k.binary(KOp::kMul, column, all(k.int_const(inside))),
                            k.ramp(shared, k.int_const(0), lanes));
  return k.add(from, k.binary(KOp::kMul, row, all(k.int_const(outside))));
}

// Channels of blocks that are taken from other blocks or from rows, few elements again and again,
// and lanes that are too far from one another; each array ends where the last lane is.
Kernel periodic_kernel(DType dtype, int32_t lanes) {
  constexpr int64_t kElements = 256;
  struct Form {
    int64_t period, inside, outside;
  };
  Kernel k;
  k.name = std::string("periodic_") + base::dtype_name(dtype) + "_x" + std::to_string(lanes);
  k.thread_extent = kElements / lanes;
  const VarId t = k.add_loop_var("t", 0, k.thread_extent - 1);
  const ExprId index = k.mul(k.var(t), lanes);
  std::vector<Stmt> body;
  int number = 0;
  for (const Form& form :
       {Form{4, 1, 9}, Form{2, 40, 1}, Form{4, 30, 1}, Form{4, 1, 0}, Form{8, 1, 0}, Form{8, 1, 16},
        Form{2, 1, 50}, Form{4, -1, 7}, Form{1, 0, 8}, Form{1, 0, 30}}) {
    int64_t low = 0, high = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const int64_t at = lane % form.period * form.inside + lane / form.period * form.outside;
      low = std::min(low, at);
      high = std::max(high, at);
    }
    const std::string name = "form_" + std::to_string(number++);
    const ArrayId from = k.add_param(name, dtype, high - low + k.thread_extent, false);
    const ArrayId to = k.add_param(name + "_out", dtype, kElements, true);
    const ExprId shared = k.add(k.var(t), -low);
    body.push_back(make_store(
        to, index,
        k.load(from, periodic_index(k, shared, form.period, form.inside, form.outside, lanes))));
  }
  k.body.push_back(thread_loop(k, t, std::move(body)));
  return k;
}

// Lets of every kind, masks of several widths that meet, an If, and a loop whose bounds are loaded.
Kernel control_kernel(int32_t lanes) {
  constexpr int64_t kElements = 512;
  Kernel k;
  k.name = "control_x" + std::to_string(lanes);
  k.thread_extent = kElements / lanes;
  const ArrayId a = k.add_param("a", DType::kFloat32, kElements, false);
  const ArrayId d = k.add_param("d", DType::kFloat64, kElements, false);
  const ArrayId n = k.add_param("n", DType::kInt8, kElements, false);
  const ArrayId flags = k.add_param("flags", DType::kBool, kElements, true);
  const ArrayId out = k.add_param("out", DType::kFloat32, kElements, true);
  const ArrayId count = k.add_param("count", DType::kInt32, k.thread_extent, true);
  const VarId t = k.add_loop_var("t", 0, k.thread_extent - 1);
  const ExprId index = k.mul(k.var(t), lanes);
  const ExprId x = k.load(a, index, lanes);
  const VarId below = k.add_let_var("below", {DType::kBool, lanes});
  const VarId sum = k.add_let_var("sum", {DType::kFloat32, lanes});
  const VarId j = k.add_loop_var("j", -128, 127);
  const ExprId narrow =
      k.binary(KOp::kLt, k.load(n, index, lanes), k.splat(5, {DType::kInt8, lanes}));
  const ExprId wide =
      k.binary(KOp::kLe, k.load(d, index, lanes), k.splat(0, {DType::kFloat64, lanes}));
  const ExprId both = k.binary(KOp::kXor, k.var(below), wide);
  const ExprId either = k.select(narrow, both, k.var(below));
  const ExprId limit = k.cast(k.load(n, index), DType::kInt64);
  const ExprId one = k.int_const(1, DType::kInt32);
  std::vector<Stmt> body = {
      make_let(below, k.binary(KOp::kOr, narrow, wide)),
      make_let(sum, k.add(x, x)),
      make_store(flags, index, either),
      make_store(out, index, k.select(either, k.var(sum), x)),
      make_store(count, k.var(t), k.int_const(0, DType::kInt32)),
      make_for(j, k.int_const(-3), limit, LoopKind::kSerial,
               {make_if(k.binary(KOp::kLe, k.int_const(0), k.var(j)),
                        {make_store(count, k.var(t), k.add(k.load(count, k.var(t)), one))})}),
      make_if(k.binary(KOp::kLt, limit, k.int_const(0)), {make_store(out, index, x)})};
  k.body.push_back(thread_loop(k, t, std::move(body)));
  return k;
}

Kernel no_thread_kernel() {
  Kernel k;
  k.name = "no_thread";
  const ArrayId a = k.add_param("a", DType::kInt32, 8, false);
  const ArrayId out = k.add_param("out", DType::kInt32, 8, true);
  k.body.push_back(make_store(out, k.int_const(0),
                              k.add(k.load(a, k.int_const(0), 8), k.splat(1, {DType::kInt32, 8}))));
  return k;
}

// In place, at addresses that only the element's size divides.
Kernel in_place_kernel(int32_t lanes) {
  Kernel k;
  k.name = "in_place_x" + std::to_string(lanes);
  k.thread_extent = 7;
  const ArrayId a = k.add_param("a", DType::kFloat32, 128, false);
  const ArrayId out = k.add_param("out", DType::kFloat32, 128, true);
  k.array(a).may_alias = out;
  const VarId t = k.add_loop_var("t", 0, k.thread_extent - 1);
  const ExprId index = k.add(k.mul(k.var(t), lanes), 3);
  const ExprId x = k.load(a, index, lanes);
  k.body.push_back(thread_loop(k, t, {make_store(out, index, k.add(x, x))}));
  return k;
}

}  // namespace

TEST_CASE("accumulators in a local array") {
  for (const std::string& spec : render_test::runnable_targets()) {
    const bool fma = render_test::target_of(spec).fma;
    require_same_as_interpreter(
        {tile_kernel(6, 16, fma), tile_kernel(1, 4, fma), tile_kernel(3, 1, fma)}, spec);
  }
}

TEST_CASE("gathers and scatters") {
  std::vector<Kernel> kernels;
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kInt8, DType::kBool}) {
    for (const int32_t lanes : {2, 8, 16}) kernels.push_back(gather_kernel(dtype, lanes));
  }
  require_same_everywhere(kernels);
}

TEST_CASE("gathers of lanes that are known distances apart") {
  std::vector<Kernel> kernels;
  for (const DType dtype : {DType::kFloat32, DType::kUInt16, DType::kInt64, DType::kBool}) {
    for (const int32_t lanes : {4, 8, 16}) kernels.push_back(periodic_kernel(dtype, lanes));
  }
  require_same_everywhere(kernels);
}

TEST_CASE("lets, branches, masks and loaded bounds") {
  require_same_everywhere({control_kernel(1), control_kernel(4), control_kernel(16)});
}

TEST_CASE("a kernel without a thread loop is one iteration") {
  const Kernel kernel = no_thread_kernel();
  require_same_everywhere({kernel});
  for (const std::string& backend : render_test::backends()) {
    const auto bytes = render::compile_shared_object({kernel}, render_test::target_of(backend));
    REQUIRE(bytes);
    const render_test::Library library(*bytes);
    render_test::Params params(kernel);
    const render_test::Params before(params);
    library.function("no_thread")(params.pointers(), 0, 0);
    REQUIRE(std::memcmp(params.data(1), before.data(1), params.size_bytes(1)) == 0);
    library.function("no_thread")(params.pointers(), 0, 1);
    REQUIRE(std::memcmp(params.data(1), before.data(1), params.size_bytes(1)) != 0);
  }
}

TEST_CASE("a part of the thread range touches its own part") {
  const Kernel kernel = tile_kernel(2, 8, render_test::target_of("cpu").fma);
  for (const std::string& backend : render_test::backends()) {
    const auto bytes = render::compile_shared_object({kernel}, render_test::target_of(backend));
    REQUIRE(bytes);
    const render_test::Library library(*bytes);
    render_test::Params expected(kernel);
    for (const size_t input : {0, 1}) {
      render_test::fill_with_hard_values(expected.data(input), DType::kFloat32,
                                         kernel.array(static_cast<ArrayId>(input)).elements, 1);
    }
    render_test::Params actual(expected);
    REQUIRE(interpret_kernel(kernel, expected.pointers(), 1, 4).is_ok());
    library.function(kernel.name)(actual.pointers(), 3, 4);
    library.function(kernel.name)(actual.pointers(), 1, 3);
    REQUIRE(render_test::first_difference(expected.data(2), actual.data(2), DType::kFloat32,
                                          kernel.array(2).elements) == -1);
  }
}

TEST_CASE("in place and unaligned") {
  const std::vector<Kernel> kernels = {in_place_kernel(8), in_place_kernel(1)};
  require_same_everywhere(kernels);
  for (const std::string& backend : render_test::backends()) {
    const auto bytes = render::compile_shared_object(kernels, render_test::target_of(backend));
    REQUIRE(bytes);
    const render_test::Library library(*bytes);
    for (const Kernel& kernel : kernels) {
      render_test::Params apart(kernel);
      render_test::fill_with_hard_values(apart.data(0), DType::kFloat32, 128, 3);
      std::memcpy(apart.data(1), apart.data(0), apart.size_bytes(0));
      render_test::Params together(apart);
      library.function(kernel.name)(apart.pointers(), 0, kernel.thread_extent);
      void* same[] = {together.data(1), together.data(1)};
      library.function(kernel.name)(same, 0, kernel.thread_extent);
      REQUIRE(render_test::first_difference(apart.data(1), together.data(1), DType::kFloat32,
                                            128) == -1);
    }
  }
}
