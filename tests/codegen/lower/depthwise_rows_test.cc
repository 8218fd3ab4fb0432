// SPDX-License-Identifier: MIT
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

// A depthwise convolution and an epilogue that reads a second tensor.
std::string graph_of(const std::string& x, const std::string& w, const std::string& window,
                     const std::string& result) {
  return R"(graph "g" {
    %x = input "x" : )" +
         x + R"(
    %r = input "r" : )" +
         result + R"(
    %w = constant {seed 3} : )" +
         w + R"(
    %c = conv(%x, %w) {)" +
         window + R"(}
    %s = add(%c, %r)
    %m = max(%s, %c)
    output "y" = %m
  })";
}

TEST_CASE("depthwise convolutions of rows match the oracle") {
  struct Case {
    const char* x;
    const char* w;
    const char* window;
    const char* result;
  };
  const Case cases[] = {
      // Whole vectors; a part of one; several chunks with and without a part.
      {"f32[2x3x5x8]", "f32[3x1x3x3]",
       "strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=3",
       "f32[2x3x5x8]"},
      {"f32[1x7x6x5]", "f32[7x1x3x3]",
       "strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=7",
       "f32[1x7x6x5]"},
      {"f32[1x2x4x64]", "f32[2x1x3x3]",
       "strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=2",
       "f32[1x2x4x64]"},
      {"f32[1x2x4x70]", "f32[2x1x3x5]",
       "strides=[1,1], dilations=[1,1], pads_begin=[1,2], pads_end=[1,2], groups=2",
       "f32[1x2x4x70]"},
      {"f32[1x2x4x61]", "f32[2x1x3x5]",
       "strides=[1,1], dilations=[1,1], pads_begin=[1,2], pads_end=[1,2], groups=2",
       "f32[1x2x4x61]"},
      // Everything different on each axis; columns that no window reaches.
      {"f32[1x3x11x23]", "f32[3x1x2x4]",
       "strides=[2,3], dilations=[3,2], pads_begin=[2,1], pads_end=[0,3], groups=3",
       "f32[1x3x5x7]"},
      // Windows that reach far beyond both ends, and rows that are nothing but padding.
      {"f32[1x3x2x3]", "f32[3x1x5x5]",
       "strides=[1,1], dilations=[1,1], pads_begin=[6,4], pads_end=[3,5], groups=3",
       "f32[1x3x7x8]"},
      // One spatial axis, three of them, integers.
      {"f32[2x5x37]", "f32[5x1x4]",
       "strides=[2], dilations=[1], pads_begin=[3], pads_end=[1], groups=5", "f32[2x5x19]"},
      {"f32[1x3x3x4x9]", "f32[3x1x2x3x3]",
       "strides=[1,2,1], dilations=[1,1,1], pads_begin=[1,1,1], pads_end=[0,1,1], groups=3",
       "f32[1x3x3x2x9]"},
      {"i32[1x3x5x9]", "i32[3x1x3x3]",
       "strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=3",
       "i32[1x3x5x9]"},
      // A result with fewer elements than a vector.
      {"i32[1x1x5x7]", "i32[1x1x5x1]",
       "strides=[2,1], dilations=[1,1], pads_begin=[0,0], pads_end=[1,0], groups=1",
       "i32[1x1x1x7]"},
      {"f32[1x1x33]", "f32[1x1x3]",
       "strides=[1], dilations=[1], pads_begin=[1], pads_end=[1], "
       "groups=1",
       "f32[1x1x33]"},
  };
  for (const Case& c : cases) {
    const std::string text = graph_of(c.x, c.w, c.window, c.result);
    CAPTURE(text);
    CHECK(check_graph(text).strategies == Strategies{"conv_depthwise_rows"});
  }
}

TEST_CASE("depthwise convolutions whose rows are short, long or in blocks go elsewhere") {
  const char* window = "strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=3";
  CHECK(check_graph(graph_of("f32[1x3x4x3]", "f32[3x1x3x3]", window, "f32[1x3x4x3]")).strategies ==
        Strategies{"conv_direct"});
  CHECK(check_graph(graph_of("f32[1x3x2x22000]", "f32[3x1x3x3]", window, "f32[1x3x2x22000]"))
            .strategies == Strategies{"conv_direct"});
  // More than one output channel for an input channel, or more than one input channel.
  CHECK(check_graph(graph_of("f32[1x3x4x8]", "f32[6x1x3x3]", window, "f32[1x6x4x8]")).strategies ==
        Strategies{"conv_direct"});
  CHECK(check_graph(graph_of("f32[1x6x4x8]", "f32[3x2x3x3]", window, "f32[1x3x4x8]")).strategies ==
        Strategies{"conv_direct"});
}

TEST_CASE("depthwise convolutions read rows of an operand in blocks all the same") {
  const std::string text = R"(graph "g" {
    %x = input "x" : f32[1x4x6x9]
    %w0 = constant {seed 3} : f32[8x4x1x1]
    %a = conv(%x, %w0) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %w = constant {seed 4} : f32[8x1x3x3]
    %c = conv(%a, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=8}
    output "y" = %c
  })";
  CHECK(check_graph(text, 2e-5, 8, "conv_depthwise_rows").strategies ==
        Strategies{"conv_direct", "conv_depthwise_rows"});
}

}  // namespace
}  // namespace camshaft::lower
