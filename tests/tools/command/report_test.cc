// SPDX-License-Identifier: MIT
// Differences, goldens, kernel tables and pictures of schedules.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/base/file.h"
#include "tools/command/difference.h"
#include "tools/command/golden.h"
#include "tools/command/kernel_report.h"
#include "tools/command/peak.h"
#include "tools/command/plan_report.h"
#include "tools/command/report.h"
#include "tools/command/schedule_graph.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::DType;

Difference difference_of(const std::vector<float>& actual, const std::vector<float>& expected,
                         Tolerance tolerance = {}) {
  Difference difference(tolerance);
  difference.add(DType::kFloat32, reinterpret_cast<const std::byte*>(actual.data()),
                 reinterpret_cast<const std::byte*>(expected.data()), actual.size());
  return difference;
}

TEST_CASE("equal tensors are within any tolerance") {
  const Difference difference = difference_of({1, -2, 0}, {1, -2, 0}, {0, 0});
  CHECK(difference.is_within());
  CHECK(difference.max_abs() == 0);
  CHECK(difference.cosine() == Approx(1));
  CHECK(std::isinf(difference.snr_db()));
}

TEST_CASE("tolerance is absolute plus relative to the expected value") {
  CHECK(difference_of({100.01F}, {100}, {0, 2e-4}).is_within());
  CHECK_FALSE(difference_of({100.03F}, {100}, {0, 2e-4}).is_within());
  CHECK(difference_of({1e-6F}, {0}, {2e-6, 0}).is_within());
  CHECK_FALSE(difference_of({3e-6F}, {0}, {2e-6, 0}).is_within());
  const Difference difference = difference_of({1, 2.5F, 3}, {1, 2, 3.25F}, {0, 0});
  CHECK(difference.outside() == 2);
  CHECK(difference.worst_index() == 1);
  CHECK(difference.worst_actual() == 2.5);
  CHECK(difference.max_abs() == 0.5);
  CHECK(difference.max_rel() == 0.25);
  CHECK(difference.rms() == Approx(std::sqrt((0.25 + 0.0625) / 3)));
  CHECK(difference.snr_db() == Approx(10 * std::log10((1 + 4 + 3.25 * 3.25) / 0.3125)));
}

TEST_CASE("the worst element is the furthest outside its tolerance, not the furthest off") {
  // 1000 is off by 0.05, half of what rtol allows; 0.5 is off by 0.001, far outside.
  const Difference difference = difference_of({1000.05F, 0.501F, 2}, {1000, 0.5F, 2}, {1e-5, 1e-4});
  CHECK(difference.outside() == 1);
  CHECK(difference.max_abs() == Approx(0.05).epsilon(1e-3));
  CHECK(difference.worst_index() == 1);
  CHECK(difference.worst_expected() == 0.5);
  // Where no error is allowed, the largest counts; a NaN counts more than any.
  CHECK(difference_of({0.1F, 0.3F, 0.2F}, {0, 0, 0}, {0, 0}).worst_index() == 1);
  CHECK(difference_of({1, NAN, 90}, {0, 0, 0}, {1e-5, 1e-4}).worst_index() == 1);
}

TEST_CASE("what is not finite must match exactly") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(difference_of({inf, -inf, nan}, {inf, -inf, nan}).is_within());
  CHECK(difference_of({inf, -inf, nan, 1}, {inf, -inf, nan, 1}).not_finite() == 3);
  CHECK(difference_of({inf, nan, 1, 2}, {inf, nan, 1, 2.5F}).rms() == 0.25);
  for (const auto& [actual, expected] :
       {std::pair{nan, 1.0F}, {1.0F, nan}, {inf, 1.0F}, {1.0F, inf}, {inf, -inf}, {inf, nan}}) {
    const Difference difference = difference_of({actual}, {expected}, {1e30, 1e30});
    CHECK(difference.outside() == 1);
    CHECK(std::isinf(difference.max_abs()));
    CHECK(difference.rms() == INFINITY);
    CHECK(difference.relative_rms() == INFINITY);
    CHECK(difference.snr_db() == -INFINITY);
    CHECK(std::isnan(difference.cosine()));
  }
}

TEST_CASE("what the plan alone makes infinite or NaN is counted and told") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto counts = [](const Difference& difference) {
    return std::pair{difference.not_finite(), difference.not_finite_alone()};
  };
  CHECK(counts(difference_of({inf, -inf, nan, 1}, {inf, -inf, nan, 1})) == std::pair{3UL, 0UL});
  CHECK(counts(difference_of({1, nan, inf, nan}, {1, 2, 3, nan})) == std::pair{3UL, 2UL});
  CHECK(counts(difference_of({1, 2}, {inf, 2})) == std::pair{0UL, 0UL});

  const NamedDifference named{"y", difference_of({4, nan, inf}, {1, 2, 3})};
  const std::string text = differences_text({named});
  CHECK(text.find("3 outside, 2 of them infinite or NaN; element 1 is nan, expected 2") !=
        std::string::npos);
  CHECK(text.find("-inf") != std::string::npos);  // the SNR
  const io::Json json = differences_json({named})[0];
  CHECK(json["not_finite_alone"] == 2);
  const std::string dumped = io::Json({json["rms"], json["cosine"], json["snr_db"]}).dump();
  CHECK(dumped == "[null,null,null]");
}

TEST_CASE("tensors of two shapes are not within any tolerance") {
  NamedDifference named{"y", Difference({1e30, 1e30})};
  const auto tensor = [](std::vector<int64_t> shape) {
    const uint64_t size = *io::size_bytes(DType::kFloat32, shape);
    return io::Tensor{DType::kFloat32, std::move(shape), std::vector<std::byte>(size)};
  };
  named.add(tensor({3, 6}), tensor({3, 6}));
  CHECK(named.is_within());
  CHECK(named.difference.elements() == 18);
  named.add(tensor({0, 6}), tensor({0, 6}));
  CHECK(named.is_within());
  named.add(tensor({3, 6}), tensor({4, 6}));
  named.add(tensor({2, 6}), tensor({4, 6}));
  CHECK_FALSE(named.is_within());
  CHECK_FALSE(are_within({named}));
  CHECK(named.shapes == "f32[3x6], expected f32[4x6]");  // the first such trial
  CHECK(differences_text({named}).find("is f32[3x6], expected f32[4x6]") != std::string::npos);
  CHECK(differences_json({named})[0]["shapes"] == "f32[3x6], expected f32[4x6]");
  CHECK(differences_json({named})[0]["within"] == false);
}

TEST_CASE("opposite vectors have cosine -1, zeros 1") {
  CHECK(difference_of({1, 2}, {-1, -2}).cosine() == Approx(-1));
  CHECK(difference_of({0, 0}, {0, 0}).cosine() == 1);
  CHECK(difference_of({0, 0}, {0, 1}).cosine() == 0);
}

TEST_CASE("trials add up") {
  Difference difference({0, 0});
  const float one = 1;
  const float two = 2;
  const auto bytes = [](const float& value) { return reinterpret_cast<const std::byte*>(&value); };
  difference.add(DType::kFloat32, bytes(one), bytes(one), 1);
  CHECK(difference.is_within());
  difference.add(DType::kFloat32, bytes(two), bytes(one), 1);
  CHECK(difference.elements() == 2);
  CHECK(difference.outside() == 1);
}

TEST_CASE("goldens come out as they went in") {
  const std::vector<plan::TensorInfo> infos = {{"a", DType::kFloat32, {3}, "", {}},
                                               {"b", DType::kUInt8, {65}, "", {}}};
  const std::vector<io::Tensor> tensors = {
      {DType::kFloat32, {3}, std::vector<std::byte>(12, std::byte{1})},
      {DType::kUInt8, {65}, std::vector<std::byte>(65, std::byte{2})}};
  const std::vector<std::byte> section = pack_golden(tensors);
  CHECK(section.size() == 64 + 128);
  CHECK(section[12] == std::byte{0});
  const std::vector<io::Tensor> again = unpack_golden(section, infos);
  CHECK(again[0].bytes == tensors[0].bytes);
  CHECK(again[1].bytes == tensors[1].bytes);
}

TEST_CASE("summaries count what is not finite apart") {
  const std::vector<float> values = {9, 1, 2, NAN, 3};
  const Summary summary =
      summarize(DType::kFloat32, reinterpret_cast<const std::byte*>(values.data()), 1, 4);
  CHECK(summary.min == 1);
  CHECK(summary.max == 3);
  CHECK(summary.mean == 2);
  CHECK(summary.not_finite == 1);
}

// conv reads the input, pool and sum read conv's block, sum also pool's; sum writes the output. The
// blocks of pool and of a fourth command, which reads the output, share their place.
plan::TargetInfo sample_target() {
  const auto arena = [](uint64_t offset) {
    return plan::ArgInfo{plan::Space::kArena, 0, offset, 64};
  };
  const plan::ArgInfo input{plan::Space::kInput, 0, 0, 64};
  const plan::ArgInfo output{plan::Space::kOutput, 0, 0, 64};
  const plan::ArgInfo second{plan::Space::kOutput, 1, 0, 64};
  const auto command = [](const char* name, uint32_t kernel, std::vector<plan::ArgInfo> args,
                          uint64_t flops) {
    plan::CommandInfo info;
    info.name = name;
    info.description = "8 -> 8 <&\"";
    info.kernel = kernel;
    info.args = std::move(args);
    info.flops = flops;
    info.bytes = 128;
    return info;
  };
  plan::TargetInfo target;
  target.target = "cpu:test";
  target.kernels = {
      {"k000_conv", "conv_direct"}, {"k001_pool", "pool"}, {"k002_add", "elementwise"}};
  target.commands = {command("conv", 0, {input, arena(0)}, 3000),
                     command("pool", 1, {arena(0), arena(64)}, 0),
                     command("sum", 2, {arena(0), arena(64), output}, 1000),
                     command("last", 2, {output, arena(64), second}, 0)};
  target.arena_blocks = {{"conv", 0, 64, 0, 2}, {"pool", 64, 64, 1, 2}, {"last", 64, 64, 3, 3}};
  return target;
}

plan::PlanInfo sample_info() {
  plan::PlanInfo info;
  info.model_name = "test";
  info.inputs = {{"x", DType::kFloat32, {16}, "", {}}};
  info.outputs = {{"y", DType::kFloat32, {16}, "", {}}, {"z", DType::kFloat32, {16}, "", {}}};
  return info;
}

TEST_CASE("the graph of a schedule follows the arena's lifetimes") {
  const ScheduleGraph graph = make_schedule_graph(sample_info(), sample_target());
  REQUIRE(graph.nodes.size() == 7);  // x, conv, pool, sum, last, y, z
  std::vector<std::pair<size_t, size_t>> edges;
  for (const GraphEdge& edge : graph.edges) edges.push_back({edge.from, edge.to});
  std::sort(edges.begin(), edges.end());
  CHECK(edges == std::vector<std::pair<size_t, size_t>>{
                     {0, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {4, 6}});
}

TEST_CASE("pictures of schedules are well-formed") {
  const ScheduleGraph graph = make_schedule_graph(sample_info(), sample_target());
  const std::string svg = to_svg(graph);
  CHECK(svg.find("<&\"") == std::string::npos);
  CHECK(svg.find("&lt;&amp;&quot;") != std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
  size_t boxes = 0;
  for (size_t at = svg.find("<g>"); at != std::string::npos; at = svg.find("<g>", at + 1)) ++boxes;
  CHECK(boxes == graph.nodes.size());
  CHECK(svg.find("height=\"40\"") != std::string::npos);
  const std::string dot = to_dot(graph);
  CHECK(dot.find("n1 -> n3;") != std::string::npos);
  CHECK(dot.find("<&\\\"") != std::string::npos);
}

// All that stands in the boxes of a picture, without the tooltips.
std::string texts_of(const std::string& svg) {
  std::string texts;
  for (size_t at = svg.find("<text x="); at != std::string::npos; at = svg.find("<text x=", at)) {
    at = svg.find('>', at) + 1;
    texts += svg.substr(at, svg.find('<', at) - at);
  }
  return texts;
}

TEST_CASE("pictures of schedules show long names whole, in boxes that have room for them") {
  const std::string name =
      "/trunk/trunk.6/layers/layers.2/scale/scale.3/Conv+/trunk/trunk.6/scale/scale.4/HardSigmoid";
  plan::TargetInfo target = sample_target();
  target.commands[1].name = name;
  const std::string svg = to_svg(make_schedule_graph(sample_info(), target));
  CHECK(texts_of(svg).find(name) != std::string::npos);
  CHECK(svg.find(">" + name + "</text>") == std::string::npos);  // in several lines
  CHECK(svg.find("height=\"70\"") != std::string::npos);         // three of a name, one of shapes
}

TEST_CASE("long names lose their middle on terminals only") {
  plan::TargetInfo target = sample_target();
  target.commands[1].name = "/trunk/trunk.6/layers/layers.2/Conv+/trunk/trunk.6/layers/HardSigmoid";
  const std::string whole = kernels_text(target, nullptr, false);
  CHECK(whole.find(target.commands[1].name) != std::string::npos);
  CHECK(whole.find("\u2026") == std::string::npos);
  const std::string brief = kernels_text(target, nullptr, true);
  CHECK(brief.find("/trunk/trunk.6/layers\u2026") == std::string::npos);
  CHECK(brief.find("/trunk/trunk.6/layers/\u2026.6/layers/HardSigmoid") != std::string::npos);
  CHECK(brief.find(" conv ") != std::string::npos);
}

TEST_CASE("kernels are listed with their shares") {
  const io::Json rows = kernels_json(sample_target(), nullptr);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["strategy"] == "conv_direct");
  CHECK(rows[0]["flops_share"] == 0.75);
  CHECK_FALSE(rows[0].contains("us"));
  CHECK(rows[1]["launch"]["grid"] == io::Json{1, 1, 1});
  CHECK(rows[1]["launch"]["arguments"] ==
        io::Json{{{"space", "arena"}, {"index", 0}, {"offset", 0}, {"bytes", 64}},
                 {{"space", "arena"}, {"index", 0}, {"offset", 64}, {"bytes", 64}}});
  const KernelProfile profile{{2e-6, 1e-6, 1e-6, 0}, 3.0};
  const io::Json timed = kernels_json(sample_target(), &profile);
  CHECK(timed[0]["us"].get<double>() == Approx(2));
  CHECK(timed[0]["gflops"].get<double>() == Approx(1.5));
  CHECK(timed[0]["peak_share"].get<double>() == Approx(0.5));
  CHECK(timed[0]["time_share"].get<double>() == Approx(0.5));
  CHECK(timed[3]["gflops"] == 0);
}

TEST_CASE("a profile is taken only for the kernels that it measured") {
  const std::string path = "/tmp/camshaft-profile-" + std::to_string(::getpid()) + ".json";
  const auto write = [&](const io::Json& document) {
    const std::string text = io::to_text(document);
    REQUIRE(base::write_file_atomically(path, base::as_bytes(text)).is_ok());
  };
  const KernelProfile profile{{2e-6, 1e-6, 1e-6, 0}, 3.0};
  io::Json document = {{"kernels", kernels_json(sample_target(), &profile)},
                       {"peak", {{"gflops", 3.0}}}};
  write(document);
  const auto read = read_profile(path, sample_target());
  REQUIRE(read.has_value());
  CHECK(read->seconds[0] == Approx(2e-6));
  CHECK(read->peak_gflops == 3.0);

  io::Json renamed = document;
  renamed["kernels"][1]["name"] = "other";
  write(renamed);
  CHECK(read_profile(path, sample_target()).error().code() == Code::kInvalidArgument);
  io::Json wrong_type = document;
  wrong_type["kernels"][1]["us"] = "fast";
  write(wrong_type);
  CHECK(read_profile(path, sample_target()).error().code() == Code::kInvalidArgument);
  io::Json shorter = document;
  shorter["kernels"].erase(3);
  write(shorter);
  CHECK(read_profile(path, sample_target()).error().code() == Code::kInvalidArgument);
  for (const io::Json& none : {io::Json(), io::Json::array({1}), io::Json{{"kernels", 5}}}) {
    write(none);
    CHECK(read_profile(path, sample_target()).error().code() == Code::kInvalidArgument);
  }
  std::remove(path.c_str());
}

TEST_CASE("a kernel's functions are found in the text of all") {
  const std::string source =
      "typedef float f8;\n"
      "static void k000_conv_body(const float* x) {\n  k001_pool(1);\n}\n\n"
      "void k000_conv(void* const* p) {\n  k000_conv_body(p[0]);\n}\n\n"
      "void k001_pool(void* const* p) {\n}\n";
  const std::string conv =
      "static void k000_conv_body(const float* x) {\n  k001_pool(1);\n}\n\n"
      "void k000_conv(void* const* p) {\n  k000_conv_body(p[0]);\n}\n";
  for (const char* name : {"k000_conv", "conv", "0"}) {
    CHECK(find_source(source, sample_target(), name).value() == conv);
  }
  CHECK(find_source(source, sample_target(), "pool").value() ==
        "void k001_pool(void* const* p) {\n}\n");
  CHECK(find_source(source, sample_target(), "none").error().code() == Code::kNotFound);
  CHECK(find_source(source, sample_target(), "sum").error().code() == Code::kNotFound);
}

TEST_CASE("a measured peak is a number with a method") {
  const Peak peak = measure_peak();
  CHECK(peak.gflops > 0.01);
  CHECK(std::string(peak.method).find("f32") != std::string::npos);
}

}  // namespace
}  // namespace camshaft::command
