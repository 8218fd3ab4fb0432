// SPDX-License-Identifier: MIT
// Convolutions by matrix registers, on the interpreter, against the oracle.
#include "codegen/lower/matrix_conv.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

CpuTarget matrix_target() {
  CpuTarget target = test_target(64);
  target.matrices = true;
  return target;
}

// What a case varies.
struct Case {
  std::string x;        // shape of the input
  std::string w;        // of the weights
  std::string strides;  // attributes by axis
  std::string dilations;
  std::string begin;
  std::string end;
  std::string epilogue = "%o = cast(%c) {to=bf16}\n";  // %c -> %o
};

// A max pool of one pixel, which is exact, brings input and output into blocks.
std::string graph_of(const Case& c) {
  const bool is_line = c.strides.find(',') == std::string::npos;
  const std::string ones = is_line ? "[1]" : "[1,1]";
  const std::string zeros = is_line ? "[0]" : "[0,0]";
  const std::string pool = ") {kind=max, kernel=" + ones + ", strides=" + ones +
                           ", dilations=" + ones + ", pads_begin=" + zeros + ", pads_end=" + zeros +
                           "}\n";
  return "graph \"g\" {\n%x = input \"x\" : bf16" + c.x + "\n%p = pool(%x" + pool +
         "%w = constant {seed 1} : bf16" + c.w + "\n%c = conv(%p, %w) {strides=" + c.strides +
         ", dilations=" + c.dilations + ", pads_begin=" + c.begin + ", pads_end=" + c.end +
         ", groups=1}\n" + c.epilogue + "%q = pool(%o" + pool + "output \"y\" = %q\n}";
}

// Runs with each of a strategy's knobs, for some numbers of threads; bf16 results may differ in
// their last place.
void check_strategy(const char* name, const Case& c, int32_t block, int threads, int64_t l2_bytes) {
  CAPTURE(name, c.x, c.w, block, threads);
  const auto graph = ir::parse_graph(graph_of(c));
  REQUIRE(graph.has_value());
  const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
  const Schedule schedule = schedule::make_schedule(*graph, {block, true});
  CpuTarget target = matrix_target();
  target.l2_bytes = l2_bytes;
  target.l1_bytes = static_cast<int32_t>(l2_bytes / 16);
  size_t knobs = 1;
  for (size_t k = 0; k < knobs; ++k) {
    bool ran = false;
    const ScheduleRun run = run_schedule(schedule, inputs, target, [&](const Task& task) {
      const Task shared{task.schedule, task.region, task.target, threads};
      if (!task.has_root(ir::Op::kConv)) return lower_region(shared);
      const Strategy* strategy = find_strategy(name);
      REQUIRE(strategy->matches(shared));
      const std::vector<Knobs> ranked = strategy->knobs(shared);
      knobs = ranked.size();
      ran = true;
      return strategy->emit(shared, ranked[k]);
    });
    CHECK(ran);
    check_against_oracle(*graph, inputs, run.outputs, 8e-3);
  }
}

void check_case(const Case& c, int32_t block, int threads = 1, int64_t l2_bytes = 512 << 10) {
  check_strategy("conv_matrix", c, block, threads, l2_bytes);
}

// A pointwise convolution, of which the output has its channels one after another.
Case pointwise(const std::string& x, const std::string& w, const std::string& epilogue = {}) {
  Case c{x, w, "[1,1]", "[1,1]", "[0,0]", "[0,0]"};
  if (!epilogue.empty()) c.epilogue = epilogue;
  return c;
}

void check_planar(const Case& c, int32_t block, int threads = 1, int64_t l2_bytes = 512 << 10) {
  check_strategy("conv_matrix_planar", c, block, threads, l2_bytes);
}

TEST_CASE("pointwise convolutions are read in place") {
  const Case wide{"[1x32x9x11]", "[40x32x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"};
  check_case(wide, 32);
  check_case(wide, 16);
  check_case(wide, 8, 3);
  // Two images, several strips, and sets of output channels that threads share.
  check_case({"[2x64x9x15]", "[96x64x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}, 32, 5);
  check_case({"[1x64x40x40]", "[16x64x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}, 32, 1, 32 << 10);
  // Fewer pixels than a matrix has rows; fewer output channels than columns.
  check_case({"[1x48x2x3]", "[4x48x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}, 16);
  check_case({"[1x32x21]", "[40x32x1]", "[1]", "[1]", "[0]", "[0]"}, 32);
}

TEST_CASE("windows read planes with the padding") {
  check_case({"[1x32x7x9]", "[24x32x3x3]", "[1,1]", "[1,1]", "[1,1]", "[1,1]"}, 32, 2);
  check_case({"[2x16x7x9]", "[40x16x3x3]", "[1,1]", "[1,1]", "[0,2]", "[1,0]"}, 16);
  check_case({"[1x64x5x6]", "[32x64x1x1]", "[2,2]", "[1,1]", "[0,0]", "[0,0]"}, 32);
  check_case({"[1x32x11x10]", "[32x32x3x3]", "[2,2]", "[1,1]", "[1,1]", "[1,1]"}, 32, 4);
  check_case({"[1x32x13x14]", "[8x32x3x2]", "[2,3]", "[2,2]", "[2,1]", "[1,3]"}, 32);
  check_case({"[1x8x6x7]", "[16x8x5x5]", "[1,1]", "[1,1]", "[2,2]", "[2,2]"}, 8);
  check_case({"[1x32x30]", "[24x32x5]", "[2]", "[1]", "[2]", "[1]"}, 32);
  // Padding that reaches far beyond the image.
  check_case({"[1x32x2x3]", "[16x32x3x3]", "[1,1]", "[1,1]", "[4,5]", "[4,5]"}, 32);
  // Several strips of rows.
  check_case({"[1x128x40x30]", "[16x128x3x3]", "[1,1]", "[1,1]", "[1,1]", "[1,1]"}, 32);
}

TEST_CASE("channels that don't lie together are brought together") {
  // One after another, in fours and eights; a last block with fewer; in two images.
  check_case({"[2x58x7x9]", "[58x58x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}, 32, 3);
  check_case({"[1x116x5x6]", "[24x116x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}, 32);
  check_case({"[1x232x4x7]", "[232x232x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}, 32, 2);
  check_case({"[1x232x4x7]", "[40x232x1x1]", "[2,2]", "[1,1]", "[0,0]", "[0,0]"}, 32);
  check_case({"[1x6x9x14]", "[16x6x3x3]", "[2,2]", "[1,1]", "[1,1]", "[1,1]"}, 32, 2);
  check_case({"[1x35x6x7]", "[17x35x3x3]", "[1,1]", "[1,1]", "[1,1]", "[1,1]"}, 32);
  check_case({"[1x48x6x7]", "[40x48x3x3]", "[1,1]", "[2,2]", "[2,2]", "[2,2]"}, 32);
  check_case({"[1x33x21]", "[40x33x1]", "[1]", "[1]", "[0]", "[0]"}, 32);
}

TEST_CASE("planar outputs take rows of pixels") {
  // Inputs that are planar too: an even and an odd number of channels, two images, matrices of
  // pixels that are whole and such that begin inside the one before.
  check_planar(pointwise("[1x58x4x8]", "[58x58x1x1]"), 32);
  check_planar(pointwise("[2x58x7x9]", "[59x58x1x1]"), 32, 3);
  check_planar(pointwise("[1x35x6x7]", "[17x35x1x1]"), 32);
  // Inputs in blocks.
  check_planar(pointwise("[1x24x8x9]", "[58x24x1x1]"), 8);
  check_planar(pointwise("[2x32x5x5]", "[35x32x1x1]"), 32, 2);
  check_planar(pointwise("[1x116x5x6]", "[33x116x1x1]"), 4);
  // Fewer pixels than a matrix has columns, fewer output channels than rows.
  check_planar(pointwise("[1x33x2x3]", "[9x33x1x1]"), 32);
  check_planar({"[1x33x21]", "[41x33x1]", "[1]", "[1]", "[0]", "[0]"}, 32);
  // Several strips: of a number of matrices that they divide, and of another.
  check_planar(pointwise("[1x58x20x24]", "[25x58x1x1]"), 32, 1, 64 << 10);
  check_planar(pointwise("[2x58x19x23]", "[25x58x1x1]"), 32, 1, 64 << 10);
  // Threads that share sets of output channels.
  check_planar(pointwise("[1x33x3x3]", "[145x33x1x1]"), 32, 4);
}

TEST_CASE("threads that share sets of output channels share all of them once") {
  const auto extent = [](const char* name, const char* w) {
    const auto graph = ir::parse_graph(graph_of(pointwise("[1x33x1x9]", w)));
    REQUIRE(graph.has_value());
    const Schedule schedule = schedule::make_schedule(*graph, {32, true});
    int64_t iterations = 0;
    run_schedule(schedule, seeded_inputs(*graph), matrix_target(), [&](const Task& task) {
      if (!task.has_root(ir::Op::kConv)) return lower_region(task);
      const Task shared{task.schedule, task.region, task.target, 4};
      Knobs knobs = find_strategy(name)->knobs(shared).front();
      knobs.pixels = knobs.vectors = 1;
      LoweredKernel kernel = find_strategy(name)->emit(shared, knobs);
      iterations = kernel.kernel.thread_extent;
      return kernel;
    });
    return iterations;
  };
  // Of five sets by four threads two each are for three.
  for (const char* name : {"conv_matrix", "conv_matrix_planar"}) {
    CHECK(extent(name, "[65x33x1x1]") == 3);
    CHECK(extent(name, "[49x33x1x1]") == 4);
  }
}

// How a convolution would be done, if it would.
std::optional<MatrixConv> conv_of(const Case& c) {
  CAPTURE(c.x, c.w);
  const auto graph = ir::parse_graph(graph_of(c));
  REQUIRE(graph.has_value());
  const Schedule schedule = schedule::make_schedule(*graph, {32, true});
  std::optional<MatrixConv> conv;
  run_schedule(schedule, seeded_inputs(*graph), matrix_target(), [&](const Task& task) {
    if (task.has_root(ir::Op::kConv)) conv = find_matrix_conv(task);
    return lower_region(task);
  });
  return conv;
}

TEST_CASE("few channels are read as rows of taps of pairs") {
  const std::vector<Case> cases = {
      {"[1x3x11x12]", "[24x3x3x3]", "[2,2]", "[1,1]", "[1,1]", "[1,1]"},
      {"[2x3x13x40]", "[16x3x7x7]", "[2,2]", "[1,1]", "[3,3]", "[3,3]"},
      {"[1x1x9x35]", "[17x1x3x3]", "[1,1]", "[1,1]", "[1,1]", "[1,1]"},
      {"[2x5x10x9]", "[8x5x3x4]", "[2,3]", "[1,1]", "[0,2]", "[2,1]"},
      {"[1x3x14x17]", "[33x3x5x5]", "[1,2]", "[2,1]", "[4,2]", "[4,2]"},
      {"[1x3x40]", "[16x3x9]", "[2]", "[1]", "[4]", "[4]"},
      // Padding beyond the image, and an image smaller than a matrix.
      {"[1x3x2x3]", "[16x3x3x3]", "[1,1]", "[1,1]", "[4,5]", "[4,5]"},
      {"[1x3x9x7]", "[16x3x3x3]", "[2,2]", "[1,1]", "[1,1]", "[0,0]"}};
  for (const Case& c : cases) {
    CAPTURE(c.x, c.w);
    const auto conv = conv_of(c);
    REQUIRE(conv.has_value());
    CHECK(conv->in_pairs);
    check_case(c, 32);
    check_case(c, 32, 3, 16 << 10);  // several strips
  }
  // Where the products would be fuller, or no fewer, they are of channels.
  const auto in_pairs = [](const Case& c) {
    const auto conv = conv_of(c);
    return conv.has_value() && conv->in_pairs;
  };
  CHECK_FALSE(in_pairs({"[1x33x9x9]", "[160x33x3x3]", "[1,1]", "[1,1]", "[1,1]", "[1,1]"}));
  CHECK_FALSE(in_pairs({"[1x3x9x9]", "[16x3x3x3]", "[1,1]", "[1,2]", "[1,1]", "[1,1]"}));
  CHECK_FALSE(in_pairs({"[1x3x9x9]", "[16x3x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}));
  CHECK_FALSE(in_pairs({"[1x3x9x9]", "[4x3x3x3]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}));
  CHECK_FALSE(in_pairs({"[1x3x4x40]", "[16x3x1x17]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"}));
}

TEST_CASE("few columns are read in place, many from planes") {
  const auto pointwise_of = [](const std::string& x, const std::string& w) {
    const auto conv = conv_of(pointwise(x, w));
    REQUIRE(conv);
    return *conv;
  };
  CHECK(pointwise_of("[1x72x8x8]", "[24x72x1x1]").in_place);
  CHECK(pointwise_of("[1x72x8x8]", "[24x72x1x1]").block == 8);
  CHECK(pointwise_of("[1x64x8x8]", "[640x64x1x1]").in_place);
  CHECK_FALSE(pointwise_of("[1x72x8x8]", "[240x72x1x1]").in_place);
  CHECK(pointwise_of("[1x72x8x8]", "[240x72x1x1]").block == 32);
  CHECK(pointwise_of("[1x6x8x8]", "[16x6x3x3]").in_pairs);
  CHECK(pointwise_of("[1x12x8x8]", "[16x12x3x3]").block == 16);
}

TEST_CASE("the epilogue is fused: an addition of another value, an activation") {
  const std::string epilogue =
      "%r = input \"r\" : f32[1x40x9x11]\n%s = add(%c, %r)\n%z = constant {splat 0} : "
      "f32[1x40x9x11]\n%m = max(%s, %z)\n%o = cast(%m) {to=bf16}\n";
  check_case({"[1x32x9x11]", "[40x32x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]", epilogue}, 32);
  check_case({"[1x32x9x11]", "[40x32x3x3]", "[1,1]", "[1,1]", "[1,1]", "[1,1]", epilogue}, 32);
  const std::string planar =
      "%r = input \"r\" : f32[1x41x9x11]\n%s = add(%c, %r)\n%z = constant {splat 0} : "
      "f32[1x41x9x11]\n%m = max(%s, %z)\n%o = cast(%m) {to=bf16}\n";
  check_planar(pointwise("[1x32x9x11]", "[41x32x1x1]", planar), 32);
}

TEST_CASE("what has no matrices is left to other strategies") {
  const auto strategies = [](const Case& c, const CpuTarget& target, int32_t block) {
    const auto graph = ir::parse_graph(graph_of(c));
    REQUIRE(graph.has_value());
    const Schedule schedule = schedule::make_schedule(*graph, {block, true});
    return run_schedule(schedule, seeded_inputs(*graph), target).strategies.at(1);
  };
  const Case wide = pointwise("[1x32x9x11]", "[40x32x1x1]");
  CHECK(strategies(wide, matrix_target(), 32) == "conv_matrix");
  CHECK(strategies(wide, test_target(64), 32) == "conv_direct");
  CHECK(strategies(wide, matrix_target(), 1) == "conv_matrix_planar");
  CHECK(strategies(pointwise("[1x32x9x11]", "[41x32x1x1]"), matrix_target(), 32) ==
        "conv_matrix_planar");
  const Case few_columns{"[1x33x9x11]", "[4x33x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"};
  CHECK(strategies(few_columns, matrix_target(), 32) != "conv_matrix");
  const Case few{"[1x4x9x11]", "[40x4x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"};
  CHECK(strategies(few, matrix_target(), 32) == "conv_direct");
  const Case pixel{"[1x32x1x2]", "[40x32x1x1]", "[1,1]", "[1,1]", "[0,0]", "[0,0]"};
  CHECK(strategies(pixel, matrix_target(), 32) == "conv_direct");
}

}  // namespace
}  // namespace camshaft::lower
