// SPDX-License-Identifier: MIT
// Kernels that read and store halves and sum in f32.
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

// A pool, which is exact, brings the input into blocks; the sum is in f32, so that it differs from
// the oracle's by f32's rounding only.
std::string conv_graph(const std::string& dtype, const std::string& weights,
                       const std::string& groups, const std::string& end = "output \"y\" = %c\n}") {
  return "graph \"g\" {\n%x = input \"x\" : " + dtype +
         "[1x48x9x11]\n%p = pool(%x) {kind=max, kernel=[1,2], strides=[1,1], dilations=[1,1], "
         "pads_begin=[0,0], pads_end=[0,0]}\n%w = constant " +
         weights + " : " + dtype +
         "\n%c = conv(%p, %w) {strides=[1,2], dilations=[2,1], pads_begin=[1,1], pads_end=[2,1], "
         "groups=" +
         groups + "}\n" + end;
}

std::string with_shape(std::string text, const std::string& shape) {
  const size_t at = text.find("\n%c");
  return text.insert(at, shape);
}

int64_t constant_bytes(const std::string& text, int32_t block) {
  const auto graph = ir::parse_graph(text);
  const Schedule schedule = schedule::make_schedule(*graph, {block, true});
  int64_t bytes = 0;
  for (const Region& region : schedule.regions) {
    const CpuTarget target = test_target(block == 16 ? 64 : 32);
    for (const Argument& argument : lower_region({schedule, region, target}).arguments) {
      bytes += static_cast<int64_t>(argument.constant.size());
    }
  }
  return bytes;
}

TEST_CASE("convolutions of halves, alone and in groups, with weights of two bytes") {
  for (const std::string dtype : {"bf16", "f16"}) {
    for (const int32_t block : {8, 16}) {
      CAPTURE(dtype, block);
      const std::string whole = with_shape(conv_graph(dtype, "{seed 1}", "1"), "[32x48x3x2]");
      CHECK(check_graph(whole, 2e-5, block).strategies.back() == "conv_direct");
      CHECK(constant_bytes(whole, block) == 32 * 48 * 6 * 2);
      const std::string groups = with_shape(conv_graph(dtype, "{seed 1}", "3"), "[30x16x3x2]");
      CHECK(check_graph(groups, 2e-5, block).strategies.back() == "conv_direct");
      const std::string odd = with_shape(conv_graph(dtype, "{seed 1}", "16"), "[16x3x3x2]");
      CHECK(check_graph(odd, 2e-5, block).strategies.back() == "conv_direct");
      const std::string splat = with_shape(conv_graph(dtype, "{splat 0.25}", "1"), "[8x48x3x2]");
      CHECK(check_graph(splat, 2e-5, block).strategies.back() == "conv_direct");
      CHECK(constant_bytes(splat, block) == 0);
      // A second pool, so that the result lies in blocks too; rounded to halves in between.
      const std::string depthwise =
          with_shape(conv_graph(dtype, "{seed 1}", "48",
                                "%n = cast(%c) {to=" + dtype +
                                    "}\n%q = pool(%n) {kind=max, kernel=[2,1], strides=[1,1], "
                                    "dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}\n"
                                    "output \"y\" = %q\n}"),
                     "[48x1x3x2]");
      const double one_place = dtype == "f16" ? 1e-3 : 8e-3;
      CHECK(check_graph(depthwise, one_place, block).strategies.at(1) == "conv_depthwise");
    }
  }
}

TEST_CASE("results that are stored as halves, and read again") {
  for (const std::string dtype : {"bf16", "f16"}) {
    const std::string text = with_shape(
        conv_graph(dtype, "{seed 1}", "1",
                   "%n = cast(%c) {to=" + dtype + "}\n%k = constant {seed 3} : " + dtype +
                       "[16x32x1x1]\n%d = conv(%n, %k) {strides=[1,1], dilations=[1,1], "
                       "pads_begin=[0,0], pads_end=[0,0], groups=1}\n%m = cast(%n) {to=f32}\n"
                       "%r = reduce(%m) {kind=sum, axes=[2,3]}\noutput \"y\" = %d\n"
                       "output \"r\" = %r\n}"),
        "[32x48x3x2]");
    // Where the f32 sum is rounded the other way the stored value differs by one in its last place.
    check_graph(text, dtype == "f16" ? 1e-3 : 8e-3);
  }
}

TEST_CASE("3x3 convolutions of halves by Winograd, and directly") {
  for (const std::string dtype : {"bf16", "f16"}) {
    const std::string text =
        "graph \"g\" {\n%x = input \"x\" : " + dtype +
        "[1x16x8x8]\n%p = pool(%x) {kind=average, kernel=[1,1], strides=[1,1], dilations=[1,1], "
        "pads_begin=[0,0], pads_end=[0,0]}\n%w = constant {seed 1} : " +
        dtype +
        "[16x16x3x3]\n%c = conv(%p, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], "
        "pads_end=[1,1], groups=1}\noutput \"y\" = %c\n}";
    CHECK(check_graph(text, 1e-4, 8, "conv_winograd").strategies.back() == "conv_winograd");
    CHECK(check_graph(text, 2e-5, 8, "conv_direct").strategies.back() == "conv_direct");
  }
}

TEST_CASE("matrix products of halves, with a shared right side and without") {
  for (const std::string dtype : {"bf16", "f16"}) {
    const std::string shared = "graph \"g\" {\n%x = input \"x\" : " + dtype +
                               "[7x37]\n%w = constant {seed 2} : " + dtype +
                               "[37x11]\n%m = matmul(%x, %w)\noutput \"y\" = %m\n}";
    CHECK(check_graph(shared).strategies == Strategies{"gemm"});
    CHECK(constant_bytes(shared, 8) == 37 * 16 * 2);
    const std::string even = "graph \"g\" {\n%x = input \"x\" : " + dtype +
                             "[7x38]\n%w = constant {seed 2} : " + dtype +
                             "[38x11]\n%m = matmul(%x, %w)\noutput \"y\" = %m\n}";
    CHECK(check_graph(even).strategies == Strategies{"gemm"});
    CHECK(check_graph(even, 2e-5, 16).strategies == Strategies{"gemm"});
    CHECK(constant_bytes(even, 8) == 38 * 16 * 2);
    const std::string separate = "graph \"g\" {\n%x = input \"x\" : " + dtype +
                                 "[2x9x37]\n%w = input \"w\" : " + dtype +
                                 "[2x37x11]\n%m = matmul(%x, %w)\noutput \"y\" = %m\n}";
    CHECK(check_graph(separate).strategies == Strategies{"gemm"});
  }
}

}  // namespace
}  // namespace camshaft::lower
