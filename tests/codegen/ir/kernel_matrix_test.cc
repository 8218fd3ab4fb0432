// SPDX-License-Identifier: MIT
// Matrix registers in the kernel IR: text, rules, and the interpreter.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/kernel_passes.h"
#include "codegen/ir/kernel_scalar.h"

namespace camshaft::ir {
namespace {

// c[3][2] += a[3][4] * b, of which a row has two rows of the right side, in pairs.
const std::string kProduct = R"(kernel "product" threads 1 {
  param a: bf16[40]
  param b: bf16[8]
  param out: f32[20] writable
  matrix c: f32[3, 2]
  matrix x: bf16[3, 4]
  matrix w: bf16[2, 4]
  clear_matrix(c)
  for i in 0..2 serial {
    load_matrix(x, a, i * 20, 5)
    load_matrix(w, b, 0, 4)
    multiply_matrices(c, x, w)
  }
  store_matrix(c, out, 1, 3)
}
)";

std::vector<uint16_t> bf16_of(const std::vector<float>& numbers) {
  std::vector<uint16_t> bits;
  for (const float number : numbers) {
    const LaneBits wide = float_bits(static_cast<double>(number), DType::kFloat32);
    bits.push_back(static_cast<uint16_t>(evaluate_cast(wide, DType::kFloat32, DType::kBFloat16)));
  }
  return bits;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

bool is_sound(const std::string& text) {
  const auto kernel = parse_kernel(text);
  return kernel.has_value() && verify_kernel(*kernel).is_ok();
}

TEST_CASE("matrices print and parse") {
  const auto kernel = parse_kernel(kProduct);
  REQUIRE(kernel.has_value());
  CHECK(print_kernel(*kernel) == kProduct);
  CHECK_FALSE(parse_kernel(replaced(kProduct, "clear_matrix(c)", "clear_matrix(d)")).has_value());
  CHECK_FALSE(parse_kernel(replaced(kProduct, "matrix x:", "matrix c:")).has_value());
}

TEST_CASE("a product is that of the pairs") {
  auto kernel = parse_kernel(kProduct);
  REQUIRE(kernel.has_value());
  std::vector<float> a(40);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) - 17;
  const std::vector<float> b = {1, 2, 3, -4, 5, 6, -7, 8};
  const std::vector<uint16_t> a_bits = bf16_of(a);
  const std::vector<uint16_t> b_bits = bf16_of(b);
  // As it stands, and after the passes, which must keep all of it.
  for (const bool prepared : {false, true}) {
    if (prepared) kernel = prepare_kernel(std::move(*kernel), 8, {});
    std::vector<float> out(20, -1);
    void* params[] = {const_cast<uint16_t*>(a_bits.data()), const_cast<uint16_t*>(b_bits.data()),
                      out.data()};
    REQUIRE(interpret_kernel(*kernel, params, 0, 1).is_ok());
    for (size_t m = 0; m < 3; ++m) {
      for (size_t n = 0; n < 2; ++n) {
        float sum = 0;
        for (size_t i = 0; i < 2; ++i) {
          for (size_t k = 0; k < 4; ++k) {
            sum += a[i * 20 + m * 5 + k] * b[k / 2 * 4 + 2 * n + k % 2];
          }
        }
        CHECK(out[1 + m * 3 + n] == sum);
      }
    }
    CHECK(out[0] == -1);
    CHECK(out[3] == -1);
  }
}

TEST_CASE("what a matrix holds before it is cleared or loaded shows") {
  const auto kernel = parse_kernel(replaced(kProduct, "  clear_matrix(c)\n", ""));
  REQUIRE(kernel.has_value());
  std::vector<uint16_t> a(40), b(8);
  std::vector<float> out(20);
  void* params[] = {a.data(), b.data(), out.data()};
  REQUIRE(interpret_kernel(*kernel, params, 0, 1).is_ok());
  CHECK(out[1] != 0);
}

// The same with the right side as words of pairs.
std::string product_of_words() {
  const std::string words = replaced(kProduct, "b: bf16[8]", "b: u32[4]");
  return replaced(words, "(w, b, 0, 4)", "(w, b, 0, 2)");
}

TEST_CASE("a matrix of pairs may be loaded from words") {
  const auto run = [](const std::string& text) {
    const auto kernel = parse_kernel(text);
    REQUIRE(kernel.has_value());
    CHECK(verify_kernel(*kernel).is_ok());
    std::vector<float> numbers;
    for (int i = 0; i < 40; ++i) numbers.push_back(static_cast<float>(i * i % 13 - 5));
    std::vector<uint16_t> a = bf16_of(numbers);
    std::vector<uint16_t> b = bf16_of({1, -2, 3, 5, -7, 11, 13, 17});
    std::vector<float> out(20);
    void* params[] = {a.data(), b.data(), out.data()};
    REQUIRE(interpret_kernel(*kernel, params, 0, 1).is_ok());
    return out;
  };
  CHECK(run(product_of_words()) == run(kProduct));
  CHECK(run(kProduct)[1] != 0);
}

TEST_CASE("the rules of matrices that are loaded from words") {
  CHECK(is_sound(product_of_words()));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"(w, b, 0, 2)", "(w, b, 1, 2)"},                            // beyond the array
           {"b: u32[4]", "b: i32[4]"},                                  // another dtype
           {"store_matrix(c, out, 1, 3)", "store_matrix(w, b, 0, 2)"},  // only loads
           {"out: f32[20]", "out: u32[20]"}}) {                         // f32 is no pair
    CAPTURE(from, to);
    std::string text = replaced(product_of_words(), from, to);
    if (to == "store_matrix(w, b, 0, 2)") text = replaced(text, "b: u32[4]", "b: u32[4] writable");
    CHECK_FALSE(is_sound(text));
  }
}

TEST_CASE("the rules of matrices") {
  CHECK(is_sound(kProduct));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"f32[3, 2]", "f32[17, 2]"},                   // too many rows
           {"f32[3, 2]", "f32[3, 17]"},                   // rows too long
           {"f32[3, 2]", "f64[3, 2]"},                    // no such dtype
           {"bf16[3, 4]", "bf16[2, 4]"},                  // rows of a and the sum
           {"bf16[2, 4]", "bf16[1, 4]"},                  // what is summed over
           {"bf16[2, 4]", "bf16[2, 6]"},                  // columns
           {"(c, x, w)", "(x, c, w)"},                    // a sum is f32
           {"(x, a, i * 20, 5)", "(x, a, i * 20, 10)"},   // beyond the array
           {"(x, a, i * 20, 5)", "(x, out, i * 20, 5)"},  // another dtype
           {"(c, out, 1, 3)", "(c, out, 14, 3)"},
           {"out: f32[20] writable", "out: f32[20]"},
           {"  matrix w",
            "  matrix d1: f32[1, 1]\n  matrix d2: f32[1, 1]\n  matrix d3: f32[1, 1]\n"
            "  matrix d4: f32[1, 1]\n  matrix d5: f32[1, 1]\n  matrix d6: f32[1, 1]\n"
            "  matrix w"}}) {
    CAPTURE(from, to);
    CHECK_FALSE(is_sound(replaced(kProduct, from, to)));
  }
}

}  // namespace
}  // namespace camshaft::ir
