// SPDX-License-Identifier: MIT
#include "codegen/ir/literal.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "codegen/ir/graph_constants.h"
#include "tests/codegen/support/graph_testing.h"

namespace camshaft::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST_CASE("every 16-bit float keeps its bits through double") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    Literal in = zero_literal({dtype, {65536}});
    Literal out = in;
    for (int64_t i = 0; i < 65536; ++i) {
      in.data<uint16_t>()[i] = static_cast<uint16_t>(i);
      set_literal_element(out, i, literal_as_double(in, i));
    }
    int wrong = 0;
    for (int64_t i = 0; i < 65536; ++i) {
      const bool nan = std::isnan(literal_as_double(in, i));
      const bool kept = in.data<uint16_t>()[i] == out.data<uint16_t>()[i];
      if (nan ? !std::isnan(literal_as_double(out, i)) : !kept) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

// bf16 is the upper half of f32: an independent way to the same values.
TEST_CASE("bf16 values are those of the upper half of an f32") {
  Literal brain = zero_literal({DType::kBFloat16, {65536}});
  Literal single = zero_literal({DType::kFloat32, {65536}});
  for (int64_t i = 0; i < 65536; ++i) {
    brain.data<uint16_t>()[i] = static_cast<uint16_t>(i);
    single.data<uint32_t>()[i] = static_cast<uint32_t>(i) << 16;
  }
  int wrong = 0;
  for (int64_t i = 0; i < 65536; ++i) {
    const double a = literal_as_double(brain, i);
    const double b = literal_as_double(single, i);
    if (a != b && !(std::isnan(a) && std::isnan(b))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("rounding is to nearest, ties to even, and overflows to infinity") {
  CHECK(round_to_dtype(1 + 0x1p-11, DType::kFloat16) == 1);
  CHECK(round_to_dtype(1 + 0x1.8p-10, DType::kFloat16) == 1 + 0x1p-9);
  CHECK(round_to_dtype(1 + 0x1.002p-11, DType::kFloat16) == 1 + 0x1p-10);
  CHECK(round_to_dtype(65519, DType::kFloat16) == 65504);
  CHECK(round_to_dtype(65520, DType::kFloat16) == kInf);
  CHECK(round_to_dtype(-65520, DType::kFloat16) == -kInf);
  CHECK(round_to_dtype(0x1p-25, DType::kFloat16) == 0);
  CHECK(round_to_dtype(0x1.8p-25, DType::kFloat16) == 0x1p-24);
  CHECK(round_to_dtype(0x1.ffp-15, DType::kFloat16) == 0x1.ffp-15);  // denormal, exact
  CHECK(round_to_dtype(0x1.fffp-15, DType::kFloat16) == 0x1p-14);    // denormal to normal
  CHECK(std::signbit(round_to_dtype(-0x1p-30, DType::kFloat16)));
  CHECK(round_to_dtype(1 + 0x1p-8, DType::kBFloat16) == 1);
  CHECK(round_to_dtype(1 + 0x1.8p-7, DType::kBFloat16) == 1 + 0x1p-6);
  CHECK(round_to_dtype(3.4e38, DType::kBFloat16) == kInf);
  CHECK(round_to_dtype(0x1.fep127, DType::kBFloat16) == 0x1.fep127);
  CHECK(round_to_dtype(1 + 0x1p-24, DType::kFloat32) == 1);
  CHECK(round_to_dtype(0.1, DType::kFloat64) == 0.1);
  CHECK(std::isnan(round_to_dtype(std::nan(""), DType::kFloat16)));
}

TEST_CASE("integers wrap and saturate by their dtype") {
  CHECK(wrap_to_dtype(200, DType::kInt8) == -56);
  CHECK(wrap_to_dtype(-1, DType::kUInt16) == 65535);
  CHECK(wrap_to_dtype(int64_t{1} << 32, DType::kInt32) == 0);
  CHECK(wrap_to_dtype(-1, DType::kUInt64) == -1);
  CHECK(wrap_to_dtype(2, DType::kBool) == 1);
  CHECK(saturate_to_dtype(1e9, DType::kInt16) == 32767);
  CHECK(saturate_to_dtype(-0.9, DType::kUInt8) == 0);
  CHECK(saturate_to_dtype(255.9, DType::kUInt8) == 255);
  CHECK(saturate_to_dtype(-128.9, DType::kInt8) == -128);
  CHECK(saturate_to_dtype(0x1p64, DType::kUInt64) == -1);
  CHECK(saturate_to_dtype(0x1p63, DType::kUInt64) == std::numeric_limits<int64_t>::min());
  CHECK(saturate_to_dtype(0x1p63, DType::kInt64) == std::numeric_limits<int64_t>::max());
  CHECK(saturate_to_dtype(std::nan(""), DType::kInt32) == 0);
  CHECK(saturate_to_dtype(std::nan(""), DType::kBool) == 1);
}

TEST_CASE("literals are made and compared") {
  const Literal a = make_literal({DType::kInt16, {2, 2}}, {1, -2, 3, 4});
  CHECK(literal_as_int(a, 1) == -2);
  CHECK(literal_as_double(a, 3) == 4);
  CHECK(equal_literals(a, make_literal({DType::kInt16, {2, 2}}, {1, -2, 3, 4})));
  CHECK_FALSE(equal_literals(a, make_literal({DType::kInt16, {4}}, {1, -2, 3, 4})));
  CHECK_FALSE(equal_literals(a, make_literal({DType::kInt16, {2, 2}}, {1, -2, 3, 5})));
  CHECK(is_splat(splat_literal({DType::kFloat64, {3}}, 0.1)));
  CHECK(is_splat(splat_literal({DType::kFloat64, {}}, 0.1)));
  CHECK_FALSE(is_splat(a));
  CHECK_FALSE(is_splat(zero_literal({DType::kFloat32, {0}})));
  CHECK_FALSE(is_splat(make_literal({DType::kFloat32, {2}}, {0.0, -0.0})));
}

TEST_CASE("seeded literals are reproducible, in range, and differ by seed and element") {
  const TensorType type{DType::kFloat32, {1000}};
  const Literal a = seeded_literal(type, 7);
  CHECK(equal_literals(a, seeded_literal(type, 7)));
  CHECK_FALSE(equal_literals(a, seeded_literal(type, 8)));
  CHECK_FALSE(is_splat(a));
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const double value = literal_as_double(a, i);
    REQUIRE((value >= -1 && value < 1));
    sum += value;
  }
  CHECK(std::fabs(sum / 1000) < 0.1);
  // The element itself, so that the values never change unnoticed.
  CHECK(literal_as_double(a, 0) == literal_as_double(seeded_literal({DType::kFloat64, {1}}, 7), 0));
}

TEST_CASE("known splat values are seen through movement") {
  const Graph graph = graph_from(R"(
    %x = input "x" : f32[2]
    %c = constant {3} : f32[]
    %r = reshape(%c) {shape=[1,1]}
    %b = broadcast(%r) {shape=[2,3]}
    %s = slice(%b) {begin=[0,0], extent=[1,2], step=[1,1]}
    %e = slice(%b) {begin=[0,0], extent=[0,2], step=[1,1]}
    %d = constant {1, 2} : f32[2]
    %p = pad(%d) {before=[1], after=[0], value=1}
    %u = constant {18446744073709551615} : u64[1]
    %n = constant {1, 1} : bool[2]
    output "x" = %x)");
  const auto at = [&](int id) { return splat_value(graph, id); };
  CHECK(at(1) == 3);
  CHECK(at(3) == 3);
  CHECK(at(4) == 3);
  for (const int id : {0, 5, 6, 7, 8}) CHECK_FALSE(at(id).has_value());
  CHECK(splat_int(graph, 8) == -1);
  CHECK(splat_int(graph, 9) == 1);
  CHECK_FALSE(splat_int(graph, 1).has_value());
  CHECK(literal_of(graph, 0) == nullptr);
  CHECK(literal_of(graph, 1) != nullptr);
}

}  // namespace
}  // namespace camshaft::ir
