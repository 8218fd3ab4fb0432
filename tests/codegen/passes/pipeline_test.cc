// SPDX-License-Identifier: MIT
#include "codegen/passes/pipeline.h"

#include <algorithm>

#include "codegen/passes/rewriter.h"
#include "tests/codegen/support/graph_testing.h"

namespace camshaft::passes {
namespace {

using ir::Graph;
using ir::Op;

// Two convolutions with batch norm as an ONNX reader writes it, an activation, a residual, dead
// code.
Graph network() {
  return ir::graph_from(R"(
    %x = input "x" : f32[1x3x8x8]
    %w1 = constant {seed 1} : f32[4x3x3x3]
    %p = pad(%x) {before=[0,0,1,1], after=[0,0,1,1], mode=constant, value=0}
    %c1 = conv(%p, %w1) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1} "conv1"
    %g1 = constant {seed 2} : f32[4]
    %g1r = reshape(%g1) {shape=[1,4,1,1]}
    %g1b = broadcast(%g1r) {shape=[1,4,8,8]}
    %m1 = mul(%c1, %g1b) "bn1"
    %b1 = constant {seed 3} : f32[4]
    %b1r = reshape(%b1) {shape=[1,4,1,1]}
    %b1b = broadcast(%b1r) {shape=[1,4,8,8]}
    %a1 = add(%m1, %b1b) "bn1"
    %zero = constant {0} : f32[1x1x1x1]
    %zeros = broadcast(%zero) {shape=[1,4,8,8]}
    %r1 = max(%a1, %zeros) "relu1"
    %w2 = constant {seed 4} : f32[4x4x1x1]
    %c2 = conv(%r1, %w2) {strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=1} "conv2"
    %m2 = mul(%c2, %g1b) "bn2"
    %a2 = add(%m2, %b1b) "bn2"
    %s = add(%a2, %r1) "residual"
    %one = constant {splat 1} : f32[1x4x8x8]
    %same = mul(%s, %one)
    %dead = exp(%same)
    output "y" = %same unit "1"
  )");
}

std::vector<Op> ops_of(const Graph& graph) {
  std::vector<Op> ops;
  for (const ir::Node& node : graph.nodes()) {
    if (ir::op_info(node.op).op_class != ir::OpClass::kSource && node.op != Op::kBroadcast) {
      ops.push_back(node.op);
    }
  }
  return ops;
}

Graph run(const Graph& graph, const PipelineOptions& options = {}) {
  auto result = run_pipeline(graph, options);
  REQUIRE(result.has_value());
  REQUIRE(verify_graph(*result).is_ok());
  return std::move(result).value();
}

TEST_CASE("a network comes out with a convolution, a bias and an activation a layer") {
  const Graph before = network();
  const Graph after = run(before);
  INFO(print_graph(after, false));
  CHECK(ops_of(after) ==
        std::vector<Op>{Op::kConv, Op::kAdd, Op::kMax, Op::kConv, Op::kAdd, Op::kAdd});
  CHECK(after.outputs.at(0).unit == "1");
  const auto inputs = ir::seeded_inputs(before, 5);
  const auto expected = ir::run_all(before, inputs).at(0).floats;
  const auto actual = ir::run_all(after, inputs).at(0).floats;
  for (size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(actual.at(i) == Approx(expected[i]).epsilon(1e-6).margin(1e-6));
  }
}

TEST_CASE("the result is settled and the same each time") {
  const Graph after = run(network());
  CHECK(equal_graphs(after, run(network())));
  CHECK(equal_graphs(after, run(after)));
}

TEST_CASE("passes are reported in order, with what they did") {
  std::vector<PassReport> report;
  PipelineOptions options;
  options.report = &report;
  options.verify = true;
  run(network(), options);
  const std::vector<std::string_view> names = pass_names();
  REQUIRE(report.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    CHECK(report[i].name == names[i]);
    CHECK(report[i].runs >= 2);  // the last round changes nothing
    CHECK(report[i].changes < report[i].runs);
  }
  const auto fold = std::find_if(report.begin(), report.end(), [](const PassReport& row) {
    return row.name == "fold_channel_scale";
  });
  CHECK(fold->changes == 1);
}

TEST_CASE("a pass can be left out by name") {
  PipelineOptions options;
  options.disabled = {"fold_channel_scale"};
  std::vector<PassReport> report;
  options.report = &report;
  const std::vector<Op> ops = ops_of(run(network(), options));
  CHECK(std::count(ops.begin(), ops.end(), Op::kMul) == 2);
  CHECK(report.size() == pass_names().size() - 1);
  for (const std::string_view name : pass_names()) {
    options.disabled = {std::string(name)};
    run(network(), options);
  }
}

TEST_CASE("an unknown name is refused with the list") {
  PipelineOptions options;
  options.disabled = {"fold_bananas"};
  const uint64_t before = base::log_sequence();
  const auto result = run_pipeline(network(), options);
  CHECK(result.error().code() == base::Code::kInvalidArgument);
  const auto lines = base::log_lines_after(before);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].text.find("'fold_bananas'") != std::string::npos);
  CHECK(lines[0].text.find("fold_constants") != std::string::npos);
}

TEST_CASE("changes are shown as they happen") {
  PipelineOptions options;
  std::vector<std::string> shown;
  std::string last;
  options.dump = [&](std::string_view pass, const Graph& graph) {
    shown.emplace_back(pass);
    CHECK(print_graph(graph) != last);
    last = print_graph(graph);
  };
  const Graph after = run(network(), options);
  CHECK(last == print_graph(after));
  CHECK(shown.front() == "remove_dead");
  CHECK(std::count(shown.begin(), shown.end(), "merge_pads") == 1);
}

}  // namespace
}  // namespace camshaft::passes
