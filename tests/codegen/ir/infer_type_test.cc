// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include <limits>
#include <string>

#include "codegen/ir/graph.h"
#include "runtime/base/limits.h"
#include "runtime/base/log_ring.h"

namespace camshaft::ir {
namespace {

TensorType f32(Shape shape) {
  return {DType::kFloat32, std::move(shape)};
}
TensorType i64(Shape shape) {
  return {DType::kInt64, std::move(shape)};
}
TensorType u16(Shape shape) {
  return {DType::kUInt16, std::move(shape)};
}
TensorType boolean(Shape shape) {
  return {DType::kBool, std::move(shape)};
}

// The type as text, or the sentence that says why there is none.
std::string infer(Op op, const std::vector<TensorType>& operands, const Attrs& attrs = {}) {
  const uint64_t before = base::log_sequence();
  const base::Result<TensorType> type = infer_type(op, operands, attrs);
  if (type) return to_string(*type);
  CHECK(type.error().code() == base::Code::kInvalidArgument);
  const auto lines = base::log_lines_after(before);
  return lines.empty() ? "no sentence" : lines.back().text;
}

bool refused(const std::string& answer, const std::string& part) {
  INFO(answer);
  return answer.find(part) != std::string::npos;
}

TEST_CASE("elementwise operands agree in shape and dtype") {
  CHECK(infer(Op::kAdd, {f32({2, 3}), f32({2, 3})}) == "f32[2x3]");
  CHECK(infer(Op::kLess, {f32({2}), f32({2})}) == "bool[2]");
  CHECK(infer(Op::kIsNan, {f32({2})}) == "bool[2]");
  CHECK(infer(Op::kCast, {f32({2})}, CastAttrs{DType::kInt8}) == "i8[2]");
  CHECK(infer(Op::kSelect, {boolean({2}), f32({2}), f32({2})}) == "f32[2]");
  CHECK(infer(Op::kNot, {boolean({2})}) == "bool[2]");
  CHECK(refused(infer(Op::kAdd, {f32({2, 3}), f32({3})}), "add: operands must agree"));
  CHECK(refused(infer(Op::kAdd, {f32({2}), i64({2})}), "agree in dtype"));
  CHECK(refused(infer(Op::kAdd, {f32({2})}), "takes 2 operands, given 1; operands: f32[2]"));
  CHECK(refused(infer(Op::kSelect, {f32({2}), f32({2}), f32({2})}), "must be bool"));
  CHECK(refused(infer(Op::kSelect, {boolean({2}), f32({2}), i64({2})}), "agree"));
  CHECK(refused(infer(Op::kSelect, {boolean({1}), f32({2}), f32({2})}), "agree"));
  CHECK(refused(infer(Op::kExp, {i64({2})}), "not defined on i64"));
  CHECK(refused(infer(Op::kAdd, {boolean({2}), boolean({2})}), "not defined on bool"));
  CHECK(refused(infer(Op::kAnd, {f32({2}), f32({2})}), "not defined on f32"));
  CHECK(refused(infer(Op::kNeg, {f32({2})}, CastAttrs{}), "attributes of another op"));
  CHECK(refused(infer(Op::kCast, {f32({2})}), "attributes of another op"));
  CHECK(infer(Op::kBitcast, {f32({2})}, CastAttrs{DType::kInt32}) == "i32[2]");
  CHECK(refused(infer(Op::kBitcast, {f32({2})}, CastAttrs{DType::kInt64}), "not the size of f32"));
  CHECK(refused(infer(Op::kBitcast, {boolean({2})}, CastAttrs{DType::kUInt8}), "not defined on"));
  CHECK(refused(infer(Op::kBitcast, {TensorType{DType::kUInt8, {2}}}, CastAttrs{DType::kBool}),
                "bool has not"));
  CHECK(infer(Op::kShiftLeft, {u16({2}), u16({2})}) == "u16[2]");
  CHECK(refused(infer(Op::kShiftRight, {i64({2}), i64({2})}), "not defined on i64"));
}

TEST_CASE("types of movement") {
  CHECK(infer(Op::kReshape, {f32({2, 3})}, ReshapeAttrs{{6, 1}}) == "f32[6x1]");
  CHECK(refused(infer(Op::kReshape, {f32({2, 3})}, ReshapeAttrs{{5}}), "has 5 elements"));
  CHECK(refused(infer(Op::kReshape, {f32({2, 3})}, ReshapeAttrs{{-2, -3}}), "negative"));
  CHECK(infer(Op::kTranspose, {f32({2, 3, 4})}, TransposeAttrs{{2, 0, 1}}) == "f32[4x2x3]");
  CHECK(refused(infer(Op::kTranspose, {f32({2, 3})}, TransposeAttrs{{1, 1}}), "permutation"));
  CHECK(refused(infer(Op::kTranspose, {f32({2, 3})}, TransposeAttrs{{0}}), "permutation"));
  CHECK(refused(infer(Op::kTranspose, {f32({2, 3})}, TransposeAttrs{{0, 2}}), "permutation"));
  CHECK(infer(Op::kBroadcast, {f32({1, 3})}, BroadcastAttrs{{2, 3}}) == "f32[2x3]");
  CHECK(infer(Op::kBroadcast, {f32({1, 3})}, BroadcastAttrs{{0, 3}}) == "f32[0x3]");
  CHECK(refused(infer(Op::kBroadcast, {f32({3})}, BroadcastAttrs{{2, 3}}), "ranks"));
  CHECK(refused(infer(Op::kBroadcast, {f32({2})}, BroadcastAttrs{{4}}), "stretch"));
  CHECK(infer(Op::kConcat, {f32({2, 3}), f32({2, 0}), f32({2, 4})}, ConcatAttrs{1}) == "f32[2x7]");
  CHECK(refused(infer(Op::kConcat, {f32({2}), f32({2, 1})}, ConcatAttrs{0}), "operand 1 differs"));
  CHECK(refused(infer(Op::kConcat, {f32({2}), i64({2})}, ConcatAttrs{0}), "operand 1 differs"));
  CHECK(refused(infer(Op::kConcat, {f32({2})}, ConcatAttrs{1}), "axis 1"));
  CHECK(refused(infer(Op::kConcat, {}, ConcatAttrs{0}), "at least 1"));
}

TEST_CASE("a slice stays inside its operand") {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const auto slice = [](int64_t begin, int64_t extent, int64_t step) {
    return infer(Op::kSlice, {f32({5})}, SliceAttrs{{begin}, {extent}, {step}});
  };
  CHECK(slice(0, 5, 1) == "f32[5]");
  CHECK(slice(4, 5, -1) == "f32[5]");
  CHECK(slice(0, 3, 2) == "f32[3]");
  CHECK(slice(99, 0, 1) == "f32[0]");
  CHECK(refused(slice(1, 5, 1), "leave [0, 5)"));
  CHECK(refused(slice(-1, 2, 1), "leave [0, 5)"));
  CHECK(refused(slice(3, 5, -1), "leave [0, 5)"));
  CHECK(refused(slice(0, 1, 0), "step 0"));
  CHECK(refused(slice(0, 3, kHuge), "leave [0, 5)"));
  CHECK(refused(infer(Op::kSlice, {f32({5})}, SliceAttrs{{0, 0}, {1}, {1}}), "one entry an axis"));
}

TEST_CASE("a pad's mode limits its amounts") {
  const auto pad = [](int64_t extent, int64_t before, int64_t after, PadMode mode) {
    return infer(Op::kPad, {f32({extent})}, PadAttrs{{before}, {after}, mode, 0});
  };
  CHECK(pad(3, 4, 5, PadMode::kConstant) == "f32[12]");
  CHECK(pad(3, 2, 2, PadMode::kReflect) == "f32[7]");
  CHECK(pad(3, 3, 3, PadMode::kWrap) == "f32[9]");
  CHECK(pad(3, 9, 0, PadMode::kEdge) == "f32[12]");
  CHECK(refused(pad(3, 3, 0, PadMode::kReflect), "mode reflect cannot pad an extent of 3 by 3"));
  CHECK(refused(pad(3, 0, 4, PadMode::kWrap), "mode wrap"));
  CHECK(refused(pad(0, 0, 1, PadMode::kEdge), "mode edge"));
  CHECK(refused(pad(3, -1, 0, PadMode::kConstant), "negative"));
  CHECK(refused(pad(3, std::numeric_limits<int64_t>::max(), 0, PadMode::kConstant), "too large"));
}

TEST_CASE("reductions keep their axes with extent 1") {
  CHECK(infer(Op::kReduce, {f32({2, 3, 4})}, ReduceAttrs{ReduceKind::kSum, {0, 2}}) ==
        "f32[1x3x1]");
  CHECK(infer(Op::kReduce, {f32({2})}, ReduceAttrs{ReduceKind::kSum, {}}) == "f32[2]");
  CHECK(
      refused(infer(Op::kReduce, {f32({2, 3})}, ReduceAttrs{ReduceKind::kSum, {1, 0}}), "sorted"));
  CHECK(refused(infer(Op::kReduce, {f32({2})}, ReduceAttrs{ReduceKind::kSum, {1}}), "below"));
  CHECK(refused(infer(Op::kReduce, {boolean({2})}, ReduceAttrs{ReduceKind::kMax, {0}}), "bool"));
  CHECK(infer(Op::kArgReduce, {f32({2, 3})}, ArgReduceAttrs{ReduceKind::kMin, 1, false}) ==
        "i64[2x1]");
  CHECK(refused(infer(Op::kArgReduce, {f32({2})}, ArgReduceAttrs{ReduceKind::kSum, 0, false}),
                "max or min"));
  CHECK(refused(infer(Op::kArgReduce, {f32({0})}, ArgReduceAttrs{ReduceKind::kMax, 0, false}),
                "empty"));
  CHECK(infer(Op::kScan, {i64({3})}, ScanAttrs{ReduceKind::kProd, 0, true, false}) == "i64[3]");
  CHECK(refused(infer(Op::kScan, {f32({3})}, ScanAttrs{ReduceKind::kMax, 0, false, false}),
                "sum or prod"));
  CHECK(refused(infer(Op::kScan, {f32({3})}, ScanAttrs{ReduceKind::kSum, -1, false, false}),
                "axis -1"));
}

TEST_CASE("types of matrix products") {
  CHECK(infer(Op::kMatMul, {f32({2, 3}), f32({3, 4})}) == "f32[2x4]");
  CHECK(infer(Op::kMatMul, {f32({5, 2, 0}), f32({5, 0, 4})}) == "f32[5x2x4]");
  CHECK(refused(infer(Op::kMatMul, {f32({2, 3}), f32({4, 4})}), "inner extents differ: 3 and 4"));
  CHECK(refused(infer(Op::kMatMul, {f32({1, 2, 3}), f32({5, 3, 4})}), "batch"));
  CHECK(refused(infer(Op::kMatMul, {f32({3}), f32({3})}), "at least 2"));
  CHECK(refused(infer(Op::kMatMul, {f32({2, 3}), i64({3, 4})}), "dtype"));
}

TEST_CASE("types of convolutions") {
  const auto conv = [](Shape x, Shape w, ConvAttrs attrs) {
    return infer(Op::kConv, {f32(std::move(x)), f32(std::move(w))}, attrs);
  };
  CHECK(conv({1, 3, 224, 224}, {64, 3, 7, 7}, {{2, 2}, {1, 1}, {3, 3}, {3, 3}, 1}) ==
        "f32[1x64x112x112]");
  CHECK(conv({2, 4, 9}, {6, 2, 3}, {{1}, {2}, {0}, {1}, 2}) == "f32[2x6x6]");
  CHECK(conv({1, 1, 4, 4, 4}, {1, 1, 2, 2, 2}, {{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 1}) ==
        "f32[1x1x3x3x3]");
  CHECK(refused(conv({1, 3, 8}, {4, 2, 3}, {{1}, {1}, {0}, {0}, 1}), "weights must be"));
  CHECK(refused(conv({1, 4, 8}, {3, 2, 3}, {{1}, {1}, {0}, {0}, 2}), "weights must be"));
  CHECK(refused(conv({1, 4, 8}, {3, 2, 3}, {{1}, {1}, {0}, {0}, 0}), "weights must be"));
  CHECK(refused(conv({1, 3, 2}, {4, 3, 3}, {{1}, {1}, {0}, {0}, 1}), "larger than the padded"));
  CHECK(refused(conv({1, 3, 8}, {4, 3, 3}, {{1, 1}, {1}, {0}, {0}, 1}), "1 entries"));
  CHECK(refused(conv({1, 3, 8}, {4, 3, 3}, {{0}, {1}, {0}, {0}, 1}), "at least 1"));
  CHECK(refused(conv({1, 3, 8}, {4, 3, 3}, {{1}, {1}, {-1}, {0}, 1}), "pads 0"));
  CHECK(refused(conv({1, 3, 8}, {4, 3, 0}, {{1}, {1}, {0}, {0}, 1}), "at least 1"));
  CHECK(refused(conv({1, 3, 8}, {4, 3, 3}, {{1}, {int64_t{1} << 62}, {0}, {0}, 1}), "too large"));
  CHECK(refused(conv({1, 3}, {4, 3}, {{}, {}, {}, {}, 1}), "at least 3"));
}

TEST_CASE("pools round up only to windows that start before the padding at the end") {
  const auto pool = [](int64_t extent, PoolAttrs attrs) {
    return infer(Op::kPool, {f32({1, 2, extent})}, attrs);
  };
  CHECK(pool(6, {PoolKind::kMax, {3}, {2}, {1}, {0}, {0}, false, false}) == "f32[1x2x2]");
  CHECK(pool(6, {PoolKind::kMax, {3}, {2}, {1}, {0}, {0}, false, true}) == "f32[1x2x3]");
  CHECK(pool(7, {PoolKind::kMax, {3}, {2}, {1}, {0}, {0}, false, true}) == "f32[1x2x3]");
  CHECK(pool(3, {PoolKind::kMax, {1}, {2}, {1}, {0}, {1}, false, true}) == "f32[1x2x2]");
  CHECK(pool(1, {PoolKind::kMax, {3}, {2}, {1}, {0}, {1}, false, true}) == "f32[1x2x1]");
  CHECK(refused(pool(1, {PoolKind::kMax, {3}, {2}, {1}, {0}, {0}, false, true}), "larger than"));
  CHECK(refused(pool(1, {PoolKind::kMax, {3}, {2}, {1}, {0}, {1}, false, false}), "larger than"));
  CHECK(refused(pool(6, {PoolKind::kMax, {3, 3}, {2}, {1}, {0}, {0}, false, false}), "kernel"));
  CHECK(refused(infer(Op::kPool, {i64({1, 1, 4})},
                      PoolAttrs{PoolKind::kAverage, {2}, {1}, {1}, {0}, {0}, false, false}),
                "not defined on i64"));
}

TEST_CASE("gather replaces one axis by the indices' shape") {
  CHECK(infer(Op::kGather, {f32({5, 6, 7}), i64({2, 3})}, GatherAttrs{1}) == "f32[5x2x3x7]");
  CHECK(infer(Op::kGather, {f32({5}), i64({})}, GatherAttrs{0}) == "f32[]");
  CHECK(refused(infer(Op::kGather, {f32({5}), f32({2})}, GatherAttrs{0}), "integers"));
  CHECK(refused(infer(Op::kGather, {f32({}), i64({2})}, GatherAttrs{0}), "axis 0"));
}

TEST_CASE("a tensor takes no more bytes than a plan may hold") {
  const auto broadcast = [](DType dtype, int64_t extent) {
    return infer(Op::kBroadcast, {{dtype, {1}}}, BroadcastAttrs{{extent}});
  };
  CHECK(broadcast(DType::kUInt8, base::kMaxTensorBytes) == "u8[1099511627776]");
  CHECK(broadcast(DType::kFloat32, base::kMaxTensorBytes / 4) == "f32[274877906944]");
  CHECK(refused(broadcast(DType::kUInt8, base::kMaxTensorBytes + 1),
                "u8[1099511627777] is too large: it takes 1099511627777 bytes, and a tensor may "
                "take 1099511627776"));
  CHECK(refused(broadcast(DType::kFloat32, base::kMaxTensorBytes / 4 + 1), "1099511627780 bytes"));
}

TEST_CASE("sizes that overflow are refused, behind an empty axis too") {
  const Shape huge = {int64_t{1} << 40, int64_t{1} << 40};
  CHECK(refused(infer(Op::kBroadcast, {f32({1, 1})}, BroadcastAttrs{huge}), "too large"));
  CHECK(refused(infer(Op::kBroadcast, {f32({0, 1, 1})},
                      BroadcastAttrs{{0, int64_t{1} << 40, int64_t{1} << 40}}),
                "too large"));
  CHECK(refused(infer(Op::kInput, {}), "source"));
}

}  // namespace
}  // namespace camshaft::ir
