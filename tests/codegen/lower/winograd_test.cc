// SPDX-License-Identifier: MIT
#include "codegen/lower/winograd.h"

#include <cmath>

#include "codegen/ir/graph.h"
#include "codegen/lower/winograd_plan.h"
#include "tests/codegen/lower/run_schedule.h"

namespace camshaft::lower {
namespace {

struct DoubleOps {
  using Value = double;
  double mul(double a, double b) { return a * b; }
  double add(double a, double b) { return a + b; }
  double sub(double a, double b) { return a - b; }
  double fma(double a, double b, double c) { return a * b + c; }
};

// The largest error of one-dimensional F(m, 3) with weights of `of_weights`, data of `winograd`.
double line_error(const Winograd& winograd, const Winograd& of_weights) {
  const ir::Literal d = ir::seeded_literal({ir::DType::kFloat32, {winograd.size()}}, 1);
  const ir::Literal g = ir::seeded_literal({ir::DType::kFloat32, {3}}, 2);
  const float* w = g.data<float>();
  DoubleOps ops;
  const std::vector<double> line(d.data<float>(), d.data<float>() + winograd.size());
  std::vector<double> products = transform_input(winograd, ops, line);
  for (size_t i = 0; i < products.size(); ++i) {
    const std::vector<double>& row = of_weights.weights[i];
    products[i] *= row[0] * w[0] + row[1] * w[1] + row[2] * w[2];
  }
  const std::vector<double> outputs = transform_output(winograd, ops, products);
  REQUIRE(outputs.size() == static_cast<size_t>(winograd.outputs));
  double worst = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const double exact = line[i] * w[0] + line[i + 1] * w[1] + line[i + 2] * w[2];
    worst = std::max(worst, std::abs(outputs[i] - exact));
  }
  return worst;
}

TEST_CASE("Winograd's transforms give the convolution") {
  for (const int64_t outputs : kWinogradOutputs) {
    const Winograd winograd = make_winograd(outputs);
    CAPTURE(outputs);
    CHECK(winograd.size() == outputs + 2);
    CHECK(line_error(winograd, winograd) < 1e-14);
  }
  // Weights for other points don't.
  Winograd other = make_winograd(4);
  other.weights = make_winograd(6).weights;
  CHECK(line_error(make_winograd(4), other) > 1e-2);
}

TEST_CASE("the points are exact in float32") {
  for (const int64_t outputs : kWinogradOutputs) {
    const Winograd winograd = make_winograd(outputs);
    for (const double point : winograd.points) {
      for (int64_t power = 1; power < outputs; ++power) {
        const double value = std::pow(point, static_cast<double>(power));
        CAPTURE(outputs, point, power);
        CHECK(static_cast<double>(static_cast<float>(value)) == value);
      }
    }
    for (int64_t skipped = -1; skipped < winograd.pairs(); ++skipped) {
      for (const double value : product_of_squares(winograd, skipped)) {
        CHECK(static_cast<double>(static_cast<float>(value)) == value);
      }
    }
  }
}

TEST_CASE("larger tiles lose more accuracy, within what is known of each") {
  const ir::Literal weights = ir::seeded_literal({ir::DType::kFloat32, {40, 64, 3, 3}}, 3);
  std::vector<double> errors;
  for (const int64_t outputs : kWinogradOutputs) {
    errors.push_back(winograd_error(make_winograd(outputs), weights.data<float>(), 40, 64));
  }
  CHECK(errors[0] > 1e-8);
  CHECK(errors[0] < 4e-7);
  CHECK(errors[1] > errors[0]);
  CHECK(errors[1] < 1.2e-6);
  CHECK(errors[2] > errors[1]);
  CHECK(errors[2] < 6e-6);
  // The usual points are worse than those chosen here.
  Winograd usual = make_winograd(4);
  usual.points = {1.0, 2.0};
  usual.weights = {{1.0 / 4, 0, 0},
                   {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                   {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                   {1.0 / 24, 1.0 / 12, 1.0 / 6},
                   {1.0 / 24, -1.0 / 12, 1.0 / 6},
                   {0, 0, 1}};
  CHECK(winograd_error(usual, weights.data<float>(), 40, 64) > 1.3 * errors[1]);
}

struct Case {
  int batch, in, out, height, width, pad_top, pad_left, pad_bottom, pad_right;
};

// A pointwise convolution, the 3x3 one, bias, residual and activation, and a pointwise one, so that
// both sides of the 3x3 one are blocked.
std::string graph_text(const Case& c) {
  const int out_h = c.height + c.pad_top + c.pad_bottom - 2;
  const int out_w = c.width + c.pad_left + c.pad_right - 2;
  char text[2000];
  std::snprintf(text, sizeof text, R"(graph "g" {
    %%x = input "x" : f32[%dx%dx%dx%d]
    %%r = input "r" : f32[%dx%dx%dx%d]
    %%w0 = constant {seed 3} : f32[%dx%dx1x1]
    %%x0 = conv(%%x, %%w0) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    %%w = constant {seed 4} : f32[%dx%dx3x3]
    %%b = constant {seed 5} : f32[1x%dx1x1]
    %%c = conv(%%x0, %%w) {strides=[1,1], dilations=[1,1], pads_begin=[%d,%d], pads_end=[%d,%d], groups=1}
    %%bb = broadcast(%%b) {shape=[%d,%d,%d,%d]}
    %%cb = add(%%c, %%bb)
    %%s = add(%%cb, %%r)
    %%a = tanh(%%s)
    %%wl = constant {seed 6} : f32[8x%dx1x1]
    %%l = conv(%%a, %%wl) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1}
    output "y" = %%l
  })",
                c.batch, c.in, c.height, c.width, c.batch, c.out, out_h, out_w, c.in, c.in, c.out,
                c.in, c.out, c.pad_top, c.pad_left, c.pad_bottom, c.pad_right, c.batch, c.out,
                out_h, out_w, c.out);
  return text;
}

// Runs the graph with the 3x3 convolution lowered by these knobs for so many threads.
void check_knobs(const ir::Graph& graph, const std::vector<ir::Literal>& inputs, int32_t block,
                 const std::function<void(const Task&, Knobs&)>& choose, int threads,
                 double tolerance = 2e-5) {
  const Schedule schedule = schedule::make_schedule(graph, {block, true});
  const CpuTarget target = test_target(block == 16 ? 64 : block == 8 ? 32 : 16);
  int found = 0;
  const ScheduleRun run = run_schedule(schedule, inputs, target, [&](const Task& plain) {
    const Task task{plain.schedule, plain.region, plain.target, threads};
    const Strategy* strategy = find_strategy("conv_winograd");
    if (!strategy->matches(task)) return lower_region(task);
    ++found;
    Knobs knobs = strategy->knobs(task).front();
    choose(task, knobs);
    return strategy->emit(task, knobs);
  });
  CHECK(found == 1);
  check_against_oracle(graph, inputs, run.outputs, tolerance);
}

TEST_CASE("Winograd convolutions match the oracle: sizes, pads, tiles, blocks, threads") {
  const Case cases[] = {
      {1, 8, 16, 12, 12, 1, 1, 1, 1}, {2, 16, 8, 7, 9, 1, 1, 1, 1}, {1, 16, 24, 5, 14, 0, 0, 0, 0},
      {1, 8, 8, 6, 3, 2, 2, 2, 2},    {3, 8, 16, 4, 4, 0, 1, 1, 0}, {1, 24, 8, 13, 11, 1, 0, 2, 3},
      {1, 8, 40, 1, 1, 1, 1, 1, 1},   {1, 8, 8, 2, 19, 3, 1, 4, 1},
  };
  for (const Case& c : cases) {
    const std::string text = graph_text(c);
    CAPTURE(text);
    const auto graph = ir::parse_graph(text);
    REQUIRE(graph.has_value());
    const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
    for (const int32_t outputs : {2, 4, 6}) {
      WinogradConv sizes;
      sizes.batch = c.batch;
      sizes.rows.out = c.height + c.pad_top + c.pad_bottom - 2;
      sizes.columns.out = c.width + c.pad_left + c.pad_right - 2;
      for (const int64_t block : {int64_t{3}, sizes.tiles(outputs)}) {
        for (const int threads : {1, 2, 4}) {
          CAPTURE(outputs, block, threads);
          check_knobs(
              *graph, inputs, 8,
              [&](const Task&, Knobs& knobs) {
                knobs.winograd = outputs;
                knobs.block = static_cast<int32_t>(block);
                knobs.pixels = std::min<int32_t>(2, knobs.block);
                knobs.vectors = threads == 2 ? 1 : 2;
              },
              threads, outputs == 6 ? 8e-5 : 2e-5);
        }
      }
    }
  }
}

TEST_CASE("Winograd convolutions with other vector widths, and with the chosen knobs") {
  const auto graph = ir::parse_graph(graph_text({1, 32, 48, 17, 18, 1, 1, 1, 1}));
  REQUIRE(graph.has_value());
  const std::vector<ir::Literal> inputs = seeded_inputs(*graph);
  for (const int32_t block : {4, 8, 16}) {
    CAPTURE(block);
    check_knobs(*graph, inputs, block, [](const Task&, Knobs&) {}, 1);
    check_knobs(*graph, inputs, block, [](const Task&, Knobs&) {}, 3);
  }
}

// The strategy of the 3x3 convolution and its knobs.
LoweredKernel chosen(const Case& c, int32_t block = 8) {
  const auto graph = ir::parse_graph(graph_text(c));
  REQUIRE(graph.has_value());
  const Schedule schedule = schedule::make_schedule(*graph, {block, true});
  const CpuTarget target = test_target();
  return lower_region({schedule, schedule.regions.at(1), target});
}

TEST_CASE("Winograd is chosen where it pays and its error is bounded") {
  const LoweredKernel large = chosen({1, 64, 64, 56, 56, 1, 1, 1, 1});
  CHECK(large.strategy == "conv_winograd");
  CHECK(large.knobs.winograd == 4);
  // Too few channels, and no blocked layout.
  CHECK(chosen({1, 8, 8, 24, 24, 1, 1, 1, 1}).strategy == "conv_direct");
  CHECK(chosen({1, 64, 64, 24, 24, 1, 1, 1, 1}, 1).strategy == "conv_direct");
}

TEST_CASE("work is cut among threads: blocks first, then output channels") {
  WinogradConv conv;
  conv.rows.out = conv.columns.out = 16;
  conv.in_channels = conv.out_channels = 64;
  const auto cut = [&](int block, int threads) {
    Knobs knobs;
    knobs.winograd = 4;
    knobs.block = block;
    return cut_winograd(conv, knobs, threads);
  };
  CHECK(cut(16, 1).blocks == 1);
  CHECK(cut(4, 1).chunks == 1);
  CHECK(cut(4, 2).chunks == 2);
  CHECK(cut(4, 2).groups == 1);
  CHECK(cut(16, 2).groups == 2);
  CHECK(cut(6, 2).groups == 2);   // three blocks: two threads share each
  CHECK(cut(16, 3).groups == 1);  // 8 vectors can't be dealt out to three
}

}  // namespace
}  // namespace camshaft::lower
