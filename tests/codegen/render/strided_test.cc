// SPDX-License-Identifier: MIT
// How gathers become loads of neighbours and shuffles; statements_test.cc runs such.
#include "codegen/render/strided.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen/render/lane_offsets.h"

namespace camshaft::render {
namespace {

using ir::DType;
using ir::ExprId;
using ir::Kernel;
using ir::KOp;

struct Gather {
  Kernel kernel;
  ir::ArrayId from = -1, numbers = -1;
  ExprId x = ir::kNoExpr, y = ir::kNoExpr;  // scalars

  Gather() {
    from = kernel.add_param("from", DType::kUInt16, 1 << 20, false);
    numbers = kernel.add_param("numbers", DType::kInt64, 64, false);
    x = kernel.var(kernel.add_loop_var("x", 0, 99));
    y = kernel.var(kernel.add_loop_var("y", 0, 99));
  }
  ExprId all(ExprId scalar, int32_t lanes = 16) { return kernel.broadcast(scalar, lanes); }
  ExprId all(int64_t number, int32_t lanes = 16) {
    return kernel.broadcast(kernel.int_const(number), lanes);
  }
  ExprId lane(int32_t lanes = 16) {
    return kernel.ramp(kernel.int_const(0), kernel.int_const(1), lanes);
  }
  // lane % period * inside + lane / period * outside
  ExprId periodic(int64_t period, int64_t inside, int64_t outside, int32_t lanes = 16) {
    const ExprId column = kernel.binary(KOp::kRem, lane(lanes), all(period, lanes));
    const ExprId row = kernel.binary(KOp::kDiv, lane(lanes), all(period, lanes));
    return kernel.add(kernel.binary(KOp::kMul, column, all(inside, lanes)),
                      kernel.binary(KOp::kMul, row, all(outside, lanes)));
  }
  std::optional<StridedLoad> load(ExprId index) {
    return strided_load(kernel, kernel.expr(kernel.load(from, index)));
  }
};

// The element that each lane gets.
std::vector<int64_t> elements_of(const StridedLoad& load) {
  std::vector<int64_t> result;
  for (size_t chunk = 0; chunk < load.chunks.size(); ++chunk) {
    std::vector<int64_t> both = result;
    if (chunk == 0) both.clear();
    for (int64_t i = 0; i < load.chunk_lanes; ++i) both.push_back(load.chunks[chunk] + i);
    std::vector<int64_t> shuffled;
    for (const int from : load.masks[chunk]) shuffled.push_back(both.at(static_cast<size_t>(from)));
    result = shuffled;
  }
  return result;
}

TEST_CASE("lanes at known distances are chunks of neighbours within what is read") {
  struct Form {
    int64_t period, inside, outside;
    int32_t lanes;
    size_t chunks;
    int chunk_lanes;
  };
  const Form forms[] = {
      {4, 1, 4, 16, 1, 16},     // neighbours
      {4, 1, 0, 16, 1, 4},      // a block of four again and again
      {8, 1, 0, 16, 1, 8},      //
      {2, 9999, 1, 16, 2, 16},  // elements of two rows by turns
      {4, 5000, 1, 16, 4, 16},  // rows of four channels into a block
      {8, 5000, 1, 16, 8, 16},  //
      {4, 5000, 1, 8, 4, 8},    //
      {1, 0, 8, 16, 8, 16},     // a channel out of blocks of eight
      {8, 1, 16, 16, 2, 16},    // every other pixel of blocks of eight
  };
  for (const Form& form : forms) {
    Gather gather;
    const ExprId index =
        gather.kernel.add(gather.periodic(form.period, form.inside, form.outside, form.lanes),
                          gather.all(gather.x, form.lanes));
    const auto load = gather.load(index);
    REQUIRE(load);
    CHECK(load->base == gather.x);
    CHECK(load->chunks.size() == form.chunks);
    CHECK(load->chunk_lanes == form.chunk_lanes);
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < form.lanes; ++i) {
      expected.push_back(i % form.period * form.inside + i / form.period * form.outside);
    }
    CHECK(elements_of(*load) == expected);
    const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
    for (const int64_t begin : load->chunks) {
      CHECK(begin >= *low);
      CHECK(begin + load->chunk_lanes - 1 <= *high);
    }
  }
}

TEST_CASE("lanes that lie in too many places, or where memory or a variable says, are gathered") {
  Gather gather;
  Kernel& k = gather.kernel;
  const ExprId x = gather.all(gather.x);
  CHECK(!gather.load(k.add(gather.periodic(1, 0, 100), x)));
  CHECK(!gather.load(k.add(gather.periodic(8, 5000, 1, 8), gather.all(gather.x, 8))));
  CHECK(!gather.load(k.add(gather.periodic(4, 1, 9), k.load(gather.numbers, gather.x, 16))));
  CHECK(!gather.load(k.ramp(gather.y, gather.x, 16)));
  const ExprId far = k.ramp(gather.y, k.int_const(1), 16);
  CHECK(!gather.load(k.binary(KOp::kDiv, far, gather.all(4))));
  CHECK(!gather.load(k.add(gather.periodic(4, 1, 9), k.binary(KOp::kRem, far, gather.all(7)))));
}

TEST_CASE("scalars of an index are brought together, unless lanes differ by more than numbers") {
  Gather gather;
  Kernel& k = gather.kernel;
  const ExprId known = gather.periodic(4, 50, 1);
  const ExprId two =
      k.add(k.add(known, gather.all(gather.x)), k.ramp(gather.y, k.int_const(3), 16));
  CHECK(!gather.load(two));
  const ExprId one = with_one_scalar(k, two);
  const auto load = lane_offsets(k, one);
  REQUIRE(load);
  REQUIRE(load->shared.size() == 1);
  CHECK(load->shared[0] == k.add(gather.x, gather.y));
  for (size_t i = 0; i < 16; ++i) {
    const auto lane = static_cast<int64_t>(i);
    CHECK(load->offsets[i] == lane % 4 * 50 + lane / 4 + lane * 3);
  }
  const ExprId numbers = k.add(two, k.load(gather.numbers, gather.x, 16));
  CHECK(with_one_scalar(k, numbers) == numbers);
  const ExprId single = k.add(known, gather.all(gather.x));
  CHECK(with_one_scalar(k, single) == single);
}

}  // namespace
}  // namespace camshaft::render
