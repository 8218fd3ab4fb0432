// SPDX-License-Identifier: MIT
// Weights that are one number, and products of numbers of four and eight bytes.
#include <algorithm>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

// Bytes that a kernel has packed for itself.
int64_t constant_bytes(const Schedule& schedule) {
  int64_t bytes = 0;
  for (const Region& region : schedule.regions) {
    for (const Argument& argument : lower_region({schedule, region, test_target()}).arguments) {
      bytes += static_cast<int64_t>(argument.constant.size());
    }
  }
  return bytes;
}

int64_t constant_bytes(std::string_view text) {
  const auto graph = ir::parse_graph(text);
  REQUIRE(graph.has_value());
  return constant_bytes(schedule::make_schedule(*graph, {}));
}

std::string conv_graph(const std::string& weights, const std::string& groups) {
  return R"(graph "g" {
    %x = input "x" : f32[2x8x7x9]
    %e = constant {seed 4} : f32[16x8x1x1]
    %c = conv(%x, %e) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    )" + weights +
         R"(
    %d = conv(%c, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=)" +
         groups + R"(}
    %p = pool(%d) {kind=max, kernel=[2,2], strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}
    output "y" = %p
  })";
}

TEST_CASE("weights that are one number take the fast strategies and no memory") {
  constexpr int64_t kFirst = 16 * 8 * 4;  // of the convolution before
  const std::string narrow = "%n = constant {0.25} : f32[1x1x1x1]\n%w = broadcast(%n) {shape=";
  for (const std::string& weights :
       {narrow + "[20,16,3,3]}", std::string("%w = constant {splat 0.25} : f32[20x16x3x3]")}) {
    const std::string text = conv_graph(weights, "1");
    CAPTURE(text);
    CHECK(check_graph(text).strategies.at(1) == "conv_direct");
    CHECK(constant_bytes(text) == kFirst);
  }
  const std::string depthwise = conv_graph(narrow + "[16,1,3,3]}", "16");
  CHECK(check_graph(depthwise).strategies == Strategies{"conv_direct", "conv_depthwise", "pool_rows"});
  CHECK(constant_bytes(depthwise) == kFirst);
  // Weights of several numbers are packed.
  CHECK(constant_bytes(conv_graph("%w = constant {seed 1} : f32[16x1x3x3]", "16")) ==
        kFirst + 16 * 9 * 4);
}

TEST_CASE("a right side that is one number, of any height") {
  // A panel for it would not fit on the stack.
  const std::string text = R"(graph "g" {
    %x = input "x" : f32[2x3x20000]
    %n = constant {0.5} : f32[1x1x1]
    %w = broadcast(%n) {shape=[2,20000,17]}
    %m = matmul(%x, %w)
    output "y" = %m
  })";
  CHECK(check_graph(text, 1e-4).strategies == Strategies{"gemm"});
  CHECK(constant_bytes(text) == 0);
}

TEST_CASE("products of eight bytes, and of integers without a sign") {
  for (const std::string dtype : {"f64", "i64", "u32", "u64", "i32"}) {
    CAPTURE(dtype);
    const double tolerance = dtype == "f64" ? 1e-13 : 0;
    const std::string shared = "graph \"g\" {\n%x = input \"x\" : " + dtype +
                               "[2x5x37]\n%w = constant {seed 2} : " + dtype +
                               "[1x37x11]\n%b = broadcast(%w) {shape=[2,37,11]}\n"
                               "%m = matmul(%x, %b)\noutput \"y\" = %m\n}";
    CHECK(check_graph(shared, tolerance).strategies == Strategies{"gemm"});
    const std::string separate = "graph \"g\" {\n%x = input \"x\" : " + dtype +
                                 "[2x9x37]\n%w = input \"w\" : " + dtype +
                                 "[2x37x11]\n%m = matmul(%x, %w)\noutput \"y\" = %m\n}";
    CHECK(check_graph(separate, tolerance).strategies == Strategies{"gemm"});
    const std::string conv = "graph \"g\" {\n%x = input \"x\" : " + dtype +
                             "[1x6x7x9]\n%w = constant {seed 2} : " + dtype +
                             "[10x3x3x2]\n%c = conv(%x, %w) {strides=[2,1], dilations=[1,1], "
                             "pads_begin=[1,1], pads_end=[1,0], groups=2}\noutput \"y\" = %c\n}";
    CHECK(check_graph(conv, tolerance).strategies == Strategies{"conv_direct"});
  }
}

}  // namespace
}  // namespace camshaft::lower
