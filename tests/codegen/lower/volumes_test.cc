// SPDX-License-Identifier: MIT
// Windows over three and four spatial axes: convolutions and pools, blocked and row-major.
#include <algorithm>

#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

struct Volume {
  const char* x;
  const char* w;
  const char* window;
  const char* strategy;
};

std::string conv_graph(const Volume& v) {
  return std::string("graph \"g\" {\n%x = input \"x\" : ") + v.x +
         "\n%w = constant {seed 3} : " + v.w + "\n%c = conv(%x, %w) {" + v.window +
         "}\n%r = max(%c, %c)\noutput \"y\" = %r\n}";
}

TEST_CASE("convolutions of volumes") {
  for (const Volume& v : {
           Volume{"f32[1x3x5x7x9]", "f32[16x3x3x3x3]",
                  "strides=[1,1,1], dilations=[1,1,1], pads_begin=[1,1,1], pads_end=[1,1,1], "
                  "groups=1",
                  "conv_direct"},
           // Everything different on each axis; groups, and channels that fill no vector.
           Volume{"f32[2x6x7x11x13]", "f32[10x3x2x3x4]",
                  "strides=[2,1,3], dilations=[3,2,1], pads_begin=[0,3,1], pads_end=[2,0,4], "
                  "groups=2",
                  "conv_direct"},
           // Windows that reach beyond both ends.
           Volume{"f32[1x8x2x3x2]", "f32[8x8x5x3x5]",
                  "strides=[1,1,1], dilations=[1,1,1], pads_begin=[3,2,2], pads_end=[3,2,3], "
                  "groups=1",
                  "conv_direct"},
           // Pointwise: all pixels are one row.
           Volume{"f32[2x8x3x5x7]", "f32[16x8x1x1x1]",
                  "strides=[1,1,1], dilations=[1,1,1], pads_begin=[0,0,0], pads_end=[0,0,0], "
                  "groups=1",
                  "conv_direct"},
           Volume{"f32[2x8x3x5x7]", "f32[16x8x1x1x1]",
                  "strides=[2,1,3], dilations=[1,1,1], pads_begin=[0,0,0], pads_end=[0,0,0], "
                  "groups=1",
                  "conv_direct"},
           Volume{"i32[1x2x4x4x4]", "i32[4x2x3x3x3]",
                  "strides=[1,1,1], dilations=[1,1,1], pads_begin=[1,1,1], pads_end=[1,1,1], "
                  "groups=1",
                  "conv_direct"},
           Volume{"f32[1x2x3x4x3x4]", "f32[8x2x2x3x2x3]",
                  "strides=[1,2,1,1], dilations=[1,1,1,1], pads_begin=[0,1,1,1], "
                  "pads_end=[1,1,0,1], groups=1",
                  "conv_direct"},
       }) {
    const std::string text = conv_graph(v);
    CAPTURE(text);
    CHECK(check_graph(text, 2e-5).strategies == Strategies{v.strategy});
  }
}

// What stands between two convolutions is in blocks of channels.
std::string between_convolutions(const std::string& root, const std::string& out_channels) {
  return R"(graph "g" {
    %x = input "x" : f32[2x4x5x6x7]
    %w = constant {seed 3} : f32[16x4x1x1x1]
    %a = conv(%x, %w) {strides=[1,1,1], dilations=[1,1,1], pads_begin=[0,0,0], pads_end=[0,0,0], groups=1}
    )" + root +
         R"(
    %u = constant {seed 4} : f32[4x)" +
         out_channels + R"(x1x1x1]
    %b = conv(%m, %u) {strides=[1,1,1], dilations=[1,1,1], pads_begin=[0,0,0], pads_end=[0,0,0], groups=1}
    output "y" = %b
  })";
}

TEST_CASE("volumes in blocks of channels") {
  const char* window = "strides=[2,1,1], dilations=[1,2,1], pads_begin=[1,2,0], pads_end=[0,1,1]";
  const std::string w = "%v = constant {seed 5} : f32[16x1x3x2x3]\n";
  CHECK(check_graph(between_convolutions(w + "%m = conv(%a, %v) {groups=16, " + window + "}", "16"))
            .strategies == Strategies{"conv_direct", "conv_depthwise", "conv_direct"});
  for (const char* kind : {"kind=max", "kind=average", "kind=average, count_include_pad=true",
                           "kind=average, ceil_mode=true, count_include_pad=true"}) {
    const std::string text = between_convolutions(
        std::string("%m = pool(%a) {kernel=[3,2,3], ") + kind + ", " + window + "}", "16");
    CAPTURE(text);
    for (const int block : {1, 8, 16}) {
      const ScheduleRun run = check_graph(text, 2e-5, block);
      CHECK(run.strategies ==
            Strategies{"conv_direct", block == 1 ? "pool_rows" : "pool", "conv_direct"});
    }
  }
}

}  // namespace
}  // namespace camshaft::lower
