// SPDX-License-Identifier: MIT
#include "tools/io/tensor.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tools/io/json.h"

namespace camshaft::io {
namespace {

using base::DType;

double round_trip(DType dtype, double value) {
  std::array<std::byte, 16> memory{};
  set_element(dtype, memory.data(), 1, value);
  return element(dtype, memory.data(), 1);
}

TEST_CASE("sizes are exact or absent") {
  CHECK(size_bytes(DType::kFloat32, std::vector<int64_t>{2, 3}) == 24u);
  CHECK(size_bytes(DType::kFloat64, std::vector<int64_t>{}) == 8u);
  CHECK(size_bytes(DType::kUInt8, std::vector<int64_t>{4, 0}) == 0u);
  CHECK_FALSE(size_bytes(DType::kUInt8, std::vector<int64_t>{-1}).has_value());
  CHECK_FALSE(size_bytes(DType::kFloat64, std::vector<int64_t>{int64_t{1} << 61, 2}).has_value());
}

TEST_CASE("the leading part of a tensor") {
  Tensor tensor{DType::kUInt16, {2, 3, 2}, std::vector<std::byte>(24)};
  for (uint64_t i = 0; i < 12; ++i) {
    set_element(tensor.dtype, tensor.bytes.data(), i, static_cast<double>(i));
  }
  const Tensor part = leading_part(tensor, {2, 2, 1});
  CHECK(part.shape == std::vector<int64_t>{2, 2, 1});
  REQUIRE(part.bytes.size() == 8);
  for (const auto& [at, value] : {std::pair{0, 0}, {1, 2}, {2, 6}, {3, 8}}) {
    CHECK(element(part.dtype, part.bytes.data(), static_cast<uint64_t>(at)) == value);
  }
  CHECK(leading_part(tensor, {2, 3, 2}).bytes == tensor.bytes);
  CHECK(leading_part(tensor, {2, 0, 2}).bytes.empty());
  const Tensor scalar{DType::kUInt8, {}, {std::byte{7}}};
  CHECK(leading_part(scalar, {}).bytes == scalar.bytes);
}

TEST_CASE("types print as people write shapes") {
  CHECK(type_text(DType::kFloat32, std::vector<int64_t>{1, 3, 224, 224}) == "f32[1x3x224x224]");
  CHECK(type_text(DType::kBool, std::vector<int64_t>{}) == "bool[]");
}

TEST_CASE("elements are stored to nearest and clamped") {
  CHECK(round_trip(DType::kUInt8, 254.6) == 255);
  CHECK(round_trip(DType::kUInt8, 300) == 255);
  CHECK(round_trip(DType::kUInt8, -3) == 0);
  CHECK(round_trip(DType::kInt8, -200) == -128);
  CHECK(round_trip(DType::kInt16, 1e9) == 32767);
  CHECK(round_trip(DType::kInt32, -2147483648.0) == -2147483648.0);
  CHECK(round_trip(DType::kInt64, 1e30) == std::ldexp(1.0, 63));
  CHECK(round_trip(DType::kUInt64, 1e30) == std::ldexp(1.0, 64));
  CHECK(round_trip(DType::kInt32, std::nan("")) == 0);
  CHECK(round_trip(DType::kBool, -0.5) == 1);
  CHECK(round_trip(DType::kBool, 0) == 0);
  CHECK(round_trip(DType::kFloat64, 0.1) == 0.1);
  CHECK(round_trip(DType::kFloat32, 0.1) == 0.1f);
}

TEST_CASE("halves of both kinds keep what they can hold") {
  for (const double value : {0.0, 1.0, -1.5, 65504.0, 6.103515625e-05, 5.9604644775390625e-08}) {
    CHECK(round_trip(DType::kFloat16, value) == value);
  }
  CHECK(round_trip(DType::kFloat16, 1 + std::ldexp(1.0, -11)) == 1);  // a tie, to even
  CHECK(std::isinf(round_trip(DType::kFloat16, 1e6)));
  CHECK(std::isnan(round_trip(DType::kFloat16, std::nan(""))));
  CHECK(round_trip(DType::kBFloat16, 1.0078125) == 1.0078125);
  CHECK(round_trip(DType::kBFloat16, 1 + std::ldexp(1.0, -8)) == 1);
  CHECK(round_trip(DType::kBFloat16, 1 + 3 * std::ldexp(1.0, -8)) == 1.015625);
  CHECK(std::isinf(round_trip(DType::kBFloat16, std::numeric_limits<double>::infinity())));
  CHECK(std::isnan(round_trip(DType::kBFloat16, std::nan(""))));
}

TEST_CASE("JSON text holds what JSON can hold, in order") {
  Json document;
  document["z"] = 1;
  document["a"] = std::nan("");
  document["bytes"] = "caf\xe9";
  CHECK(to_text(document) ==
        "{\n  \"z\": 1,\n  \"a\": null,\n  \"bytes\": \"caf\xef\xbf\xbd\"\n}\n");
  CHECK(parse_json(to_text(document), "x.json")->at("z") == 1);
  CHECK(parse_json("{\"a\": }", "x.json").error().code() == base::Code::kCorrupt);
  CHECK(parse_json("", "x.json").error().code() == base::Code::kCorrupt);
  CHECK(read_json("/nonexistent/x.json").error().code() == base::Code::kNotFound);
}

}  // namespace
}  // namespace camshaft::io
