// SPDX-License-Identifier: MIT
#include "runtime/base/bytes.h"

#include <array>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/base/dtype.h"

namespace camshaft::base {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST_CASE("checked arithmetic gives nothing instead of a wrapped number") {
  CHECK(checked_add<uint64_t>(kMax - 1, 1) == kMax);
  CHECK(!checked_add<uint64_t>(kMax, 1));
  CHECK(checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 31) == uint64_t{1} << 63);
  CHECK(!checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32));
  CHECK(!checked_add<int64_t>(std::numeric_limits<int64_t>::max(), 1));
  CHECK(!checked_mul<int64_t>(std::numeric_limits<int64_t>::min(), -1));
  CHECK(checked_mul<int64_t>(-3, 4) == -12);
}

TEST_CASE("ranges fit or don't, at the edges and near overflow") {
  CHECK(range_fits(0, 10, 10));
  CHECK(range_fits(10, 0, 10));
  CHECK(!range_fits(11, 0, 10));
  CHECK(!range_fits(1, 10, 10));
  CHECK(!range_fits(kMax, 2, 10));
  CHECK(!range_fits(5, kMax - 2, 10));
}

TEST_CASE("alignment") {
  CHECK(align_up(0, 64) == 0);
  CHECK(align_up(1, 64) == 64);
  CHECK(align_up(64, 64) == 64);
  CHECK(is_aligned(128, 64));
  CHECK(!is_aligned(130, 64));
  CHECK(checked_align_up(65, 64) == 128u);
  CHECK(checked_align_up(kMax - 63, 64) == kMax - 63);
  CHECK(!checked_align_up(kMax - 62, 64));
}

TEST_CASE("little-endian fields at any alignment") {
  std::array<std::byte, 9> bytes{};
  store_le<uint32_t>(bytes.data() + 1, 0x01020304u);
  CHECK(bytes[1] == std::byte{4});
  CHECK(bytes[4] == std::byte{1});
  CHECK(load_le<uint32_t>(bytes.data() + 1) == 0x01020304u);
  store_le<int64_t>(bytes.data() + 1, -2);
  CHECK(load_le<int64_t>(bytes.data() + 1) == -2);
}

TEST_CASE("a byte that is not zero is found wherever it is") {
  std::vector<std::byte> bytes(27);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    CHECK(is_all_zero(Bytes(bytes).first(size)));
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{0x80};
    CHECK(!is_all_zero(bytes));
    CHECK(is_all_zero(Bytes(bytes).first(i)));
    bytes[i] = std::byte{0};
  }
}

TEST_CASE("dtype names go both ways") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(dtype_from_name(dtype_name(dtype)) == dtype);
    CHECK(is_float(dtype) + is_int(dtype) + (dtype == DType::kBool) == 1);
  }
  CHECK(!dtype_from_name("f8"));
  CHECK(dtype_size_bytes(DType::kBFloat16) == 2);
  CHECK(dtype_size_bytes(DType::kUInt64) == 8);
}

}  // namespace
}  // namespace camshaft::base
