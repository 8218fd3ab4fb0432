// SPDX-License-Identifier: MIT
#include "tests/codegen/lower/run_schedule.h"

#include <algorithm>

namespace camshaft::lower {
namespace {

using Strategies = std::vector<std::string>;

TEST_CASE("a chain of elementwise nodes is one flat kernel") {
  const ScheduleRun run = check_graph(R"(graph "g" {
    %x = input "x" : f32[3x5x7]
    %y = input "y" : f32[3x5x7]
    %a = add(%x, %y)
    %b = tanh(%a)
    %c = mul(%b, %x)
    output "z" = %c
  })");
  CHECK(run.strategies == Strategies{"elementwise"});
}

TEST_CASE("broadcast, transpose, reshape and slice fold into index functions") {
  const ScheduleRun run = check_graph(R"(graph "g" {
    %x = input "x" : f32[4x6x10]
    %b = input "b" : f32[1x6x1]
    %bb = broadcast(%b) {shape=[4,6,10]}
    %a = add(%x, %bb)
    %t = transpose(%a) {perm=[2,0,1]}
    %r = reshape(%t) {shape=[10,24]}
    %s = slice(%r) {begin=[9,1], extent=[5,11], step=[-2,2]}
    %n = neg(%s)
    output "z" = %n
  })");
  CHECK(run.strategies == Strategies{"elementwise"});
}

TEST_CASE("concat and pad") {
  check_graph(R"(graph "g" {
    %x = input "x" : f32[2x8x3x5]
    %y = input "y" : f32[2x16x3x5]
    %c = concat(%x, %y) {axis=1}
    %p = pad(%c) {before=[0,0,1,2], after=[0,1,0,3], mode=constant, value=0.5}
    %e = exp(%p)
    output "z" = %e
    output "c" = %c
  })");
}

TEST_CASE("bits: casts that keep them, and shifts by any amount") {
  const ScheduleRun run = check_graph(R"(graph "g" {
    %x = input "x" : f32[300]
    %n = input "n" : u32[300]
    %u = bitcast(%x) {to=u32}
    %five = constant {splat 5} : u32[300]
    %far = constant {splat 32} : u32[300]
    %l = shift_left(%u, %n)
    %r = shift_right(%u, %five)
    %z = shift_right(%u, %far)
    %a = or(%l, %r)
    %b = xor(%a, %z)
    %h = cast(%x) {to=f16}
    %hb = bitcast(%h) {to=u16}
    %back = bitcast(%hb) {to=f16}
    %i = bitcast(%b) {to=i32}
    %t = atan(%x)
    output "i" = %i
    output "hb" = %hb
    output "back" = %back
    output "t" = %t
  })");
  for (const std::string& strategy : run.strategies) CHECK(strategy == "elementwise");
}

TEST_CASE("softmax over rows and over columns is one kernel") {
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
    CHECK(check_graph(text).strategies == Strategies{"reduce"});
  }
}

TEST_CASE("layer norm is one kernel") {
  const ScheduleRun run = check_graph(R"(graph "g" {
    %x = input "x" : f32[5x512]
    %g = constant {seed 1} : f32[1x512]
    %n = constant {splat 512} : f32[5x1]
    %eps = constant {splat 0.00001} : f32[5x1]
    %s = reduce(%x) {kind=sum, axes=[1]}
    %mean = div(%s, %n)
    %mb = broadcast(%mean) {shape=[5,512]}
    %d = sub(%x, %mb)
    %dd = mul(%d, %d)
    %v = reduce(%dd) {kind=sum, axes=[1]}
    %var = div(%v, %n)
    %ve = add(%var, %eps)
    %sd = sqrt(%ve)
    %sdb = broadcast(%sd) {shape=[5,512]}
    %q = div(%d, %sdb)
    %gb = broadcast(%g) {shape=[5,512]}
    %r = mul(%q, %gb)
    output "z" = %r
  })");
  CHECK(run.strategies == Strategies{"reduce"});
}

std::string conv_text(int in, int out, int size, int kernel, int stride, int pad, int groups,
                      bool residual) {
  const int result = (size + 2 * pad - kernel) / stride + 1;
  char text[1800];
  std::snprintf(text, sizeof text, R"(graph "g" {
    %%x = input "x" : f32[2x%dx%dx%d]
    %%r = input "r" : f32[2x%dx%dx%d]
    %%w0 = constant {seed 3} : f32[%dx%dx1x1]
    %%x0 = conv(%%x, %%w0) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %%w = constant {seed 4} : f32[%dx%dx%dx%d]
    %%b = constant {seed 5} : f32[1x%dx1x1]
    %%zero = constant {splat 0} : f32[2x%dx%dx%d]
    %%c = conv(%%x0, %%w) {strides=[%d,%d], dilations=[1,1], pads_begin=[%d,%d], pads_end=[%d,%d], groups=%d}
    %%bb = broadcast(%%b) {shape=[2,%d,%d,%d]}
    %%cb = add(%%c, %%bb)
    %%s = add(%%cb, %%%s)
    %%a = max(%%s, %%zero)
    %%wl = constant {seed 6} : f32[%dx%dx1x1]
    %%l = conv(%%a, %%wl) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    output "y" = %%l
  })",
                in, size, size, out, result, result, in, in, out, in / groups, kernel, kernel, out,
                out, result, result, stride, stride, pad, pad, pad, pad, groups, out, result,
                result, residual ? "r" : "cb", out, out);
  return text;
}

TEST_CASE("convolutions of many shapes match the oracle, epilogues included") {
  struct Case {
    int in, out, size, kernel, stride, pad, groups;
    const char* strategy;
  };
  const Case cases[] = {
      {16, 24, 13, 3, 1, 1, 1, "conv_winograd"},
      {8, 24, 13, 3, 1, 1, 1, "conv_direct"},
      {8, 16, 14, 3, 2, 1, 1, "conv_direct"},
      {3, 16, 15, 7, 2, 3, 1, "conv_direct"},
      {32, 64, 7, 1, 1, 0, 1, "conv_direct"},
      {16, 10, 9, 1, 1, 0, 1, "conv_direct"},
      {16, 4, 5, 3, 1, 1, 1, "conv_direct"},
      {20, 12, 6, 3, 1, 0, 1, "conv_direct"},
      {16, 16, 9, 3, 1, 1, 2, "conv_direct"},
      {6, 6, 9, 3, 1, 1, 3, "conv_direct"},
      {16, 16, 12, 3, 1, 1, 16, "conv_depthwise"},
      {24, 24, 11, 5, 2, 2, 24, "conv_depthwise"},
      {7, 7, 6, 3, 1, 1, 7, "conv_depthwise_rows"},
      {8, 1, 6, 3, 1, 1, 1, "conv_direct"},
      {16, 40, 1, 1, 1, 0, 1, "conv_direct"},
      {8, 8, 3, 3, 1, 2, 1, "conv_direct"},
      {5, 9, 8, 2, 3, 1, 1, "conv_direct"},
      // Of one tap: pixels that are apart, all of them one row unless there is padding.
      {16, 24, 13, 1, 2, 0, 1, "conv_direct"},
      {32, 9, 12, 1, 3, 0, 1, "conv_direct"},
      {8, 16, 9, 1, 2, 1, 1, "conv_direct"},
      {16, 16, 9, 1, 2, 0, 16, "conv_depthwise"},
      // Large enough that the next rows are fetched.
      {8, 8, 65, 3, 2, 1, 8, "conv_depthwise"},
      {8, 8, 65, 3, 1, 1, 8, "conv_depthwise"},
  };
  for (const Case& c : cases) {
    for (const bool residual : {false, true}) {
      for (const int block : {1, 8, 16}) {
        const std::string text =
            conv_text(c.in, c.out, c.size, c.kernel, c.stride, c.pad, c.groups, residual);
        CAPTURE(text, block);
        const ScheduleRun run = check_graph(text, 2e-5, block);
        CHECK(run.strategies.size() == 3);
        if (block == 8) CHECK(run.strategies.at(1) == c.strategy);
      }
    }
  }
}

TEST_CASE("vectors of output channels span blocks that are narrower, and end within one") {
  struct Case {
    int out, kernel, groups;
    int32_t block;         // the widest that buffers may have
    int32_t vector_bytes;  // of the target
    int32_t lanes;         // that the kernel must have
  };
  const Case cases[] = {
      {12, 1, 1, 8, 32, 8},  {20, 3, 1, 8, 32, 8},  {12, 3, 2, 8, 32, 8}, {4, 1, 1, 8, 32, 4},
      {24, 1, 1, 8, 64, 16}, {36, 3, 1, 8, 64, 16}, {8, 1, 1, 8, 64, 8},  {12, 1, 1, 8, 16, 4},
  };
  for (const Case& c : cases) {
    const std::string text = conv_text(8, c.out, 7, c.kernel, 1, c.kernel / 2, c.groups, true);
    CAPTURE(text, c.vector_bytes);
    const auto graph = ir::parse_graph(text);
    REQUIRE(graph.has_value());
    const Schedule schedule = schedule::make_schedule(*graph, {c.block, true});
    const CpuTarget target = test_target(c.vector_bytes);
    const Task task{schedule, schedule.regions.at(1), target};
    CHECK(lower_region(task).strategy == "conv_direct");
    CHECK(lower_region(task).knobs.lanes == c.lanes);
    const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
    check_against_oracle(*graph, inputs, run_schedule(schedule, inputs, target).outputs, 2e-5);
  }
}

TEST_CASE("fallback computes the same as the fast strategies") {
  check_graph(conv_text(8, 16, 7, 3, 2, 1, 1, true), 2e-5, 8, "fallback");
  check_graph(conv_text(8, 8, 7, 3, 1, 1, 8, true), 2e-5, 8, "fallback");
}

TEST_CASE("matrix products: shared and batched right sides, odd sizes, transposed views") {
  const ScheduleRun shared = check_graph(R"(graph "g" {
    %x = input "x" : f32[2x5x37]
    %w = constant {seed 2} : f32[1x37x29]
    %wb = broadcast(%w) {shape=[2,37,29]}
    %b = constant {seed 3} : f32[1x1x29]
    %bb = broadcast(%b) {shape=[2,5,29]}
    %m = matmul(%x, %wb)
    %s = add(%m, %bb)
    %y = sigmoid(%s)
    output "y" = %y
  })");
  CHECK(shared.strategies == Strategies{"gemm"});
  const ScheduleRun attention = check_graph(R"(graph "g" {
    %q = input "q" : f32[25x64]
    %k = input "k" : f32[25x64]
    %q3 = reshape(%q) {shape=[25,4,16]}
    %qt = transpose(%q3) {perm=[1,0,2]}
    %k3 = reshape(%k) {shape=[25,4,16]}
    %kt = transpose(%k3) {perm=[1,2,0]}
    %m = matmul(%qt, %kt)
    output "y" = %m
  })");
  CHECK(attention.strategies == Strategies{"gemm"});
  CHECK(check_graph(R"(graph "g" {
    %x = input "x" : f32[1x300]
    %w = constant {seed 2} : f32[300x1000]
    %m = matmul(%x, %w)
    output "y" = %m
  })")
            .strategies == Strategies{"gemm"});
}

TEST_CASE("a right side too tall for the stack's panel gets a narrower tile, or the fallback") {
  for (const auto& [inner, strategy] :
       {std::pair{"5000", "gemm"}, std::pair{"20000", "fallback"}}) {
    const std::string text = std::string(R"(graph "g" {
      %a = input "a" : f32[9x)") +
                             inner + R"(]
      %b = input "b" : f32[)" +
                             inner + R"(x17]
      %m = matmul(%a, %b)
      output "y" = %m
    })";
    const ScheduleRun run = check_graph(text, 1e-4);
    CHECK(run.strategies == Strategies{strategy});
    CHECK(run.local_bytes <= render::kMaxLocalBytes);
  }
}

TEST_CASE("pools: max and average, padding, ceil mode, blocked and row-major") {
  for (const char* attributes :
       {"{kind=max, kernel=[3,3], strides=[2,2], dilations=[1,1], pads_begin=[1,1], "
        "pads_end=[1,1]}",
        "{kind=average, kernel=[3,3], strides=[2,2], dilations=[1,1], pads_begin=[1,1], "
        "pads_end=[1,1]}",
        "{kind=average, kernel=[3,2], strides=[2,2], dilations=[1,1], pads_begin=[1,0], "
        "pads_end=[1,1], count_include_pad=true, ceil_mode=true}",
        "{kind=average, kernel=[2,2], strides=[2,2], dilations=[1,1], pads_begin=[0,0], "
        "pads_end=[0,0], ceil_mode=true}",
        // One window, larger than the padded input.
        "{kind=average, kernel=[13,3], strides=[3,2], dilations=[1,1], pads_begin=[0,1], "
        "pads_end=[1,1], count_include_pad=true, ceil_mode=true}",
        "{kind=max, kernel=[3,15], strides=[1,4], dilations=[1,1], pads_begin=[1,0], "
        "pads_end=[1,0], ceil_mode=true}",
        "{kind=max, kernel=[2,3], strides=[1,2], dilations=[2,1], pads_begin=[1,1], "
        "pads_end=[0,1]}"}) {
    for (const int block : {1, 8}) {
      const std::string text = std::string(R"(graph "g" {
        %x = input "x" : f32[1x16x11x13]
        %w = constant {seed 3} : f32[16x16x1x1]
        %x0 = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
        %p = pool(%x0) )") + attributes +
                               R"(
        output "y" = %p
        %q = tanh(%p)
        output "z" = %q
      })";
      CAPTURE(text, block);
      check_graph(text, 2e-5, block);
    }
  }
}

TEST_CASE("products of i32 and pools of bytes take the fast strategies") {
  const ScheduleRun run = check_graph(R"(graph "g" {
    %x = input "x" : u8[2x8x9x11]
    %wide = cast(%x) {to=i32}
    %w = constant {seed 1} : i32[16x8x3x3]
    %c = conv(%wide, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %d = constant {seed 2} : i32[16x1x3x3]
    %e = conv(%c, %d) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=16}
    %f = cast(%e) {to=f32}
    %s = constant {splat 0.01171875} : f32[2x16x5x6]
    %m = mul(%f, %s)
    %r = round(%m)
    %q = cast(%r) {to=u8}
    %p = pool(%q) {kind=max, kernel=[2,2], strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[1,1]}
    %n = reshape(%p) {shape=[32,30]}
    %nw = cast(%n) {to=i32}
    %g = constant {seed 3} : i32[30x21]
    %y = matmul(%nw, %g)
    output "y" = %y
  })");
  for (const char* strategy : {"conv_direct", "conv_depthwise", "pool", "gemm"}) {
    INFO(strategy);
    CHECK(std::count(run.strategies.begin(), run.strategies.end(), strategy) == 1);
  }
}

TEST_CASE("matrices of i32 that are no constants are packed") {
  const ScheduleRun run = check_graph(R"(graph "g" {
    %a = input "a" : i32[3x7x20]
    %b = input "b" : i32[3x20x13]
    %y = matmul(%a, %b)
    output "y" = %y
  })");
  CHECK(run.strategies == Strategies{"gemm"});
}

TEST_CASE("squeeze-and-excite on blocked tensors") {
  check_graph(R"(graph "g" {
    %x = input "x" : f32[1x16x9x9]
    %w = constant {seed 3} : f32[32x16x1x1]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %s = reduce(%c) {kind=sum, axes=[2,3]}
    %n = constant {splat 81} : f32[1x32x1x1]
    %m = div(%s, %n)
    %w1 = constant {seed 5} : f32[8x32x1x1]
    %c1 = conv(%m, %w1) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %t1 = tanh(%c1)
    %w2 = constant {seed 6} : f32[32x8x1x1]
    %c2 = conv(%t1, %w2) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %g = sigmoid(%c2)
    %gb = broadcast(%g) {shape=[1,32,9,9]}
    %y = mul(%c, %gb)
    %w3 = constant {seed 7} : f32[16x32x1x1]
    %p = conv(%y, %w3) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %z = add(%p, %x)
    output "z" = %z
  })");
}

TEST_CASE("argmax, scan and gather") {
  check_graph(R"(graph "g" {
    %x = input "x" : f32[4x5x6]
    %a = arg_reduce(%x) {kind=max, axis=1, select_last=false}
    output "a" = %a
    %s = scan(%x) {kind=sum, axis=2, exclusive=true, reverse=true}
    output "s" = %s
    %i = constant {-1, 0, 2} : i64[3]
    %g = gather(%x, %i) {axis=1}
    output "g" = %g
  })");
}

}  // namespace
}  // namespace camshaft::lower
