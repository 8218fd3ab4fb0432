// SPDX-License-Identifier: MIT
// When 32-bit integers are wide enough for what a kernel computes in i64, and when they are not.
#include "codegen/render/index_width.h"

#include <catch2/catch.hpp>
#include <string>

#include "codegen/ir/kernel.h"

using namespace camshaft;

namespace {

// A kernel of these parameters and statements.
bool fits(const std::string& params, const std::string& body, const std::string& threads = "1") {
  const std::string text =
      "kernel \"k\" threads " + threads + " {\n" + params + "\n" + body + "\n}\n";
  INFO(text);
  const auto kernel = ir::parse_kernel(text);
  REQUIRE(kernel);
  REQUIRE(ir::verify_kernel(*kernel).is_ok());
  return render::fits_32_bits(*kernel);
}

const std::string kSmall = "param a: f32[64]\nparam out: f32[64] writable";

}  // namespace

TEST_CASE("indices of arrays that are not huge fit 32 bits") {
  CHECK(fits(kSmall, "store(out, 3, load(a, 5))"));
  CHECK(fits(kSmall, "for i in 0..64 thread {\n store(out, i, load(a, i))\n}", "64"));
}

TEST_CASE("an index beyond 31 bits needs more") {
  const std::string huge = "param a: f32[4294967296]\nparam out: f32[64] writable";
  CHECK_FALSE(fits(huge, "store(out, 0, load(a, 2147483648))"));
  // The last that fits.
  CHECK(fits(huge, "store(out, 0, load(a, 2147483647))"));
  // What lies between may be beyond, too, though the index itself is not.
  CHECK_FALSE(fits(kSmall,
                   "for i in 0..64 thread {\n"
                   " store(out, 0, load(a, i * 1000000000 / 1000000000))\n}",
                   "64"));
  CHECK(fits(kSmall, "for i in 0..64 thread {\n store(out, 0, load(a, i * 30000000 / 30000000))\n}",
             "64"));
}

TEST_CASE("numbers of 64 bits that are data need 64 bits") {
  CHECK_FALSE(fits("param a: i64[64]\nparam out: f32[64] writable",
                   "store(out, 0, cast(load(a, 0), f32))"));
  CHECK_FALSE(fits("param a: f32[64]\nparam out: i64[64] writable", "store(out, 0, 7)"));
  CHECK_FALSE(fits("param a: f64[64]\nparam out: f64[64] writable",
                   "store(out, 0, bitcast(bitcast(load(a, 0), i64), f64))"));
  // What becomes an index is as wide as its source allows.
  CHECK_FALSE(fits("param a: f32[64]\nparam n: f32[64]\nparam out: f32[64] writable",
                   "store(out, 0, load(a, max(min(cast(load(n, 0), i64), 63), 0)))"));
  CHECK(fits("param a: f32[64]\nparam n: i32[64]\nparam out: f32[64] writable",
             "store(out, 0, load(a, max(min(cast(load(n, 0), i64), 63), 0)))"));
}

TEST_CASE("masks of lanes of 8 bytes are 64-bit integers") {
  const std::string doubles = "param a: f64[64]\nparam out: f64[64] writable";
  CHECK(fits(doubles, "store(out, 0, load(a, 0, 4) + load(a, 4, 4))"));
  CHECK_FALSE(fits(doubles, "store(out, 0, max(load(a, 0, 4), load(a, 4, 4)))"));
  CHECK_FALSE(fits(doubles, "store(out, 0, min(load(a, 0, 4), load(a, 4, 4)))"));
  CHECK_FALSE(fits(doubles,
                   "store(out, 0, select(load(a, 0, 4) < load(a, 4, 4), "
                   "load(a, 8, 4), load(a, 12, 4)))"));
  CHECK_FALSE(fits("param a: u64[64]\nparam out: u8[64] writable",
                   "store(out, 0, cast(load(a, 0, 4) == load(a, 4, 4), u8))"));
  // Single ones have no mask, and lanes of 4 bytes have one of 4.
  CHECK(fits(doubles, "store(out, 0, max(load(a, 0), load(a, 1)))"));
  CHECK(fits(kSmall, "store(out, 0, max(load(a, 0, 4), load(a, 4, 4)))"));
}
