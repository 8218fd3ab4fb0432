// SPDX-License-Identifier: MIT
// Images in the kernel IR: text, rules, the interpreter, and the pass that makes accesses texels.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "codegen/ir/kernel_passes.h"
#include "tests/codegen/ir/kernel_testing.h"

namespace camshaft::ir {
namespace {

// Each texel of `out` is one of `a`, shifted, so that one row and column come from outside.
const std::string kShift = R"(kernel "shift" threads 1 {
  param a: f32[40] image 3 2 5
  param out: f16[24] image 3 2 3 writable
  for y in 0..2 serial {
    for x in 0..3 serial {
      store_texel(out, x, y, texel(a, x + 1, y - 1, ramp(0, 1, 4)))
    }
  }
}
)";

// Elements as strategies write them: by number, four at once where the loop becomes lanes, and one.
const std::string kElements = R"(kernel "elements" threads 1 {
  param a: f16[40] image 5 2 5
  param b: u8[24] image 6 1 6
  param out: f32[64] image 4 4 4 writable
  param last: f32[40] writable
  for i in 0..10 serial {
    for v in 0..4 vector {
      store(out, i * 4 + v, cast(load(a, i * 4 + v), f32) + cast(load(b, 23 - (i + v)), f32))
    }
  }
  for w in 0..40 vector {
    store(last, w, cast(load(a, w), f32) * 2.0)
  }
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel(text);
  REQUIRE(kernel.has_value());
  return std::move(*kernel);
}

bool is_sound(const std::string& text) {
  const auto kernel = parse_kernel(text);
  return kernel.has_value() && verify_kernel(*kernel).is_ok();
}

bool uses_image(const Kernel& kernel, KOp op) {
  for (int i = 0; i < kernel.expr_count(); ++i) {
    const Expr& e = kernel.expr(ExprId{i});
    if (e.op == op && kernel.array(e.array).is_image()) return true;
  }
  return false;
}

Kernel prepared(const Kernel& kernel) {
  return prepare_kernel(kernel, 8, MathSupport());
}

TEST_CASE("images print and parse") {
  CHECK(print_kernel(parsed(kShift)) == kShift);
  CHECK(print_kernel(parsed(kElements)) == kElements);
  CHECK_FALSE(parse_kernel(replaced(kShift, "texel(a, x + 1", "texel(none, x + 1")).has_value());
  CHECK_FALSE(parse_kernel(replaced(kElements, "image 5 2 5", "image 5 2")).has_value());
}

TEST_CASE("outside of an image are zeros, and halves are f32 on the way") {
  const Kernel kernel = parsed(kShift);
  REQUIRE(verify_kernel(kernel).is_ok());
  std::vector<float> a(40);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) + 0.25F;
  std::vector<uint16_t> out(24, 0xffff);
  void* params[] = {a.data(), out.data()};
  REQUIRE(interpret_kernel(kernel, params, 0, 1).is_ok());
  for (size_t y = 0; y < 2; ++y) {
    for (size_t x = 0; x < 3; ++x) {
      for (size_t i = 0; i < 4; ++i) {
        const double value = y == 0 || x == 2 ? 0 : static_cast<double>(a[(x + 1) * 4 + i]);
        CHECK(out[(y * 3 + x) * 4 + i] ==
              evaluate_cast(float_bits(value, DType::kFloat32), DType::kFloat32, DType::kFloat16));
      }
    }
  }
}

TEST_CASE("rules of images") {
  REQUIRE(is_sound(kShift));
  REQUIRE(is_sound(kElements));
  // Shapes, kinds and dtypes.
  CHECK_FALSE(is_sound(replaced(kShift, "a: f32[40] image 3 2 5", "a: f32[40] image 6 2 5")));
  CHECK_FALSE(is_sound(replaced(kShift, "a: f32[40] image 3 2 5", "a: f32[44] image 3 2 5")));
  CHECK_FALSE(is_sound(replaced(kElements, "b: u8[24]", "b: i32[24]")));
  // What is written is not read, and what is not writable is not written.
  CHECK_FALSE(is_sound(replaced(kShift, "texel(a", "texel(out")));
  CHECK_FALSE(is_sound(replaced(kShift, " writable", "")));
  // Places and values.
  CHECK_FALSE(is_sound(replaced(kShift, "store_texel(out, x, y", "store_texel(out, x + 1, y")));
  CHECK_FALSE(is_sound(replaced(kShift, "store_texel(out, x, y", "store_texel(out, x, y + 2")));
  CHECK_FALSE(is_sound(replaced(kShift, "ramp(0, 1, 4)", "ramp(1, 1, 4)")));
  CHECK_FALSE(is_sound(replaced(kShift, "ramp(0, 1, 4)", "ramp(0, 1, 2)")));
  CHECK_FALSE(is_sound(replaced(kShift, "image 3 2 3 writable", "writable")));
}

TEST_CASE("a store outside of an image is found when it happens") {
  const Kernel kernel =
      parsed(replaced(kShift, "for y in 0..2 serial", "for y in 0..2 range 0..9 serial"));
  const Kernel wrong =
      parsed(replaced(kShift, "store_texel(out, x, y,", "store_texel(out, x, y * x,"));
  std::vector<float> a(40);
  std::vector<uint16_t> out(24);
  void* params[] = {a.data(), out.data()};
  CHECK(interpret_kernel(kernel, params, 0, 1).is_ok());
  CHECK_FALSE(interpret_kernel(wrong, params, 0, 1).is_ok());
}

TEST_CASE("accesses become texels and compute the same") {
  const Kernel kernel = parsed(kElements);
  const auto texels = access_texels(prepared(kernel));
  REQUIRE(texels.has_value());
  REQUIRE(verify_kernel(*texels).is_ok());
  const std::string text = print_kernel(*texels);
  CHECK(text.find("store_texel(out") != std::string::npos);
  CHECK(text.find("load(a") == std::string::npos);
  CHECK(text.find("load(b") == std::string::npos);
  // Whole texels of `a`, though elements of `b`.
  CHECK(text.find("ramp(0, 1, 4))") != std::string::npos);
  const Memory memory = random_memory(kernel, 3);
  const Memory expected = run_kernel(kernel, memory);
  REQUIRE_FALSE(expected.empty());
  CHECK(run_kernel(*texels, memory) == expected);
}

TEST_CASE("a store of part of a texel can't be one") {
  CHECK_FALSE(access_texels(prepared(parsed(replaced(kElements, "store(out, i * 4 + v",
                                                     "store(out, i * 4 + v + 1"))))
                  .has_value());
  CHECK_FALSE(access_texels(prepared(parsed(replaced(kElements, "for v in 0..4 vector",
                                                     "for v in 0..4 serial"))))
                  .has_value());
  CHECK(uses_image(parsed(kElements), KOp::kLoad));
}

}  // namespace
}  // namespace camshaft::ir
