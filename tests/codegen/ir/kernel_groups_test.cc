// SPDX-License-Identifier: MIT
// Groups of items: their text, their rules and how they run.
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_passes.h"
#include "tests/support/last_sentence.h"

namespace camshaft::ir {
namespace {

using test::last_sentence;

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel(text);
  REQUIRE(kernel.has_value());
  return std::move(*kernel);
}

// Each group of 8 items sums 16 numbers: two an item, then the items' sums.
constexpr const char* kSums = R"(kernel "sums" threads 3 {
  param a: f32[48]
  param out: f32[3] writable
  local mine: f32[1]
  shared part: f32[8]
  for g in 0..3 thread {
    for h in 0..8 item {
      store(mine, 0, 0.0)
    }
    for k in 0..2 serial {
      for i in 0..8 item {
        store(mine, 0, load(mine, 0) + load(a, g * 16 + k * 8 + i))
      }
    }
    for j in 0..8 item {
      store(part, j, load(mine, 0))
    }
    barrier
    for m in 0..8 item {
      if m == 0 {
        for n in 1..8 serial {
          store(mine, 0, load(mine, 0) + load(part, n))
        }
        store(out, g, load(mine, 0))
      }
    }
  }
}
)";

void refuses(const std::string& body, const std::string& reason) {
  const Kernel kernel = parsed(
      "kernel \"k\" threads 2 {\n  param o: f32[8] writable\n  local mine: f32[4]\n  shared s: "
      "f32[8]\n" +
      body + "}\n");
  INFO(body);
  REQUIRE(!verify_kernel(kernel).is_ok());
  REQUIRE_THAT(last_sentence(), Catch::Contains(reason));
}

std::string in_thread(const std::string& body) {
  return "for t in 0..2 thread {\n" + body + "}\n";
}

}  // namespace

TEST_CASE("items have local arrays of their own and share the group's") {
  const Kernel kernel = parsed(kSums);
  REQUIRE(print_kernel(kernel) == kSums);
  REQUIRE(verify_kernel(kernel).is_ok());
  REQUIRE(group_items(kernel) == 8);
  REQUIRE(array_bytes(kernel, ArrayKind::kShared) == 32);
  std::vector<float> a(48);
  std::iota(a.begin(), a.end(), 0.0F);
  for (const Kernel& form : {kernel, prepare_kernel(kernel, 8, MathSupport())}) {
    std::vector<float> out(3);
    void* params[] = {a.data(), out.data()};
    REQUIRE(verify_kernel(form).is_ok());
    REQUIRE(interpret_kernel(form, params, 0, 3).is_ok());
    REQUIRE(out == std::vector<float>{120, 376, 632});
  }
}

TEST_CASE("a missing barrier is found") {
  std::string text = kSums;
  text.erase(text.find("    barrier\n"), 12);
  const Kernel kernel = parsed(text);
  REQUIRE(verify_kernel(kernel).is_ok());
  float a[48] = {};
  float out[3] = {};
  void* params[] = {a, out};
  REQUIRE(interpret_kernel(kernel, params, 0, 3).code() == base::Code::kInternal);
  REQUIRE_THAT(last_sentence(), Catch::Contains("without a barrier between"));
}

TEST_CASE("the rules of groups") {
  const std::string item = "for i in 0..8 item {\n store(o, i, 1.0)\n}\n";
  refuses(item, "an item loop is outside of the thread loop");
  refuses(in_thread("for i in 0..8 item {\n for j in 0..8 item {\n store(o, i, 1.0)\n}\n}\n"),
          "an item loop is inside another one");
  refuses(in_thread(item + "for j in 0..4 item {\n store(o, j, 1.0)\n}\n"),
          "do not all run from 0 to the same constant");
  refuses(in_thread("for i in 0..8 item {\n barrier\n}\n"), "a barrier is inside an item loop");
  refuses(in_thread("barrier\n"), "a barrier is in a kernel without item loops");
  refuses(in_thread(item + "store(o, 0, 1.0)\n"), "a store to o is outside of the item loops");
  refuses(in_thread(item + "let x: f32 = load(s, 0)\n"), "s is outside of the item loops");
  refuses(in_thread("store(s, 0, 1.0)\n"), "is in a kernel without item loops");
}

}  // namespace camshaft::ir
