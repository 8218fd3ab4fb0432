// SPDX-License-Identifier: MIT
#include "codegen/emit/compile.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

#include "codegen/emit/weights.h"
#include "codegen/ir/oracle.h"
#include "devices/registry.h"
#include "runtime/base/log_ring.h"
#include "runtime/plan/reader.h"
#include "runtime/session/session.h"
#include "tests/codegen/support/graph_testing.h"
#include "tests/support/last_sentence.h"

namespace camshaft::emit {
namespace {

constexpr const char* kBody = R"(
    %x = input "x" : f32[1x6x20x24]
    %w = constant {seed 1} : f32[16x6x3x3]
    %c = conv(%x, %w) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %s = sigmoid(%c)
    %m = mul(%c, %s)
    %d = constant {seed 2} : f32[16x1x3x3]
    %e = conv(%m, %d) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=16}
    %p = reduce(%e) {kind=sum, axes=[2,3]}
    %f = reshape(%p) {shape=[1,16]}
    %g = constant {seed 3} : f32[16x10]
    %y = matmul(%f, %g)
    output "y" = %y
    output "e" = %e
)";

plan::PlanContents compile(const ir::Graph& graph, const CompileOptions& options,
                           CompileReport* report = nullptr) {
  const uint64_t before = base::log_sequence();
  auto contents = compile_graph(graph, "digest", options, report);
  for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
  REQUIRE(contents.has_value());
  return std::move(contents).value();
}

CompileOptions options_for(std::vector<std::string> targets) {
  CompileOptions options;
  options.targets = std::move(targets);
  return options;
}

// All outputs' bytes of one run of `target`.
std::vector<std::vector<std::byte>> run(const std::vector<std::byte>& file, std::string_view target,
                                        const std::vector<ir::OracleTensor>& inputs) {
  const uint64_t before = base::log_sequence();
  auto plan = plan::PlanFile::from_bytes(file, {});
  auto device = hal::open_device(devices::backends(), "cpu", {});
  REQUIRE(plan.has_value());
  REQUIRE(device.has_value());
  session::SessionOptions options;
  options.target = target;
  auto session = session::Session::open(*plan, **device, options);
  for (const base::LogLine& line : base::log_lines_after(before)) UNSCOPED_INFO(line.text);
  REQUIRE(session.has_value());
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const ir::Literal literal = ir::to_literal(inputs[i]);
    auto span = (*session)->input_span(i);
    REQUIRE(span.has_value());
    REQUIRE(span->size() == literal.bytes.size());
    std::memcpy(span->data(), literal.bytes.data(), literal.bytes.size());
  }
  REQUIRE((*session)->run({}).has_value());
  std::vector<std::vector<std::byte>> outputs;
  for (uint32_t i = 0; i < (*session)->info().outputs.size(); ++i) {
    const auto bytes = (*session)->output(i);
    REQUIRE(bytes.has_value());
    outputs.emplace_back(bytes->begin(), bytes->end());
  }
  return outputs;
}

TEST_CASE("a graph compiled for both targets runs to the oracle's result, with equal bits") {
  const ir::Graph graph = ir::graph_from(kBody);
  CompileReport report;
  const plan::PlanContents contents = compile(graph, options_for({"llvm", "cpu"}), &report);
  REQUIRE(report.targets.size() == 2);
  CHECK(report.targets[0].strategies.at("conv_direct") == 2);
  CHECK(contents.info.targets[0].weights_section == contents.info.targets[1].weights_section);
  const auto file = plan::write_plan(contents);
  REQUIRE(file.has_value());
  const auto inputs = ir::seeded_inputs(graph, 7);
  const auto expected = ir::run_all(graph, inputs);
  const auto llvm = run(*file, contents.info.targets[0].target, inputs);
  CHECK(llvm == run(*file, contents.info.targets[1].target, inputs));
  CHECK(llvm != run(*file, contents.info.targets[0].target, ir::seeded_inputs(graph, 8)));
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto* got = reinterpret_cast<const float*>(llvm[i].data());
    for (size_t e = 0; e < expected[i].floats.size(); ++e) {
      CHECK(got[e] == Approx(expected[i].floats[e]).epsilon(1e-5).margin(1e-5));
    }
  }
}

TEST_CASE("a Winograd convolution: its scratch is in the arena, its error in the report") {
  const ir::Graph graph = ir::graph_from(R"(
    %x = input "x" : f32[1x3x30x22]
    %a = constant {seed 1} : f32[32x3x3x3]
    %c = conv(%x, %a) {strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %b = constant {seed 2} : f32[48x32x3x3]
    %d = conv(%c, %b) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %e = tanh(%d)
    output "y" = %e
  )");
  const auto inputs = ir::seeded_inputs(graph, 7);
  const std::vector<double> expected = ir::run_all(graph, inputs).at(0).floats;
  std::vector<std::vector<std::byte>> of_one_thread;
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    CompileOptions options = options_for({"llvm", "cpu"});
    options.threads = threads;
    CompileReport report;
    const plan::PlanContents contents = compile(graph, options, &report);
    for (const TargetReport& target : report.targets) {
      CHECK(target.strategies.at("conv_winograd") == 1);
      CHECK(target.winograd_error > 1e-8);
      CHECK(target.winograd_error < 2e-6);
    }
    const auto& blocks = contents.info.targets[0].arena_blocks;
    CHECK(std::count_if(blocks.begin(), blocks.end(), [](const plan::ArenaBlock& block) {
            return block.name.starts_with("scratch of ");
          }) == 2);
    const auto file = plan::write_plan(contents);
    REQUIRE(file.has_value());
    const auto llvm = run(*file, contents.info.targets[0].target, inputs);
    CHECK(llvm == run(*file, contents.info.targets[1].target, inputs));
    if (threads == 1) of_one_thread = llvm;
    CHECK(llvm == of_one_thread);
    const auto* got = reinterpret_cast<const float*>(llvm[0].data());
    for (size_t e = 0; e < expected.size(); ++e) {
      REQUIRE(got[e] == Approx(expected[e]).epsilon(1e-4).margin(1e-4));
    }
  }
}

TEST_CASE("steps that read rows of inputs and outputs in place share a kernel") {
  const ir::Graph graph = ir::graph_from(R"(
    %x = input "x" : f32[4x1x16]
    %w = constant {seed 1} : f32[16x16]
    %f = reshape(%x) {shape=[4,16]}
    %p = matmul(%f, %w)
    %x0 = slice(%x) {begin=[1,0,0], extent=[1,1,16], step=[1,1,1]}
    %x1 = slice(%x) {begin=[3,0,0], extent=[1,1,16], step=[1,1,1]}
    %p0 = slice(%p) {begin=[1,0], extent=[1,16], step=[1,1]}
    %p1 = slice(%p) {begin=[3,0], extent=[1,16], step=[1,1]}
    %y0 = tanh(%x0)
    %y1 = tanh(%x1)
    %q0 = tanh(%p0)
    %q1 = tanh(%p1)
    output "p" = %p
    output "y0" = %y0
    output "y1" = %y1
    output "q0" = %q0
    output "q1" = %q1
  )");
  CompileReport report;
  const plan::PlanContents contents = compile(graph, options_for({"llvm"}), &report);
  CHECK(report.targets[0].regions == 5);
  CHECK(report.targets[0].kernels == 2);
  const auto file = plan::write_plan(contents);
  REQUIRE(file.has_value());
  const auto inputs = ir::seeded_inputs(graph, 7);
  const auto expected = ir::run_all(graph, inputs);
  const auto outputs = run(*file, contents.info.targets[0].target, inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto* got = reinterpret_cast<const float*>(outputs[i].data());
    for (size_t e = 0; e < expected[i].floats.size(); ++e) {
      CHECK(got[e] == Approx(expected[i].floats[e]).epsilon(1e-5).margin(1e-5));
    }
  }
}

TEST_CASE("the same graph and options give the same bytes, other options other bytes") {
  const ir::Graph graph = ir::graph_from(kBody);
  const auto first = plan::write_plan(compile(graph, options_for({"llvm"})));
  const auto second = plan::write_plan(compile(graph, options_for({"llvm"})));
  CompileOptions unfused = options_for({"llvm"});
  unfused.fuse = false;
  const auto third = plan::write_plan(compile(graph, unfused));
  REQUIRE((first.has_value() && second.has_value() && third.has_value()));
  CHECK(*first == *second);
  CHECK(*first != *third);
}

TEST_CASE("a target given twice is refused by name") {
  const CompileOptions options = options_for({"llvm:x86-64-v3", "cpu:x86-64-v3", "llvm:x86-64-v3"});
  const auto contents = compile_graph(ir::graph_from(kBody), "digest", options, nullptr);
  REQUIRE_FALSE(contents.has_value());
  CHECK(contents.error().code() == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("both are llvm:x86-64-v3") != std::string::npos);
}

TEST_CASE("a forced strategy is used where it matches") {
  CompileOptions options = options_for({"llvm"});
  options.force_strategy = "fallback";
  CompileReport report;
  compile(ir::graph_from(kBody), options, &report);
  CHECK(report.targets.at(0).strategies.at("fallback") == 3);
}

TEST_CASE("a report tells which targets only store a narrow dtype") {
  const auto only_stores = [](ir::DType dtype, const char* target) {
    CompileOptions options = options_for({target});
    options.float_dtype = dtype;
    CompileReport report;
    compile(ir::graph_from(kBody), options, &report);
    return report.targets.at(0).only_stores_dtype;
  };
  CHECK(only_stores(ir::DType::kBFloat16, "cpu:znver3"));
  CHECK(only_stores(ir::DType::kFloat16, "cpu:znver3"));
  CHECK(only_stores(ir::DType::kBFloat16, "cpu:cascadelake"));
  CHECK(only_stores(ir::DType::kFloat16, "cpu:sapphirerapids"));
  CHECK_FALSE(only_stores(ir::DType::kBFloat16, "cpu:sapphirerapids"));
  CHECK_FALSE(only_stores(ir::DType::kFloat32, "cpu:znver3"));
  CHECK_FALSE(only_stores(ir::DType::kFloat16, "opencl"));
}

TEST_CASE("unknown targets and models without outputs are refused with a sentence") {
  const uint64_t before = base::log_sequence();
  CHECK_FALSE(compile_graph(ir::graph_from(kBody), "", options_for({"llvm:no-such-cpu"}), nullptr)
                  .has_value());
  ir::Graph empty;
  empty.add_input("x", {ir::DType::kFloat32, {1}});
  CHECK(compile_graph(empty, "", options_for({"llvm"}), nullptr).error().code() ==
        base::Code::kInvalidArgument);
  const auto lines = base::log_lines_after(before);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].text.find("no-such-cpu") != std::string::npos);
  CHECK(lines[1].text.find("no outputs") != std::string::npos);
}

base::Code code_of(const ir::Graph& graph) {
  const auto contents = compile_graph(graph, "", options_for({"llvm"}), nullptr);
  return contents ? base::Code::kOk : contents.error().code();
}

TEST_CASE("names with control characters are shown without, and refused where a user gives them") {
  ir::Graph graph;
  graph.name = "a\nb\x1b";
  const ir::NodeId x = graph.add_input("x", {ir::DType::kFloat32, {4}});
  graph.add_output("y", graph.add(ir::Op::kTanh, {x}, {}, "n\t1"));
  const plan::PlanContents contents = compile(graph, options_for({"llvm"}));
  CHECK(contents.info.model_name == "a?b?");
  CHECK(plan::write_plan(contents).has_value());
  graph.inputs[0].name = "x\n";
  CHECK(code_of(graph) == base::Code::kInvalidArgument);
  CHECK(test::last_sentence().find("input 'x?' has control characters") != std::string::npos);
}

TEST_CASE("tensors of more dimensions than a plan can hold are refused by name") {
  const auto copy = [](int rank) {
    ir::Graph graph;
    const ir::NodeId x =
        graph.add_input("x", {ir::DType::kFloat32, ir::Shape(static_cast<size_t>(rank), 1)});
    graph.add_output("y", x);
    return graph;
  };
  CHECK(code_of(copy(plan::kMaxRank)) == base::Code::kOk);
  CHECK(code_of(copy(plan::kMaxRank + 1)) == base::Code::kUnsupported);
  CHECK(test::last_sentence().find("input 'x' has 33 dimensions") != std::string::npos);
}

TEST_CASE(
    "outputs whose extents depend on data know their counts, and what says they are too many") {
  ir::Graph graph = ir::graph_from(R"(
    %x = input "x" : f32[4x3]
    %n = input "n" : i64[1]
    %e = input "e" : bool[]
    %y = tanh(%x)
    output "other" = %x
    output "y" = %y
    output "y.count" = %n
    output "camshaft.bound_exceeded" = %e
  )");
  const plan::PlanContents plain = compile(graph, options_for({"llvm"}));
  CHECK(plain.info.outputs[1].counted_axes.empty());
  graph.outputs[1].counted_axes = {0};
  const plan::PlanContents contents = compile(graph, options_for({"llvm"}));
  CHECK(contents.info.outputs[0].counted_axes.empty());
  CHECK(contents.info.outputs[1].counted_axes == std::vector<int64_t>{0});
  CHECK(contents.info.outputs[1].count_output == 2);
  CHECK(contents.info.exceeded_output == 3u);
  CHECK(plan::write_plan(contents).has_value());
}

TEST_CASE("tensors without elements come and go like others") {
  const ir::Graph graph = ir::graph_from(R"(
    %x = input "x" : f32[2x0x3]
    %z = input "z" : f32[2x1x3]
    %s = reduce(%x) {kind=sum, axes=[1]}
    %c = concat(%x, %z) {axis=1}
    %t = tanh(%x)
    output "sum" = %s
    output "joined" = %c
    output "t" = %t
    output "same" = %x
  )");
  for (const char* target : {"llvm", "cpu"}) {
    const auto file = plan::write_plan(compile(graph, options_for({target})));
    REQUIRE(file.has_value());
    const auto inputs = ir::seeded_inputs(graph, 3);
    const auto outputs = run(*file, target, inputs);
    const auto expected = ir::run_all(graph, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      CHECK(outputs[i] == ir::to_literal(expected[i]).bytes);
    }
    CHECK(outputs[0] == std::vector<std::byte>(24));
    CHECK(outputs[2].empty());
    CHECK(outputs[3].empty());
  }
}

TEST_CASE("threads split large launches only") {
  CompileOptions options = options_for({"llvm"});
  options.threads = 2;
  const plan::PlanContents contents = compile(ir::graph_from(R"(
    %x = input "x" : f32[1x64x56x56]
    %w = constant {seed 1} : f32[64x64x3x3]
    %c = conv(%x, %w) {strides=[1,1], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1], groups=1}
    %t = reduce(%c) {kind=sum, axes=[0,1,2,3]}
    %u = tanh(%t)
    output "y" = %u
  )"),
                                              options);
  const plan::TargetInfo& target = contents.info.targets.at(0);
  CHECK(target.threads == 2);
  CHECK(target.commands.front().parts == 2);
  CHECK(target.commands.back().parts == 1);
}

TEST_CASE("equal constants are stored once, each aligned") {
  WeightsBuilder weights;
  const std::vector<std::byte> a(100, std::byte{1});
  const std::vector<std::byte> b(100, std::byte{2});
  CHECK(weights.add(a) == 0);
  CHECK(weights.add(b) == 128);
  CHECK(weights.add(a) == 0);
  CHECK(weights.size_bytes() == 228);
}

}  // namespace
}  // namespace camshaft::emit
