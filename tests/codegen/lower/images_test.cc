// SPDX-License-Identifier: MIT
// Values and weights as images: which become images, and that kernels of texels compute the same.
#include <algorithm>
#include <string>

#include "codegen/render/render.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

using schedule::ImageLimit;

CpuTarget gpu_target() {
  CpuTarget target = test_target();
  target.is_gpu = true;
  return target;
}

struct ImageRun {
  ScheduleRun run;
  size_t images = 0;                 // among values
  size_t weight_images = 0;          // among the kernels' constants
  std::vector<std::string> kernels;  // as they are rendered
};

LoweredKernel lower_with(const Task& task, size_t which) {
  for (const Strategy& strategy : strategies()) {
    if (!strategy.matches(task) || !strategy.pays(task)) continue;
    const std::vector<Knobs> knobs = strategy.knobs(task);
    return strategy.emit(task, knobs[which % knobs.size()]);
  }
  return lower_region(task);
}

// As the compiler does: what can't be stored as texels becomes a buffer.
void settle_images(schedule::Schedule& schedule, const CpuTarget& target, size_t which,
                   ImageRun& result) {
  for (const Region& region : schedule.regions) {
    const Task task{schedule, region, target};
    const auto prepare = [&] {
      const LoweredKernel lowered = lower_with(task, which);
      for (size_t i = 0; i < lowered.arguments.size(); ++i) {
        const bool is_constant = !lowered.arguments[i].constant.empty();
        const ir::Array& array = lowered.kernel.array(static_cast<ir::ArrayId>(i));
        if (is_constant && array.is_image()) ++result.weight_images;
      }
      return ir::access_texels(ir::prepare_kernel(lowered.kernel, 8, target.math));
    };
    std::optional<ir::Kernel> kernel = prepare();
    if (!kernel) {
      REQUIRE(task.is_image(region.output));
      schedule::take_as_buffer(schedule, region.output);
      kernel = prepare();
    }
    REQUIRE(kernel.has_value());
    result.kernels.push_back(ir::print_kernel(*kernel));
    result.images += task.is_image(region.output) ? 1 : 0;
  }
  schedule::plan_memory(schedule);
}

ImageRun check_images(std::string_view text, size_t which = 0, ImageLimit limit = {4096, 4096},
                      std::set<int32_t> image_inputs = {}) {
  const uint64_t before = base::log_sequence();
  const auto graph = ir::parse_graph(text);
  for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
  REQUIRE(graph.has_value());
  const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
  schedule::ScheduleOptions options;
  options.max_channel_block = 4;
  options.image_limit = limit;
  options.image_inputs = std::move(image_inputs);
  schedule::Schedule schedule = schedule::make_schedule(*graph, options);
  const CpuTarget target = gpu_target();
  ImageRun result;
  settle_images(schedule, target, which, result);
  result.run = run_schedule(schedule, inputs, target,
                            [&](const Task& task) { return lower_with(task, which); });
  check_against_oracle(*graph, inputs, result.run.outputs, 2e-5);
  return result;
}

struct Conv {
  int batch, channels, size, kernel, stride, pad, groups;
};

// A pointwise convolution, whose result is an image, then the one in question with an epilogue,
// whose result is one, too, and a last one.
std::string conv_text(const Conv& c) {
  const int result = (c.size + 2 * c.pad - c.kernel) / c.stride + 1;
  const auto pointwise = [&](const char* name, const char* from, const char* weights, int seed,
                             int in, int out, int size) {
    char text[500];
    std::snprintf(text, sizeof text,
                  "%%%s = constant {seed %d} : f32[%dx%dx1x1]\n"
                  "%%%s = conv(%%%s, %%%s) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], "
                  "pads_end=[0,0], groups=1}\n",
                  weights, seed, out, in, name, from, weights);
    (void)size;
    return std::string(text);
  };
  char text[1200];
  std::snprintf(text, sizeof text, R"(%%w = constant {seed 4} : f32[%dx%dx%dx%d]
    %%zero = constant {splat 0} : f32[%dx%dx%dx%d]
    %%c = conv(%%x0, %%w) {strides=[%d,%d], dilations=[1,1], pads_begin=[%d,%d], pads_end=[%d,%d], groups=%d}
    %%a = max(%%c, %%zero)
    )",
                c.channels, c.channels / c.groups, c.kernel, c.kernel, c.batch, c.channels, result,
                result, c.stride, c.stride, c.pad, c.pad, c.pad, c.pad, c.groups);
  return "graph \"g\" {\n%x = input \"x\" : f32[" + std::to_string(c.batch) + "x3x" +
         std::to_string(c.size) + "x" + std::to_string(c.size) + "]\n" +
         pointwise("x0", "x", "w0", 3, 3, c.channels, c.size) + text +
         pointwise("y0", "a", "w1", 5, c.channels, 5, result) + "output \"y\" = %y0\n}";
}

bool has_word(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

TEST_CASE("images: convolutions of many shapes") {
  for (const Conv& conv :
       {Conv{1, 8, 9, 3, 1, 1, 1}, Conv{2, 8, 7, 3, 2, 1, 1}, Conv{1, 24, 6, 1, 1, 0, 1},
        Conv{1, 12, 8, 5, 1, 2, 1}, Conv{2, 16, 6, 3, 1, 1, 4}, Conv{1, 64, 4, 3, 1, 1, 1},
        Conv{1, 8, 9, 3, 2, 1, 8}, Conv{3, 12, 5, 3, 1, 1, 12}}) {
    const ImageRun result = check_images(conv_text(conv));
    CHECK(result.images == 2);
    CHECK(result.weight_images >= 2);
  }
}

TEST_CASE("images: channels that 4 does not divide are padded") {
  for (const Conv& conv :
       {Conv{1, 6, 9, 3, 1, 1, 1}, Conv{2, 5, 7, 3, 2, 1, 1}, Conv{1, 7, 6, 1, 1, 0, 1},
        Conv{1, 6, 9, 3, 2, 1, 6}, Conv{2, 10, 5, 5, 1, 2, 10}, Conv{1, 58, 4, 3, 1, 1, 1}}) {
    for (const size_t which : {size_t{0}, size_t{5}}) {
      CHECK(check_images(conv_text(conv), which).images == 2);
    }
  }
  // Texels that two groups would share: the grouped convolution's result is a buffer.
  CHECK(check_images(conv_text({1, 12, 6, 3, 1, 1, 2})).images == 1);
  CHECK(check_images(conv_text({1, 10, 6, 3, 1, 1, 2})).images == 1);
  // Of one channel most would be padding.
  CHECK(check_images(conv_text({1, 1, 6, 3, 1, 1, 1})).images == 0);
}

TEST_CASE("images: pools and residuals of padded channels") {
  const ImageRun run = check_images(R"(graph "g" {
    %x = input "x" : f32[1x3x8x8]
    %w = constant {seed 3} : f32[6x3x3x3]
    %b = constant {seed 4} : f32[6]
    %bb = reshape(%b) {shape=[1,6,1,1]}
    %bc = broadcast(%bb) {shape=[1,6,8,8]}
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %d = add(%c, %bc)
    %p = pool(%d) {kind=max, kernel=[3,3], strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]}
    %q = pool(%p) {kind=average, kernel=[2,2], strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[1,1]}
    %v = constant {seed 5} : f32[6x6x3x3]
    %e = conv(%q, %v) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %s = add(%e, %d)
    %u = constant {seed 6} : f32[4x6x1x1]
    %f = conv(%s, %u) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    output "y" = %f
  })");
  CHECK(run.images == 4);
}

TEST_CASE("images: every way to share a convolution among items is right") {
  const std::string text = conv_text({1, 20, 5, 3, 1, 1, 1});
  for (size_t which = 0; which < 90; which += 6) {
    CHECK(check_images(text, which).images == 2);
  }
}

TEST_CASE("images: the border of an image is a convolution's padding") {
  // The second kernel reads an image; of one batch nothing tests whether taps are inside.
  for (const int groups : {1, 8}) {
    const ImageRun one = check_images(conv_text({1, 8, 9, 3, 1, 1, groups}));
    CHECK(has_word(one.kernels[1], "texel(x0"));
    CHECK_FALSE(has_word(one.kernels[1], "select"));
    // Of two, rows of the next batch follow.
    const ImageRun two = check_images(conv_text({2, 8, 9, 3, 1, 1, groups}));
    CHECK(has_word(two.kernels[1], "texel(x0"));
    CHECK(has_word(two.kernels[1], "select"));
  }
}

TEST_CASE("images: what is beyond the limit is a buffer") {
  const std::string text = conv_text({1, 8, 9, 3, 1, 1, 1});
  // Values are 9 * 8 / 4 texels wide and 9 high.
  const ImageRun whole = check_images(text, 0, {4096, 9});
  CHECK(whole.images == 2);
  CHECK(whole.weight_images == 3);
  CHECK(check_images(text, 0, {18, 9}).images == 2);
  const ImageRun narrow = check_images(text, 0, {17, 9});
  CHECK(narrow.images == 0);
  CHECK(narrow.weight_images == 2);  // not 8 inner elements times 9 taps, of a texel each
  CHECK(check_images(text, 0, {18, 8}).images == 0);
  CHECK(check_images(text, 0, {0, 0}).images == 0);
}

TEST_CASE("images: pools, sums, pieces and what reads them as elements") {
  const ImageRun result = check_images(R"(graph "g" {
    %x = input "x" : f32[1x8x10x10]
    %w = constant {seed 1} : f32[8x8x3x3]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %p = pool(%c) {kind=max, kernel=[3,3], strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]}
    %q = pool(%c) {kind=average, kernel=[3,3], strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]}
    %k = concat(%p, %q) {axis=1}
    %s = sigmoid(%k)
    %v = constant {seed 2} : f32[4x16x1x1]
    %d = conv(%s, %v) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %m = reduce(%d) {kind=sum, axes=[2,3]}
    output "y" = %m
    output "z" = %k
  })");
  CHECK(result.images >= 4);
}

TEST_CASE("images: along one axis and along three") {
  CHECK(check_images(R"(graph "g" {
    %x = input "x" : f32[2x4x11]
    %w = constant {seed 1} : f32[8x4x3]
    %c = conv(%x, %w) {strides=[1], dilations=[1], pads_begin=[1], pads_end=[1], groups=1}
    %v = constant {seed 2} : f32[4x8x3]
    %d = conv(%c, %v) {strides=[2], dilations=[1], pads_begin=[1], pads_end=[1], groups=1}
    output "y" = %d
  })")
            .images == 1);
  CHECK(check_images(R"(graph "g" {
    %x = input "x" : f32[1x4x5x4x6]
    %w = constant {seed 1} : f32[8x4x3x3x3]
    %c = conv(%x, %w) {strides=[1,1,1], dilations=[1,1,1], pads_begin=[1,1,1], pads_end=[1,1,1], groups=1}
    %v = constant {seed 2} : f32[4x8x3x3x3]
    %d = conv(%c, %v) {strides=[1,1,1], dilations=[1,1,1], pads_begin=[1,1,1], pads_end=[1,1,1], groups=1}
    output "y" = %d
  })")
            .images == 1);
}

TEST_CASE("images: products of matrices") {
  const ImageRun result = check_images(R"(graph "g" {
    %x = input "x" : f32[2x9x12]
    %w = constant {seed 1} : f32[12x20]
    %wr = reshape(%w) {shape=[1,12,20]}
    %wb = broadcast(%wr) {shape=[2,12,20]}
    %a = matmul(%x, %wb)
    %t = tanh(%a)
    %v = constant {seed 2} : f32[20x8]
    %vr = reshape(%v) {shape=[1,20,8]}
    %vb = broadcast(%vr) {shape=[2,20,8]}
    %b = matmul(%t, %vb)
    %r = transpose(%b) {perm=[0,2,1]}
    %c = matmul(%b, %r)
    output "y" = %c
  })");
  CHECK(result.images == 2);
  CHECK(result.weight_images >= 2);
}

TEST_CASE("images: an input of texels") {
  // A camera's RGBA, of which a convolution takes three channels as floats.
  const std::string text = R"(graph "g" {
    %x = input "x" : u8[1x6x7x4]
    %t = transpose(%x) {perm=[0,3,1,2]}
    %s = slice(%t) {begin=[0,0,0,0], extent=[1,3,6,7], step=[1,1,1,1]}
    %f = cast(%s) {to=f32}
    %w = constant {seed 1} : f32[4x3x3x3]
    %c = conv(%f, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    output "y" = %c
  })";
  const ImageRun result = check_images(text, 0, {}, {0});
  CHECK(has_word(result.kernels[0], "image 7 6 7"));
  CHECK(has_word(result.kernels[0], "texel("));
  CHECK_FALSE(has_word(check_images(text, 0, {}, {}).kernels[0], "texel("));
}

TEST_CASE("images: which inputs can be one") {
  using ir::DType;
  CHECK(schedule::input_image({DType::kUInt8, {1, 6, 7, 4}}) == ir::ImageShape{7, 6, 7});
  CHECK(schedule::input_image({DType::kFloat32, {2, 3, 6, 7, 8}}) == ir::ImageShape{14, 36, 14});
  CHECK(schedule::input_image({DType::kFloat16, {6, 28}}) == ir::ImageShape{7, 6, 7});
  CHECK_FALSE(schedule::input_image({DType::kUInt8, {1, 4, 6, 7}}).has_value());
  CHECK_FALSE(schedule::input_image({DType::kInt32, {1, 6, 7, 4}}).has_value());
  CHECK_FALSE(schedule::input_image({DType::kFloat32, {8}}).has_value());
  CHECK_FALSE(schedule::input_image({DType::kUInt8, {1, 6, 0, 4}}).has_value());
  CHECK_FALSE(schedule::input_image({DType::kUInt8, {1 << 17, 7, 4}}).has_value());
}

}  // namespace
}  // namespace camshaft::lower
