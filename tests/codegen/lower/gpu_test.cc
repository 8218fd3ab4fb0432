// SPDX-License-Identifier: MIT
// Strategies for GPUs, on the interpreter, which also looks for missing barriers.
#include <algorithm>
#include <string>

#include "codegen/render/render.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

CpuTarget gpu_target() {
  CpuTarget target = test_target();
  target.is_gpu = true;
  return target;
}

// Compares all outputs with the oracle. Of a strategy's n knobs, number `which` modulo n is taken.
ScheduleRun check_gpu(std::string_view text, size_t which = 0, double tolerance = 2e-5) {
  const auto graph = ir::parse_graph(text);
  REQUIRE(graph.has_value());
  const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
  const Schedule schedule = schedule::make_schedule(*graph, {8, true});
  ScheduleRun run = run_schedule(schedule, inputs, gpu_target(), [&](const Task& task) {
    for (const Strategy& strategy : strategies()) {
      if (!strategy.matches(task) || !strategy.pays(task)) continue;
      const std::vector<Knobs> knobs = strategy.knobs(task);
      INFO(strategy.name << " " << to_string(knobs[which % knobs.size()]));
      return strategy.emit(task, knobs[which % knobs.size()]);
    }
    return lower_region(task);
  });
  check_against_oracle(*graph, inputs, run.outputs, tolerance);
  return run;
}

struct Conv {
  int in, out, size, kernel, stride, pad, groups;
};

// A pointwise convolution, which gives a blocked layout, and the one in question, with an epilogue.
std::string conv_text(const Conv& c) {
  const int result = (c.size + 2 * c.pad - c.kernel) / c.stride + 1;
  char text[1800];
  std::snprintf(text, sizeof text, R"(graph "g" {
    %%x = input "x" : f32[2x%dx%dx%d]
    %%r = input "r" : f32[2x%dx%dx%d]
    %%w0 = constant {seed 3} : f32[%dx%dx1x1]
    %%x0 = conv(%%x, %%w0) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %%w = constant {seed 4} : f32[%dx%dx%dx%d]
    %%zero = constant {splat 0} : f32[2x%dx%dx%d]
    %%c = conv(%%x0, %%w) {strides=[%d,%d], dilations=[1,1], pads_begin=[%d,%d], pads_end=[%d,%d], groups=%d}
    %%s = add(%%c, %%r)
    %%a = max(%%s, %%zero)
    output "y" = %%a
  })",
                c.in, c.size, c.size, c.out, result, result, c.in, c.in, c.out, c.in / c.groups,
                c.kernel, c.kernel, c.out, result, result, c.stride, c.stride, c.pad, c.pad, c.pad,
                c.pad, c.groups);
  return text;
}

TEST_CASE("GPU: convolutions of many shapes, with the knobs that are thought best") {
  for (const Conv& conv :
       {Conv{3, 16, 9, 3, 2, 1, 1}, Conv{16, 24, 7, 3, 1, 1, 1}, Conv{8, 5, 6, 1, 1, 0, 1},
        Conv{12, 20, 5, 5, 1, 2, 1}, Conv{16, 16, 8, 3, 1, 1, 4}, Conv{64, 32, 4, 3, 1, 1, 1},
        Conv{40, 8, 3, 1, 2, 0, 1}}) {
    CHECK(check_gpu(conv_text(conv)).strategies == Strategies(2, "group_product"));
  }
}

TEST_CASE("GPU: every way to share a convolution among items is right") {
  const std::string text = conv_text({24, 20, 5, 3, 1, 1, 1});
  for (size_t which = 0; which < 120; which += 3) check_gpu(text, which);
  CHECK(check_gpu(text, 1).strategies == Strategies(2, "group_product"));
}

// The convolution by group_winograd, which needs to be asked for.
void check_group_winograd(const Conv& conv, size_t which) {
  const auto graph = ir::parse_graph(conv_text(conv));
  REQUIRE(graph.has_value());
  const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
  const Schedule schedule = schedule::make_schedule(*graph, {8, true});
  const Strategy& strategy = *find_strategy("group_winograd");
  const ScheduleRun run = run_schedule(schedule, inputs, gpu_target(), [&](const Task& task) {
    if (!strategy.matches(task)) return lower_region(task);
    const std::vector<Knobs> knobs = strategy.knobs(task);
    UNSCOPED_INFO(to_string(knobs[which % knobs.size()]));
    return strategy.emit(task, knobs[which % knobs.size()]);
  });
  CHECK(run.strategies == Strategies{"group_product", "group_winograd"});
  check_against_oracle(*graph, inputs, run.outputs, 2e-5);
}

TEST_CASE("GPU: Winograd by groups, of tiles that fit and tiles that don't") {
  for (size_t which = 0; which < 150; which += 21) {
    check_group_winograd({16, 24, 7, 3, 1, 1, 1}, which);  // two images: the text says so
  }
  for (const Conv& conv : {Conv{8, 8, 8, 3, 1, 1, 1}, Conv{32, 64, 5, 3, 1, 0, 1},
                           Conv{48, 16, 6, 3, 1, 2, 1}, Conv{8, 32, 3, 3, 1, 0, 1}}) {
    for (const size_t which : {size_t{0}, size_t{3}, size_t{19}}) check_group_winograd(conv, which);
  }
}

TEST_CASE("GPU: Winograd by groups is for 3x3 windows of stride 1, and on request only") {
  const auto matches = [](const Conv& conv) {
    const auto graph = ir::parse_graph(conv_text(conv));
    REQUIRE(graph.has_value());
    const Schedule schedule = schedule::make_schedule(*graph, {8, true});
    const CpuTarget target = gpu_target();
    const Task task{schedule, schedule.regions[1], target};
    CHECK(lower_region(task).strategy == "group_product");
    return find_strategy("group_winograd")->matches(task);
  };
  CHECK(matches({16, 24, 7, 3, 1, 1, 1}));
  CHECK_FALSE(matches({16, 24, 7, 3, 2, 1, 1}));
  CHECK_FALSE(matches({16, 24, 7, 5, 1, 2, 1}));
  CHECK_FALSE(matches({16, 24, 7, 3, 1, 1, 2}));
}

TEST_CASE("GPU: depthwise convolutions and pools") {
  CHECK(check_gpu(conv_text({16, 16, 9, 5, 2, 2, 16})).strategies ==
        Strategies{"group_product", "item_window"});
  CHECK(check_gpu(conv_text({6, 6, 5, 3, 1, 1, 6})).strategies ==
        Strategies{"group_product", "item_window"});
  for (const char* attributes :
       {"{kind=max, kernel=[3,3], strides=[2,2], dilations=[1,1], pads_begin=[1,1], "
        "pads_end=[1,1]}",
        "{kind=average, kernel=[3,3], strides=[2,2], dilations=[1,1], pads_begin=[1,1], "
        "pads_end=[1,1]}",
        "{kind=average, kernel=[3,2], strides=[2,2], dilations=[1,1], pads_begin=[1,0], "
        "pads_end=[1,1], count_include_pad=true, ceil_mode=true}",
        "{kind=average, kernel=[13,3], strides=[3,2], dilations=[1,1], pads_begin=[0,1], "
        "pads_end=[1,1], count_include_pad=true, ceil_mode=true}",
        "{kind=max, kernel=[2,3], strides=[1,2], dilations=[2,1], pads_begin=[1,1], "
        "pads_end=[0,1]}"}) {
    const std::string text = std::string(R"(graph "g" {
      %x = input "x" : f32[1x16x11x13]
      %w = constant {seed 3} : f32[16x16x1x1]
      %x0 = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
      %p = pool(%x0) )") + attributes +
                             "\n %q = pool(%x) " + attributes +
                             "\n output \"y\" = %p\n output \"z\" = %q\n}";
    CHECK(check_gpu(text).strategies == Strategies{"group_product", "item_window", "item_window"});
  }
}

TEST_CASE("GPU: volumes and rows of windows") {
  CHECK(check_gpu(R"(graph "g" {
    %x = input "x" : f32[1x8x4x5x6]
    %w = constant {seed 3} : f32[12x8x3x1x3]
    %c = conv(%x, %w) {strides=[1,2,1], dilations=[1,1,2], pads_begin=[1,0,2], pads_end=[1,0,1], groups=1}
    output "y" = %c
  })")
            .strategies == Strategies{"group_product"});
  CHECK(check_gpu(R"(graph "g" {
    %x = input "x" : f32[2x8x30]
    %w = constant {seed 3} : f32[8x8x3]
    %c = conv(%x, %w) {strides=[1], dilations=[1], pads_begin=[1], pads_end=[1], groups=1}
    output "y" = %c
  })")
            .strategies == Strategies{"group_product"});
}

TEST_CASE("GPU: matrix products") {
  for (const size_t which : {size_t{0}, size_t{7}, size_t{40}}) {
    CHECK(check_gpu(R"(graph "g" {
      %x = input "x" : f32[2x5x37]
      %w = constant {seed 2} : f32[1x37x29]
      %wb = broadcast(%w) {shape=[2,37,29]}
      %b = constant {seed 3} : f32[1x1x29]
      %bb = broadcast(%b) {shape=[2,5,29]}
      %m = matmul(%x, %wb)
      %s = add(%m, %bb)
      %y = sigmoid(%s)
      output "y" = %y
    })",
                    which)
              .strategies == Strategies{"group_product"});
    CHECK(check_gpu(R"(graph "g" {
      %q = input "q" : f32[25x64]
      %k = input "k" : f32[25x64]
      %q3 = reshape(%q) {shape=[25,4,16]}
      %qt = transpose(%q3) {perm=[1,0,2]}
      %k3 = reshape(%k) {shape=[25,4,16]}
      %kt = transpose(%k3) {perm=[1,2,0]}
      %m = matmul(%qt, %kt)
      output "y" = %m
    })",
                    which)
              .strategies == Strategies{"group_product"});
    CHECK(check_gpu(R"(graph "g" {
      %x = input "x" : f32[1x304]
      %w = constant {seed 2} : f32[304x100]
      %m = matmul(%x, %w)
      output "y" = %m
    })",
                    which)
              .strategies == Strategies{"group_product"});
  }
}

TEST_CASE("GPU: reductions, softmax and layer norm") {
  for (const char* axis : {"2", "1", "0"}) {
    const std::string shape = std::string(axis) == "2"   ? "[9,7,1]"
                              : std::string(axis) == "1" ? "[9,1,37]"
                                                         : "[1,7,37]";
    const std::string text = std::string(R"(graph "g" {
      %x = input "x" : f32[9x7x37]
      %m = reduce(%x) {kind=max, axes=[)") +
                             axis + R"(]}
      %mb = broadcast(%m) {shape=[9,7,37]}
      %d = sub(%x, %mb)
      %e = exp(%d)
      %s = reduce(%e) {kind=sum, axes=[)" +
                             axis + R"(]}
      %sb = broadcast(%s) {shape=[9,7,37]}
      %q = div(%e, %sb)
      output "z" = %q
    })";
    for (const size_t which : {size_t{0}, size_t{1}}) {
      CHECK(check_gpu(text, which).strategies == Strategies{"group_rows"});
    }
  }
  CHECK(check_gpu(R"(graph "g" {
    %x = input "x" : f32[2x24x9x11]
    %w = constant {seed 3} : f32[24x24x1x1]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %s = reduce(%c) {kind=sum, axes=[2,3]}
    %n = constant {splat 0.0101010101} : f32[2x24x1x1]
    %m = mul(%s, %n)
    output "z" = %m
  })")
            .strategies == Strategies{"group_product", "group_rows"});
  CHECK(check_gpu(R"(graph "g" {
    %x = input "x" : i64[3x1000]
    %m = reduce(%x) {kind=max, axes=[1]}
    %s = reduce(%x) {kind=prod, axes=[0]}
    output "z" = %m
    output "s" = %s
  })")
            .strategies == Strategies{"group_rows", "group_rows"});
}

TEST_CASE("GPU: an item of an elementwise kernel does one vector") {
  const auto graph = ir::parse_graph(R"(graph "g" {
    %x = input "x" : f32[3x5x7x64]
    %y = exp(%x)
    output "z" = %y
  })");
  REQUIRE(graph.has_value());
  const Schedule schedule = schedule::make_schedule(*graph, {8, true});
  const CpuTarget target = gpu_target();
  CHECK(lower_region({schedule, schedule.regions[0], target}).kernel.thread_extent ==
        3 * 5 * 7 * 64 / 8);
}

}  // namespace
}  // namespace camshaft::lower
