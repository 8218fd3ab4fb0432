// SPDX-License-Identifier: MIT
// What people get to see of plans: dump.h and diff.h.
#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "runtime/plan/diff.h"
#include "runtime/plan/dump.h"
#include "runtime/plan/signing.h"
#include "tests/runtime/plan/sample_plan.h"

namespace camshaft::plan {
namespace {

using Catch::Contains;
using Lines = std::vector<std::string>;

PlanFile to_file(const PlanContents& contents) {
  return PlanFile::from_bytes(write_plan(contents).value()).value();
}

// The differences from the sample to a changed sample.
Lines diff_after(const std::function<void(PlanContents&)>& change) {
  PlanContents changed = test::make_sample();
  change(changed);
  return diff_plans(to_file(test::make_sample()), to_file(changed));
}

TEST_CASE("a dump shows versions, inputs and outputs, targets, sections") {
  const std::string text = dump_plan(to_file(test::make_sample()));
  for (const char* part :
       {"format version 2, 14272 bytes, not signed",
        "model     sample",
        "dtype     bf16\n",
        "image                    f32   [1, 3, 8, 8]",
        "768 bytes",
        ".left",
        "[2, 16]  in m",
        "target llvm:x86-64-v3",
        "cpu, x86_64 avx2 fma",
        "LLVM 19.1.7, elf-shared-object",
        "3, of 2 kernels, 27648 FLOP, threads: 2",
        "run: 3 commands from 0",
        "state        history: 1024 bytes",
        "driver       device 1, driver 2: section 9, made from 00ff",
        "weights        required at         4096",
        "golden outputs optional",
        "boxes                    f32   [1, <=8, 6]                       192 bytes\n",
        "boxes.count              i64   [1]                                 8 bytes  how long is "
        "boxes\n",
        "exceeded                 bool  []                                  1 bytes  whether a "
        "bound was too small, or extents did not fit\n",
        "rate                     i64   []                       = 16000\n",
        "gain                     f32   [3]                      = 1, 0.5, -2\n",
        "bounds\n  boxes                    8\n"}) {
    CHECK_THAT(text, Contains(part));
  }
  CHECK(text.find(" \n") == std::string::npos);
  CHECK(text.ends_with('\n'));
}

TEST_CASE("a dump can be of one target") {
  const PlanFile plan = to_file(test::make_sample());
  const std::string text = dump_plan(plan, &plan.info().targets[1]);
  CHECK_THAT(text, Contains("target cpu:x86-64-v3"));
  CHECK_THAT(text, !Contains("\ntarget llvm:x86-64-v3"));
}

TEST_CASE("a dump names the signer and copes with long names") {
  PlanContents contents = test::make_sample();
  contents.info.inputs[0].name = std::string(1000, 'n');
  const SigningKey key = SigningKey::from_seed({});
  const PlanFile plan =
      PlanFile::from_bytes(sign_plan(write_plan(contents).value(), key).value()).value();
  const std::string text = dump_plan(plan);
  CHECK_THAT(text, Contains("signed by 3b6a27bcceb6a42d62a3a8d02a6f0d73"));
  CHECK_THAT(text, Contains(std::string(1000, 'n') + " f32"));
}

TEST_CASE("equal plans don't differ, and signatures are no difference") {
  const std::vector<std::byte> file = test::write_sample();
  const PlanFile plain = PlanFile::from_bytes(file).value();
  const PlanFile other =
      PlanFile::from_bytes(sign_plan(file, SigningKey::from_seed({})).value()).value();
  CHECK(diff_plans(plain, plain).empty());
  CHECK(diff_plans(plain, other).empty());
}

TEST_CASE("differences in fields name the item, the field and both values") {
  CHECK(diff_after([](PlanContents& p) { p.info.targets[0].commands[1].parts = 1; }) ==
        Lines{"target llvm:x86-64-v3: command fc: parts from 2 to 1"});
  CHECK(diff_after([](PlanContents& p) { p.info.inputs[0].unit = "pixel"; }) ==
        Lines{"input image: unit from nothing to pixel"});
  CHECK(diff_after([](PlanContents& p) { p.info.targets[1].kernels[0].strategy = "winograd"; }) ==
        Lines{"target cpu:x86-64-v3: command conv1+relu: strategy from conv_direct to winograd"});
  CHECK(diff_after([](PlanContents& p) {
          p.info.targets[0].commands[0].args[1].offset_bytes = 0;
        }) == Lines{"target llvm:x86-64-v3: command conv1+relu: arguments from input 0: 768 bytes, "
                    "weights + 64: 432 bytes, arena + 1024: 1024 bytes to input 0: 768 bytes, "
                    "weights: 432 bytes, arena + 1024: 1024 bytes"});
  const Lines weights = diff_after([](PlanContents& p) { p.sections[0].bytes[9] = std::byte{1}; });
  REQUIRE(weights.size() == 2);  // both targets use them
  CHECK_THAT(weights[1], Contains("target cpu:x86-64-v3: weights from 500 bytes, "));
}

TEST_CASE("every part of a plan can make a difference") {
  const std::vector<std::function<void(PlanContents&)>> changes = {
      [](PlanContents& p) { p.info.model_name = "x"; },
      [](PlanContents& p) { p.info.producer = "x"; },
      [](PlanContents& p) { p.info.model_digest = "x"; },
      [](PlanContents& p) { p.info.inputs[0].dtype = DType::kInt32; },
      [](PlanContents& p) { p.info.inputs[0].shape = {3, 64}; },
      [](PlanContents& p) { p.info.outputs[0].slices[1].offset = 30; },
      [](PlanContents& p) { p.info.outputs[0].slices[1].unit = "m"; },
      [](PlanContents& p) { p.info.outputs[0].slices[1].shape = {1}; },
      [](PlanContents& p) { p.info.targets[0].device = "x"; },
      [](PlanContents& p) { p.info.targets[0].arch = "x"; },
      [](PlanContents& p) { p.info.targets[0].features.pop_back(); },
      [](PlanContents& p) { p.info.targets[0].toolchain = "x"; },
      [](PlanContents& p) { p.info.targets[0].binary_format = "x"; },
      [](PlanContents& p) { p.info.targets[0].threads = 3; },
      [](PlanContents& p) { p.info.targets[0].arena_bytes = 4096; },
      [](PlanContents& p) { p.info.targets[0].arena_lower_bound_bytes = 1; },
      [](PlanContents& p) { p.sections[1].bytes[0] = std::byte{9}; },
      [](PlanContents& p) { p.sections[2].bytes.clear(); },
      [](PlanContents& p) { p.info.targets[0].kernels[0].symbol = "x"; },
      [](PlanContents& p) { p.info.targets[0].commands[0].description = "x"; },
      [](PlanContents& p) { p.info.targets[0].commands[0].kernel = 1; },
      [](PlanContents& p) { p.info.targets[0].commands[0].grid[1] = 7; },
      [](PlanContents& p) { p.info.targets[0].commands[0].group[1] = 7; },
      [](PlanContents& p) { p.info.targets[0].commands[0].flops = 7; },
      [](PlanContents& p) { p.info.targets[0].commands[0].bytes = 7; },
      [](PlanContents& p) {
        p.info.targets[0].commands[2].args[0] = {Space::kOutput, 0, 0, 0};
        p.info.targets[0].commands[2].args[1] = {Space::kState, 0, 0, 0};
      },
      [](PlanContents& p) { p.info.targets[0].entry_points[1].first_command = 1; },
      [](PlanContents& p) { p.info.targets[0].entry_points[1].command_count = 2; },
      [](PlanContents& p) { p.info.targets[0].states[0].size_bytes = 2048; },
      [](PlanContents& p) { p.info.targets[0].arena_blocks[0].last_command = 1; },
      [](PlanContents& p) { p.info.targets[0].arena_blocks[0].size_bytes = 1; },
      [](PlanContents& p) { p.info.targets[0].arena_blocks[0].offset_bytes = 0; },
      [](PlanContents& p) { p.sections[5].bytes[0] = std::byte{9}; },
      [](PlanContents& p) { p.info.goldens[0].output_hash_high += 1; },
      [](PlanContents& p) { p.info.goldens.clear(); },
      [](PlanContents& p) { p.add_section(static_cast<SectionKind>(77), {}); },
      [](PlanContents& p) {
        p.info.outputs[1].counted_axes.clear();
        p.info.outputs[1].count_output = 0;
      },
      [](PlanContents& p) { p.info.outputs[1].counted_axes = {2}; },
      [](PlanContents& p) { p.info.exceeded_output.reset(); },
      [](PlanContents& p) { p.info.float_dtype.reset(); },
      [](PlanContents& p) { p.info.float_dtype = DType::kFloat32; },
      [](PlanContents& p) { p.info.bounds[0].most = 9; },
      [](PlanContents& p) { p.info.bounds.clear(); },
      [](PlanContents& p) { p.info.frozen[0].dtype = DType::kUInt64; },
      [](PlanContents& p) { p.info.frozen[0].shape = {1}; },
      [](PlanContents& p) { p.sections[7].bytes[0] = std::byte{9}; },
      [](PlanContents& p) { p.info.targets[0].driver_binaries[0].driver = "x"; },
      [](PlanContents& p) { p.info.targets[0].driver_binaries[0].digest = "x"; },
      [](PlanContents& p) { p.info.targets[0].driver_binaries.clear(); },
      [](PlanContents& p) { p.sections[8].bytes[0] = std::byte{9}; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    INFO("change " << i);
    CHECK(!diff_after(changes[i]).empty());
  }
}

TEST_CASE("another frozen value is a difference that says both") {
  const Lines lines = diff_after([](PlanContents& p) {
    std::fill_n(p.sections[7].bytes.begin(), 8, std::byte{0});
    p.sections[7].bytes[0] = std::byte{7};
  });
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "frozen input rate: values from 16000 to 7");
}

TEST_CASE("what only one plan has is listed once, and order counts") {
  CHECK(diff_after([](PlanContents& p) { p.info.targets.pop_back(); }) ==
        Lines{"- target cpu:x86-64-v3"});
  CHECK(diff_after([](PlanContents& p) {
          TargetInfo& target = p.info.targets[0];
          target.commands.push_back(target.commands[1]);
          target.commands.push_back(target.commands[1]);
          target.commands.back().name = "tail";
        }) ==
        Lines{"+ target llvm:x86-64-v3: command fc (2)", "+ target llvm:x86-64-v3: command tail"});
  CHECK(diff_after([](PlanContents& p) {
          std::swap(p.info.targets[0].commands[0], p.info.targets[0].commands[1]);
        }) ==
        Lines{"the order differs: where target llvm:x86-64-v3: command conv1+relu was is target "
              "llvm:x86-64-v3: command fc"});
}

}  // namespace
}  // namespace camshaft::plan
