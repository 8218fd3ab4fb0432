// SPDX-License-Identifier: MIT
#include "codegen/onnx/narrow_cast.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "codegen/onnx/builder.h"
#include "tests/codegen/onnx/support/onnx_testing.h"

namespace camshaft::onnx {
namespace {

using Catch::Matchers::Contains;

constexpr double kInfinity = HUGE_VAL;
constexpr Narrow kFloats[] = {Narrow::kFloat8E4M3FN,   Narrow::kFloat8E4M3FNUZ, Narrow::kFloat8E5M2,
                              Narrow::kFloat8E5M2FNUZ, Narrow::kFloat6E2M3,     Narrow::kFloat6E3M2,
                              Narrow::kFloat4E2M1};
constexpr Narrow kInts[] = {Narrow::kUInt4, Narrow::kInt4, Narrow::kUInt2, Narrow::kInt2};

int code_count(Narrow type) {
  return 1 << narrow_format(type).bits;
}

// The codes that known numbers become.
std::vector<double> encoded(Narrow type, DType from, const std::vector<double>& numbers,
                            const NarrowRounding& rounding = {}) {
  ir::Graph graph;
  Builder builder(&graph);
  const Value result = encode_narrow(builder.vector(from, numbers), type, rounding);
  REQUIRE(result.narrow() == type);
  return *result.carrier().known_doubles();
}

TEST_CASE("codes of the 8-bit floats") {
  CHECK(narrow_value(Narrow::kFloat8E4M3FN, 0x7e) == 448);
  CHECK(narrow_value(Narrow::kFloat8E4M3FN, 0x01) == 0x1p-9);
  CHECK(std::isnan(narrow_value(Narrow::kFloat8E4M3FN, 0xff)));
  CHECK(narrow_value(Narrow::kFloat8E4M3FNUZ, 0xff) == -240);
  CHECK(std::isnan(narrow_value(Narrow::kFloat8E4M3FNUZ, 0x80)));
  CHECK(narrow_value(Narrow::kFloat8E5M2, 0x7b) == 57344);
  CHECK(narrow_value(Narrow::kFloat8E5M2, 0xfc) == -kInfinity);
  CHECK(std::isnan(narrow_value(Narrow::kFloat8E5M2, 0x7d)));
  CHECK(narrow_value(Narrow::kFloat8E5M2FNUZ, 0x7f) == 57344);
  CHECK(narrow_value(Narrow::kFloat8E5M2FNUZ, 0x01) == 0x1p-17);
  CHECK(narrow_value(Narrow::kFloat8E8M0, 0) == 0x1p-127);
  CHECK(narrow_value(Narrow::kFloat8E8M0, 0xfe) == 0x1p127);
  CHECK(std::isnan(narrow_value(Narrow::kFloat8E8M0, 0xff)));
}

TEST_CASE("codes of the shorter floats and of integers") {
  const double fourths[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint8_t code = 0; code < 8; ++code) {
    CHECK(narrow_value(Narrow::kFloat4E2M1, code) == fourths[code]);
    CHECK(narrow_value(Narrow::kFloat4E2M1, code | 8) == -fourths[code]);
  }
  CHECK(narrow_value(Narrow::kFloat6E2M3, 0x1f) == 7.5);
  CHECK(narrow_value(Narrow::kFloat6E2M3, 0x01) == 0.125);
  CHECK(narrow_value(Narrow::kFloat6E3M2, 0x3f) == -28);
  CHECK(narrow_value(Narrow::kInt4, 0xf8) == -8);
  CHECK(narrow_value(Narrow::kUInt4, 0xf8) == 8);
  CHECK(narrow_value(Narrow::kInt2, 3) == -1);
}

TEST_CASE("every number of a narrow type comes back from f32, f64 and, where it fits, f16") {
  for (const Narrow type : kFloats) {
    for (const DType from : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
      std::vector<double> numbers, codes;
      for (int code = 0; code < code_count(type); ++code) {
        const double number = narrow_value(type, static_cast<uint8_t>(code));
        if (std::isnan(number) || std::isinf(number)) continue;
        numbers.push_back(number);
        codes.push_back(code);
      }
      CHECK(encoded(type, from, numbers) == codes);
    }
  }
}

// The code of the number nearest to x, of two the even one.
int nearest_code(Narrow type, double x) {
  const int positive = narrow_format(type).largest + 1;
  int best = 0;
  for (int code = 1; code < positive; ++code) {
    const double old = std::fabs(narrow_value(type, static_cast<uint8_t>(best)) - x);
    const double distance = std::fabs(narrow_value(type, static_cast<uint8_t>(code)) - x);
    if (distance < old || (distance == old && code % 2 == 0)) best = code;
  }
  return best;
}

TEST_CASE("numbers between two of a type round to the nearest, ties to even") {
  std::mt19937_64 random(5);
  for (const Narrow type : kFloats) {
    const double largest = narrow_value(type, static_cast<uint8_t>(narrow_format(type).largest));
    for (const DType from : {DType::kFloat32, DType::kFloat64}) {
      std::vector<double> numbers, codes;
      for (int code = 0; code < narrow_format(type).largest; ++code) {
        const double low = narrow_value(type, static_cast<uint8_t>(code));
        const double high = narrow_value(type, static_cast<uint8_t>(code + 1));
        const double middle = (low + high) / 2;
        const double part = static_cast<double>(random() >> 11) * 0x1p-53;
        const double between = low + static_cast<double>(static_cast<float>(part)) * (high - low);
        for (const double x : {middle, std::nextafter(static_cast<float>(middle), 0.0F) + 0.0,
                               std::nextafter(static_cast<float>(middle), 1e9F) + 0.0,
                               static_cast<double>(static_cast<float>(between))}) {
          numbers.push_back(x);
          codes.push_back(nearest_code(type, x));
        }
      }
      numbers.push_back(largest * 1.01);
      codes.push_back(narrow_format(type).largest);
      CHECK(encoded(type, from, numbers) == codes);
    }
  }
  // An f64 just above a tie is not rounded to f32, and so to the tie, on its way.
  CHECK(encoded(Narrow::kFloat8E4M3FN, DType::kFloat64, {1.0625, 1.0625 + 0x1p-50}) ==
        std::vector<double>{0x38, 0x39});
}

TEST_CASE("too large numbers, infinities, NaN and zeros by the table of Cast") {
  const std::vector<double> x = {1e6, -1e6, kInfinity, -kInfinity, std::nan(""), -0.0, 1e-30};
  const auto codes = [&](Narrow type, bool saturate) {
    return encoded(type, DType::kFloat32, x, {.saturate = saturate});
  };
  using Codes = std::vector<double>;
  CHECK(codes(Narrow::kFloat8E4M3FN, true) == Codes{0x7e, 0xfe, 0x7e, 0xfe, 0x7f, 0x80, 0});
  CHECK(codes(Narrow::kFloat8E4M3FN, false) == Codes{0x7f, 0xff, 0x7f, 0xff, 0x7f, 0x80, 0});
  CHECK(codes(Narrow::kFloat8E5M2, true) == Codes{0x7b, 0xfb, 0x7b, 0xfb, 0x7e, 0x80, 0});
  CHECK(codes(Narrow::kFloat8E5M2, false) == Codes{0x7c, 0xfc, 0x7c, 0xfc, 0x7e, 0x80, 0});
  for (const Narrow uz : {Narrow::kFloat8E4M3FNUZ, Narrow::kFloat8E5M2FNUZ}) {
    CHECK(codes(uz, true) == Codes{0x7f, 0xff, 0x7f, 0xff, 0x80, 0, 0});
    CHECK(codes(uz, false) == Codes{0x80, 0x80, 0x80, 0x80, 0x80, 0, 0});
  }
  CHECK(codes(Narrow::kFloat4E2M1, false) == Codes{7, 15, 7, 15, 0, 8, 0});
}

TEST_CASE("float8e8m0 rounds up, down or to the nearest power of two") {
  const auto codes = [&](PowerRounding power, bool saturate, const std::vector<double>& x) {
    return encoded(Narrow::kFloat8E8M0, DType::kFloat32, x, {saturate, power});
  };
  using Codes = std::vector<double>;
  const std::vector<double> x = {1, 1.25, 1.5, 1.75, 0x1p-127, 0x1.8p-127, 0x1.4p-127};
  CHECK(codes(PowerRounding::kUp, true, x) == Codes{127, 128, 128, 128, 0, 1, 1});
  CHECK(codes(PowerRounding::kDown, true, x) == Codes{127, 127, 127, 127, 0, 0, 0});
  CHECK(codes(PowerRounding::kNearest, true, x) == Codes{127, 127, 128, 128, 0, 1, 0});
  const std::vector<double> odd = {0, 0x1p-130, 0x1.8p127, kInfinity, std::nan("")};
  for (const PowerRounding power : {PowerRounding::kUp, PowerRounding::kNearest}) {
    CHECK(codes(power, true, odd) == Codes{0, 0, 254, 254, 255});
    CHECK(codes(power, false, odd) == Codes{255, 255, 255, 255, 255});
  }
}

TEST_CASE("integers keep their low bits, floats are truncated first") {
  for (const Narrow type : kInts) {
    std::vector<double> x, wanted;
    for (int i = -128; i < 128; ++i) {
      x.push_back(i);
      wanted.push_back(narrow_value(type, static_cast<uint8_t>(i)));
    }
    CHECK(encoded(type, DType::kInt8, x) == wanted);
    CHECK(encoded(type, DType::kInt64, x) == wanted);
    CHECK(encoded(type, DType::kFloat32, x) == wanted);
  }
  CHECK(encoded(Narrow::kInt4, DType::kFloat32, {-3.9, 3.9}) == std::vector<double>{-3, 3});
}

::onnx::TensorProto packed(int type, std::initializer_list<int64_t> dims,
                           const std::string& bytes) {
  ::onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(type);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(bytes);
  return tensor;
}

TEST_CASE("values of narrow types are moved about and dequantized") {
  Model model(21);
  model.input("x", {2});
  *model.graph().add_initializer() = packed(22, {2, 3}, std::string("\x21\xf8\x97", 3));
  model.initializer("scale", DType::kFloat32, {}, {0.5})
      .node("Transpose", {"w"}, {"t"})
      .ints("flat", {6})
      .node("Reshape", {"t", "flat"}, {"r"})
      .node("Concat", {"r", "r"}, {"c"})
      .attr("axis", 0)
      .node("DequantizeLinear", {"c", "scale"}, {"y"})
      .output("y");
  CHECK(run(graph_of(model), {{0, 0}}) ==
        std::vector<double>{0.5, -0.5, 1, 3.5, -4, -3.5, 0.5, -0.5, 1, 3.5, -4, -3.5});
}

TEST_CASE("arithmetic on narrow types is refused by name") {
  Model model(21);
  model.input("x", {2});
  *model.graph().add_initializer() = packed(22, {2}, std::string("\x21", 1));
  model.node("Add", {"w", "w"}, {"y"}).output("y");
  CHECK_THAT(read(model).text(), Contains("is not possible on int4, int4"));

  Model mixed(21);
  mixed.input("x", DType::kInt8, {2});
  *mixed.graph().add_initializer() = packed(22, {2}, std::string("\x21", 1));
  mixed.node("Concat", {"w", "x"}, {"y"}).attr("axis", 0).output("y");
  CHECK_THAT(read(mixed).text(), Contains("is not possible on int4, i8"));
}

TEST_CASE("inputs and outputs of narrow types have their carrier's dtype") {
  Model model(21);
  model.input("x", DType::kUInt8, {3}).node("Identity", {"x"}, {"y"}).output("y");
  auto set_type = [](::onnx::ValueInfoProto* value) {
    value->mutable_type()->mutable_tensor_type()->set_elem_type(22);
  };
  set_type(model.graph().mutable_input(0));
  set_type(model.graph().mutable_output(0));
  const ir::Graph graph = graph_of(model);
  CHECK(to_string(graph.node(graph.inputs[0].node).type) == "i8[3]");
  CHECK(to_string(output_type(graph)) == "i8[3]");
  model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(3);
  CHECK_THAT(read(model).text(), Contains("declared as an output of int8, but is int4[3]"));
}

}  // namespace
}  // namespace camshaft::onnx
