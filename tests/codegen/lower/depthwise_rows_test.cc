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

// A depthwise convolution of a dense one's result, which lies in blocks, and a pool that keeps
// them.
std::string blocked_graph(const std::string& dtype, int channels, const std::string& kernel,
                          const std::string& window, const std::string& pixels) {
  const std::string c = std::to_string(channels);
  std::string text = "graph \"g\" {\n%x = input \"x\" : f32[2x3x9x13]\n";
  text += "%v = constant {seed 3} : f32[" + c + "x3x1x1]\n";
  text +=
      "%a = conv(%x, %v) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], "
      "groups=1}\n";
  text += "%n = cast(%a) {to=" + dtype + "}\n";
  text += "%w = constant {seed 4} : " + dtype + "[" + c + "x1x" + kernel + "]\n";
  text += "%b1 = constant {seed 5} : f32[1x" + c + "x1x1]\n";
  text += "%b = broadcast(%b1) {shape=[2, " + c + ", " + pixels + "]}\n";
  text += "%c = conv(%n, %w) {" + window + ", groups=" + c + "}\n";
  text += "%s = add(%c, %b)\n%m = cast(%s) {to=" + dtype + "}\n";
  text +=
      "%p = pool(%m) {kind=max, kernel=[1,2], strides=[1,1], dilations=[1,1], "
      "pads_begin=[0,0], pads_end=[0,0]}\noutput \"y\" = %p\n}";
  return text;
}

TEST_CASE("depthwise convolutions of narrow blocks take vectors of pixels and channels") {
  struct Case {
    const char* kernel;
    const char* window;
    const char* pixels;
  };
  const Case cases[] = {
      {"3x3", "strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]", "9, 13"},
      {"3x3", "strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]", "5, 7"},
      {"5x4", "strides=[1,2], dilations=[1,1], pads_begin=[2,3], pads_end=[0,1]", "7, 7"},
      {"2x3", "strides=[3,3], dilations=[2,2], pads_begin=[1,0], pads_end=[1,2]", "3, 4"},
      {"1x3", "strides=[1,1], dilations=[1,3], pads_begin=[0,7], pads_end=[0,3]", "9, 17"},
  };
  for (const std::string dtype : {"f32", "bf16"}) {
    const double one_place = dtype == "f32" ? 2e-5 : 1.6e-2;
    for (const Case& c : cases) {
      // Of 16 lanes with blocks of 8 and of 4, of 8 lanes with blocks of 4.
      for (const auto& [channels, block] :
           {std::pair(24, 16), std::pair(20, 16), std::pair(12, 8)}) {
        const std::string text = blocked_graph(dtype, channels, c.kernel, c.window, c.pixels);
        CAPTURE(text, block);
        CHECK(check_graph(text, one_place, block).strategies.at(1) == "conv_depthwise_rows");
      }
      // Whole vectors are read where they lie.
      const std::string whole = blocked_graph(dtype, 32, c.kernel, c.window, c.pixels);
      CHECK(check_graph(whole, one_place, 16).strategies.at(1) == "conv_depthwise");
    }
  }
}

TEST_CASE("depthwise convolutions of halves by rows sum in f32, with weights of four bytes") {
  const std::string text = R"(graph "g" {
    %x = input "x" : bf16[1x3x9x21]
    %w = constant {seed 3} : bf16[3x1x3x3]
    %c = conv(%x, %w) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=3}
    output "y" = %c
  })";
  CHECK(check_graph(text).strategies == Strategies{"conv_depthwise_rows"});
  const ir::Graph graph = parsed(text);
  const Schedule schedule = schedule::make_schedule(graph, {8, true});
  const CpuTarget target = test_target();
  const LoweredKernel lowered = lower_region({schedule, schedule.regions[0], target});
  CHECK(lowered.arguments.back().constant.size() == 3 * 9 * 4);
}

// One channel of `rows` rows of `columns`; the strips that a convolution of 3x3 cuts them into.
struct StripsRun {
  int64_t strips;
  int64_t local_bytes;
};
StripsRun run_strips(int rows, int columns, int dilation, int threads = 1) {
  const std::string shape = "f32[1x1x" + std::to_string(rows) + "x" + std::to_string(columns) + "]";
  const std::string pads = "[" + std::to_string(dilation) + ",1]";
  const std::string text =
      "graph \"g\" {\n%x = input \"x\" : " + shape + "\n%w = constant {seed 3} : f32[1x1x3x3]\n" +
      "%c = conv(%x, %w) {strides=[1,1], dilations=[" + std::to_string(dilation) +
      ",1], pads_begin=" + pads + ", pads_end=" + pads + ", groups=1}\noutput \"y\" = %c\n}";
  const ir::Graph graph = parsed(text);
  const std::vector<ir::Literal> inputs = seeded_inputs(graph);
  const Schedule schedule = schedule::make_schedule(graph, {8, true});
  StripsRun result = {};
  const ScheduleRun run = run_schedule(schedule, inputs, test_target(), [&](const Task& task) {
    Task shared = {task.schedule, task.region, task.target, threads};
    auto lowered = lower_region_with(shared, "conv_depthwise_rows", nullptr);
    REQUIRE(lowered.has_value());
    result.strips = lowered->kernel.thread_extent;
    return *std::move(lowered);
  });
  result.local_bytes = run.local_bytes;
  check_against_oracle(graph, inputs, run.outputs, 2e-5);
  return result;
}

TEST_CASE("planes of depthwise convolutions are cut into strips that a cache holds") {
  CHECK(run_strips(40, 20, 1).strips == 1);
  const StripsRun tall = run_strips(151, 20, 1);  // of 76 and 75 rows
  CHECK(tall.strips == 2);
  CHECK(tall.local_bytes <= (16 << 10) + 256);
  const StripsRun wide = run_strips(7, 1500, 1);  // less than two rows of outputs
  CHECK(wide.strips == 7);
  CHECK(wide.local_bytes > (16 << 10));
  // Each thread gets some, but rows under the strips are copied too often then.
  CHECK(run_strips(40, 20, 1, 2).strips == 8);
  CHECK(run_strips(4, 20, 1, 8).strips == 4);
  // Where taps are far apart, only the rows that they read are copied.
  const StripsRun far = run_strips(45, 420, 20);
  CHECK(far.strips == 45);
  CHECK(far.local_bytes <= 3 * 4 * 460);
}

}  // namespace
}  // namespace camshaft::lower
