// SPDX-License-Identifier: MIT
#include "runtime/base/element.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

namespace camshaft::base {
namespace {

template <typename T>
std::string text_of(DType dtype, T value) {
  std::array<std::byte, 16> memory{};
  std::memcpy(memory.data() + sizeof value, &value, sizeof value);
  return element_text(dtype, memory.data(), 1);
}

TEST_CASE("numbers print with all the digits that tell them apart") {
  CHECK(text_of(DType::kInt64, INT64_MIN) == "-9223372036854775808");
  CHECK(text_of(DType::kInt64, INT64_MAX) == "9223372036854775807");
  CHECK(text_of(DType::kUInt64, UINT64_MAX) == "18446744073709551615");
  CHECK(text_of(DType::kInt32, INT32_MIN) == "-2147483648");
  CHECK(text_of(DType::kUInt32, UINT32_MAX) == "4294967295");
  CHECK(text_of(DType::kFloat32, 0.1F) == "0.100000001");
  CHECK(text_of(DType::kFloat64, 0.1) == "0.10000000000000001");
  CHECK(text_of(DType::kFloat32, 16000.0F) == "16000");
  CHECK(text_of(DType::kBool, uint8_t{1}) == "1");
}

}  // namespace
}  // namespace camshaft::base
