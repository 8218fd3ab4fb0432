// SPDX-License-Identifier: MIT
// Every rule of verify.h, broken one at a time in a plan that otherwise keeps them all.
#include "runtime/plan/verify.h"

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/plan/sample_plan.h"

namespace camshaft::plan {
namespace {

struct Change {
  std::string what;
  std::string site;  // of the rule that it breaks; empty: none
  std::function<void(PlanContents&)> apply;
};

std::optional<Problem> problem_of(const PlanContents& contents) {
  std::vector<SectionShape> shapes = {{SectionKind::kMetadata, 1000}};
  for (const SectionContents& section : contents.sections) {
    shapes.push_back({section.kind, section.bytes.size()});
  }
  return find_problem(contents.info, shapes);
}

void check_changes(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    INFO(change.what);
    PlanContents contents = test::make_sample();
    change.apply(contents);
    const std::optional<Problem> problem = problem_of(contents);
    CHECK((problem ? problem->site : std::string()) == change.site);
    if (problem) CHECK(problem->text.size() > 10);
    CHECK(write_plan(contents).error().code() ==
          (problem ? base::Code::kInternal : base::Code::kOk));
  }
}

TargetInfo& target(PlanContents& plan) {
  return plan.info.targets[0];
}
CommandInfo& launch(PlanContents& plan) {
  return plan.info.targets[0].commands[0];
}
CommandInfo& copy(PlanContents& plan) {
  return plan.info.targets[0].commands[2];
}
TensorInfo& input(PlanContents& plan) {
  return plan.info.inputs[0];
}
TensorInfo& output(PlanContents& plan) {
  return plan.info.outputs[0];
}

TensorInfo& boxes(PlanContents& plan) {
  return plan.info.outputs[1];
}
TensorInfo& counts(PlanContents& plan) {
  return plan.info.outputs[2];
}

TEST_CASE("what keeps the rules is no problem") {
  check_changes({
      {"the sample", "", [](PlanContents&) {}},
      {"an argument up to the end", "",
       [](PlanContents& p) { launch(p).args[1] = {Space::kWeights, 0, 448, 52}; }},
      {"an empty argument at the end", "",
       [](PlanContents& p) { launch(p).args[2] = {Space::kArena, 0, 2048, 0}; }},
      {"an arena rounded up to a page", "", [](PlanContents& p) { target(p).arena_bytes = 4096; }},
      {"a scalar output", "",
       [](PlanContents& p) {
         p.info.outputs.push_back({"loss", {}, {}, {}, {}});
         p.info.goldens.clear();
       }},
      {"no inputs", "",
       [](PlanContents& p) {
         p.info.inputs.clear();
         p.info.goldens.clear();
         for (TargetInfo& t : p.info.targets) t.commands[0].args.erase(t.commands[0].args.begin());
       }},
      {"a target of copies", "",
       [](PlanContents& p) {
         target(p).kernels.clear();
         target(p).binary_section = 0;
         target(p).commands.erase(target(p).commands.begin(), target(p).commands.begin() + 2);
         target(p).entry_points = {{"run", 0, 1}};
         target(p).arena_blocks.clear();
       }},
      {"an entry point without commands", "",
       [](PlanContents& p) { target(p).entry_points[1] = {"prepare", 3, 0}; }},
      {"one name for an input, an output and a state", "",
       [](PlanContents& p) { input(p).name = output(p).name = target(p).states[0].name = "x"; }},
      {"two commands of one name", "",
       [](PlanContents& p) { target(p).commands[1].name = launch(p).name; }},
      {"names in another script", "", [](PlanContents& p) { input(p).name = "画像"; }},
      {"tensors without elements", "",
       [](PlanContents& p) {
         p.info.inputs.push_back({"none", {}, {0}, {}, {}});
         p.info.outputs.push_back({"nothing", {}, {3, 0, 1ll << 38}, {}, {}});
         output(p).slices[0].shape = {0, 2};
       }},
      {"nothing frozen, bounded or counted", "",
       [](PlanContents& p) {
         p.info.frozen.clear();
         p.info.frozen_section = 0;
         p.info.bounds.clear();
         p.info.exceeded_output.reset();
         boxes(p).counted_axes.clear();
         boxes(p).count_output = 0;
       }},
      {"floats stored in what isn't said", "", [](PlanContents& p) { p.info.float_dtype.reset(); }},
      {"a bound of 0", "", [](PlanContents& p) { p.info.bounds[0].most = 0; }},
      {"copies between two places of the arena", "",
       [](PlanContents& p) {
         copy(p).args = {{Space::kArena, 0, 1024, 512}, {Space::kArena, 0, 1536, 512}};
       }},
  });
}

TEST_CASE("rules of names and texts") {
  check_changes({
      {"model name", "plan.text", [](PlanContents& p) { p.info.model_name = "a\nb"; }},
      {"producer", "plan.text", [](PlanContents& p) { p.info.producer = "\x1b[2J"; }},
      {"digest", "plan.text", [](PlanContents& p) { p.info.model_digest = std::string(1, '\0'); }},
      {"input without name", "plan.text", [](PlanContents& p) { input(p).name.clear(); }},
      {"output without name", "plan.text", [](PlanContents& p) { output(p).name.clear(); }},
      {"input name", "plan.text", [](PlanContents& p) { input(p).name = "a\x7f"; }},
      {"unit", "plan.text", [](PlanContents& p) { input(p).unit = "\t"; }},
      {"slice name", "plan.text", [](PlanContents& p) { output(p).slices[0].name = ""; }},
      {"slice unit", "plan.text", [](PlanContents& p) { output(p).slices[0].unit = "\r"; }},
      {"target name", "plan.text", [](PlanContents& p) { target(p).target = ""; }},
      {"device", "plan.text", [](PlanContents& p) { target(p).device = ""; }},
      {"arch", "plan.text", [](PlanContents& p) { target(p).arch = "\n"; }},
      {"feature", "plan.text", [](PlanContents& p) { target(p).features[1] = ""; }},
      {"toolchain", "plan.text", [](PlanContents& p) { target(p).toolchain = "\n"; }},
      {"binary format", "plan.text", [](PlanContents& p) { target(p).binary_format = "\n"; }},
      {"symbol", "plan.text", [](PlanContents& p) { target(p).kernels[1].symbol = ""; }},
      {"strategy", "plan.text", [](PlanContents& p) { target(p).kernels[1].strategy = "\n"; }},
      {"command name", "plan.text", [](PlanContents& p) { launch(p).name = "\n"; }},
      {"description", "plan.text", [](PlanContents& p) { launch(p).description = "\n"; }},
      {"entry point", "plan.text", [](PlanContents& p) { target(p).entry_points[1].name = ""; }},
      {"block", "plan.text", [](PlanContents& p) { target(p).arena_blocks[0].name = "\n"; }},
      {"state", "plan.text", [](PlanContents& p) { target(p).states[0].name = ""; }},
      {"driver", "plan.text", [](PlanContents& p) { target(p).driver_binaries[0].driver = "\n"; }},
      {"driver's digest", "plan.text",
       [](PlanContents& p) { target(p).driver_binaries[0].digest = ""; }},
      {"two inputs", "plan.name", [](PlanContents& p) { p.info.inputs.push_back(input(p)); }},
      {"two outputs", "plan.name", [](PlanContents& p) { p.info.outputs.push_back(output(p)); }},
      {"two slices", "plan.name",
       [](PlanContents& p) { output(p).slices[1].name = output(p).slices[0].name; }},
      {"two targets", "plan.name",
       [](PlanContents& p) { p.info.targets[1].target = target(p).target; }},
      {"two entry points", "plan.name",
       [](PlanContents& p) { target(p).entry_points[1].name = "run"; }},
      {"two states", "plan.name",
       [](PlanContents& p) { target(p).states.push_back(target(p).states[0]); }},
      {"two goldens", "plan.name",
       [](PlanContents& p) { p.info.goldens.push_back(p.info.goldens[0]); }},
  });
}

TEST_CASE("rules of inputs and outputs") {
  check_changes({
      {"dtype", "plan.dtype", [](PlanContents& p) { input(p).dtype = static_cast<DType>(13); }},
      {"dtype", "plan.dtype", [](PlanContents& p) { output(p).dtype = static_cast<DType>(255); }},
      {"extent too large beside 0", "plan.shape",
       [](PlanContents& p) { input(p).shape = {0, 1ll << 41}; }},
      {"extent -1", "plan.shape", [](PlanContents& p) { input(p).shape[1] = -1; }},
      {"product overflows", "plan.shape",
       [](PlanContents& p) { input(p).shape = {1ll << 32, 1ll << 32, 4}; }},
      {"product but a zero overflows", "plan.shape",
       [](PlanContents& p) { input(p).shape = {1ll << 32, 1ll << 32, 0}; }},
      {"product times dtype is too large", "plan.shape",
       [](PlanContents& p) { input(p).shape = {1ll << 39}; }},
      {"rank", "plan.shape", [](PlanContents& p) { input(p).shape.resize(33, 1); }},
      {"slice too long", "plan.slice", [](PlanContents& p) { output(p).slices[0].shape = {41}; }},
      {"slice too far", "plan.slice", [](PlanContents& p) { output(p).slices[1].offset = 39; }},
      {"slice offset", "plan.slice",
       [](PlanContents& p) { output(p).slices[1].offset = ~uint64_t{0}; }},
      {"slice shape", "plan.slice",
       [](PlanContents& p) { output(p).slices[0].shape = {1ll << 62, 1ll << 62}; }},
      {"slice of an input", "plan.slice",
       [](PlanContents& p) { input(p).slices = output(p).slices; }},
  });
}

TEST_CASE("rules of extents that depend on data") {
  check_changes({
      {"axis beyond the rank", "plan.counts", [](PlanContents& p) { boxes(p).counted_axes = {3}; }},
      {"negative axis", "plan.counts", [](PlanContents& p) { boxes(p).counted_axes = {-1}; }},
      {"axes that don't ascend", "plan.counts",
       [](PlanContents& p) {
         boxes(p).counted_axes = {1, 0};
         counts(p).shape = {2};
       }},
      {"an axis twice", "plan.counts",
       [](PlanContents& p) {
         boxes(p).counted_axes = {1, 1};
         counts(p).shape = {2};
       }},
      {"no such output", "plan.counts", [](PlanContents& p) { boxes(p).count_output = 4; }},
      {"counts of itself", "plan.counts", [](PlanContents& p) { boxes(p).count_output = 1; }},
      {"counts of another dtype", "plan.counts",
       [](PlanContents& p) { counts(p).dtype = DType::kUInt64; }},
      {"too few counts", "plan.counts", [](PlanContents& p) { boxes(p).counted_axes = {0, 1}; }},
      {"counts in a scalar", "plan.counts", [](PlanContents& p) { counts(p).shape = {}; }},
      {"counts that are counted", "plan.counts",
       [](PlanContents& p) {
         counts(p).counted_axes = {0};
         counts(p).count_output = 2;
       }},
      {"an output of counts without axes", "plan.counts",
       [](PlanContents& p) { boxes(p).counted_axes.clear(); }},
      {"slices of what has counts", "plan.counts",
       [](PlanContents& p) { boxes(p).slices = {{"first", 0, {6}, ""}}; }},
      {"counts of an input", "plan.counts", [](PlanContents& p) { input(p).counted_axes = {0}; }},
      {"output of counts of an input", "plan.counts",
       [](PlanContents& p) { input(p).count_output = 2; }},
      {"counts of a frozen input", "plan.counts",
       [](PlanContents& p) { p.info.frozen[1].counted_axes = {0}; }},
      {"floats stored in integers", "plan.dtype",
       [](PlanContents& p) { p.info.float_dtype = DType::kInt8; }},
      {"floats stored in an unknown dtype", "plan.dtype",
       [](PlanContents& p) { p.info.float_dtype = static_cast<DType>(77); }},
      {"exceeded output far off", "plan.bounds",
       [](PlanContents& p) { p.info.exceeded_output = 4; }},
      {"exceeded output of another dtype", "plan.bounds",
       [](PlanContents& p) { p.info.exceeded_output = 2; }},
      {"exceeded output of another shape", "plan.bounds",
       [](PlanContents& p) { p.info.outputs[3].shape = {1}; }},
      {"a negative bound", "plan.bounds", [](PlanContents& p) { p.info.bounds[0].most = -1; }},
      {"a bound without name", "plan.text", [](PlanContents& p) { p.info.bounds[0].name = ""; }},
      {"two bounds", "plan.name",
       [](PlanContents& p) { p.info.bounds.push_back(p.info.bounds[0]); }},
  });
}

TEST_CASE("rules of frozen inputs") {
  check_changes({
      {"twice", "plan.name",
       [](PlanContents& p) { p.info.frozen[1].name = p.info.frozen[0].name; }},
      {"an input", "plan.frozen", [](PlanContents& p) { p.info.frozen[0].name = input(p).name; }},
      {"no section", "plan.frozen", [](PlanContents& p) { p.info.frozen_section = 0; }},
      {"a section for nothing", "plan.frozen", [](PlanContents& p) { p.info.frozen.clear(); }},
      {"another section", "plan.section_index", [](PlanContents& p) { p.info.frozen_section = 1; }},
      {"section far off", "plan.section_index",
       [](PlanContents& p) { p.info.frozen_section = 99; }},
      {"too few values", "plan.frozen", [](PlanContents& p) { p.sections[7].bytes.resize(64); }},
      {"shape", "plan.shape", [](PlanContents& p) { p.info.frozen[1].shape = {-3}; }},
      {"slices", "plan.slice", [](PlanContents& p) { p.info.frozen[0].slices = output(p).slices; }},
  });
}

TEST_CASE("rules of targets") {
  check_changes({
      {"no target", "plan.targets",
       [](PlanContents& p) {
         p.info.targets.clear();
         p.info.goldens.clear();
       }},
      {"257 targets", "plan.targets",
       [](PlanContents& p) {
         while (p.info.targets.size() < 257) {
           p.info.targets.push_back(target(p));
           p.info.targets.back().target += std::to_string(p.info.targets.size());
         }
       }},
      {"no binary", "plan.section_index", [](PlanContents& p) { target(p).binary_section = 0; }},
      {"binary far off", "plan.section_index",
       [](PlanContents& p) { target(p).binary_section = 8; }},
      {"driver's binary", "plan.section_index",
       [](PlanContents& p) { target(p).driver_binaries[0].section = 1; }},
      {"no driver's binary", "plan.section_index",
       [](PlanContents& p) { target(p).driver_binaries[0].section = 0; }},
      {"binary is a source", "plan.section_index",
       [](PlanContents& p) { target(p).binary_section = target(p).source_section; }},
      {"weights are a binary", "plan.section_index",
       [](PlanContents& p) { target(p).weights_section = target(p).binary_section; }},
      {"source far off", "plan.section_index",
       [](PlanContents& p) { target(p).source_section = ~0u; }},
      {"no threads", "plan.threads", [](PlanContents& p) { target(p).threads = 0; }},
      {"threads", "plan.threads", [](PlanContents& p) { target(p).threads = 5000; }},
      {"arena", "plan.arena", [](PlanContents& p) { target(p).arena_bytes = 1ull << 41; }},
      {"arena that nobody uses", "plan.arena",
       [](PlanContents& p) { target(p).arena_bytes = 4096 + 2048; }},
      {"lower bound", "plan.arena",
       [](PlanContents& p) { target(p).arena_lower_bound_bytes = 2049; }},
      {"state of no bytes", "plan.state",
       [](PlanContents& p) { target(p).states[0].size_bytes = 0; }},
      {"state", "plan.state", [](PlanContents& p) { target(p).states[0].size_bytes = 1ull << 41; }},
      {"no run", "plan.entry_point",
       [](PlanContents& p) { target(p).entry_points[0].name = "go"; }},
      {"entry point too long", "plan.entry_point",
       [](PlanContents& p) { target(p).entry_points[0].command_count = 4; }},
      {"entry point wraps", "plan.entry_point",
       [](PlanContents& p) { target(p).entry_points[1] = {"prepare", ~0u, 2}; }},
      {"block outside", "plan.arena_block",
       [](PlanContents& p) { target(p).arena_blocks[0].size_bytes = 1025; }},
      {"block wraps", "plan.arena_block",
       [](PlanContents& p) { target(p).arena_blocks[0].offset_bytes = ~uint64_t{0}; }},
      {"block dies late", "plan.arena_block",
       [](PlanContents& p) { target(p).arena_blocks[0].last_command = 3; }},
      {"block dies early", "plan.arena_block",
       [](PlanContents& p) {
         target(p).arena_blocks[0].first_command = 2;
         target(p).arena_blocks[0].last_command = 1;
       }},
  });
}

// The launch's arguments as images: the input, weights of two rows, and what it writes.
void use_images(PlanContents& p) {
  launch(p).args[0].image = {.width = 16, .height = 3, .row_pitch_bytes = 256};
  p.sections[0].bytes.resize(1200);
  launch(p).args[1] = {Space::kWeights, 0, 64, 1024, {DType::kFloat16, 40, 2, 512}};
  launch(p).args[2].image = {.width = 60, .height = 1, .row_pitch_bytes = 1024};
}

TEST_CASE("rules of images") {
  const auto changed = [](const std::function<void(std::vector<ArgInfo>&)>& change) {
    return [change](PlanContents& p) {
      use_images(p);
      change(launch(p).args);
    };
  };
  check_changes({
      {"images", "", use_images},
      {"no width", "plan.image", changed([](auto& args) { args[2].image.width = 0; })},
      {"no height", "plan.image", changed([](auto& args) { args[2].image.height = 0; })},
      {"too wide", "plan.image", changed([](auto& args) { args[2].image.width = 65; })},
      {"dtype", "plan.image", changed([](auto& args) { args[2].image.dtype = DType::kInt32; })},
      {"rows too close", "plan.image",
       changed([](auto& args) { args[2].image.row_pitch_bytes = 960; })},
      {"fewer bytes", "plan.image", changed([](auto& args) { args[1].size_bytes = 512; })},
      {"rows of an input apart", "plan.image",
       changed([](auto& args) { args[0].image = {DType::kFloat32, 12, 3, 256}; })},
      {"an input of another dtype", "plan.image",
       changed([](auto& args) { args[0].image = {DType::kFloat16, 32, 3, 256}; })},
      {"part of an input", "plan.image", changed([](auto& args) {
         args[0].size_bytes = 512;
         args[0].image.height = 2;
       })},
      {"an output", "plan.image",
       [](PlanContents& p) {
         target(p).commands[1].args[2] = {Space::kOutput, 0, 0, 160, {DType::kUInt8, 40, 1, 160}};
       }},
      {"a copy of an image", "plan.image",
       [](PlanContents& p) {
         copy(p).args[0].image = {.width = 64, .height = 1, .row_pitch_bytes = 1024};
       }},
      {"an input as two things", "plan.image",
       [](PlanContents& p) {
         use_images(p);
         target(p).commands[1].args[1] = {Space::kInput, 0, 0, 768};
       }},
  });
}

TEST_CASE("images are counted once") {
  PlanContents contents = test::make_sample();
  CHECK(summarize_images(target(contents)).count == 0);
  use_images(contents);
  target(contents).commands[1].args[0] = launch(contents).args[2];
  const ImageSummary images = summarize_images(target(contents));
  CHECK(images.count == 3);
  CHECK(images.size_bytes == 768 + 1024 + 1024);
  CHECK(images.width == 60);
  CHECK(images.height == 3);
}

TEST_CASE("rules of commands") {
  check_changes({
      {"kind", "plan.command",
       [](PlanContents& p) { launch(p).kind = static_cast<CommandKind>(2); }},
      {"kernel", "plan.kernel_index", [](PlanContents& p) { launch(p).kernel = 2; }},
      {"no grid", "plan.grid", [](PlanContents& p) { launch(p).grid[2] = 0; }},
      {"no group", "plan.grid", [](PlanContents& p) { launch(p).group[0] = 0; }},
      {"huge grid", "plan.grid",
       [](PlanContents& p) {
         for (uint32_t& extent : launch(p).grid) extent = ~0u;
       }},
      {"no parts", "plan.parts", [](PlanContents& p) { launch(p).parts = 0; }},
      {"more parts than threads", "plan.parts", [](PlanContents& p) { launch(p).parts = 3; }},
      {"space", "plan.arg",
       [](PlanContents& p) { launch(p).args[0].space = static_cast<Space>(5); }},
      {"input", "plan.arg", [](PlanContents& p) { launch(p).args[0].index = 1; }},
      {"output", "plan.arg", [](PlanContents& p) { target(p).commands[1].args[2].index = 4; }},
      {"state", "plan.arg", [](PlanContents& p) { target(p).commands[1].args[1].index = 1; }},
      {"weights index", "plan.arg", [](PlanContents& p) { launch(p).args[1].index = 1; }},
      {"arena index", "plan.arg", [](PlanContents& p) { launch(p).args[2].index = 1; }},
      {"input too long", "plan.arg", [](PlanContents& p) { launch(p).args[0].size_bytes = 769; }},
      {"weights too far", "plan.arg",
       [](PlanContents& p) { launch(p).args[1].offset_bytes = 128; }},
      {"weights that are none", "plan.arg", [](PlanContents& p) { target(p).weights_section = 0; }},
      {"arena wraps", "plan.arg",
       [](PlanContents& p) { launch(p).args[2].offset_bytes = ~uint64_t{63}; }},
      {"unaligned", "plan.arg", [](PlanContents& p) { launch(p).args[1].offset_bytes = 32; }},
      {"copy of one", "plan.copy", [](PlanContents& p) { copy(p).args.pop_back(); }},
      {"copy of three", "plan.copy",
       [](PlanContents& p) { copy(p).args.push_back(copy(p).args[0]); }},
      {"copy with a kernel", "plan.copy", [](PlanContents& p) { copy(p).kernel = 1; }},
      {"copy of two sizes", "plan.copy", [](PlanContents& p) { copy(p).args[0].size_bytes = 512; }},
      {"copy into an input", "plan.copy",
       [](PlanContents& p) {
         copy(p).args = {{Space::kArena, 0, 1024, 512}, {Space::kInput, 0, 0, 512}};
       }},
      {"copy into the weights", "plan.copy",
       [](PlanContents& p) {
         copy(p).args = {{Space::kArena, 0, 1024, 256}, {Space::kWeights, 0, 0, 256}};
       }},
      {"copy onto itself", "plan.copy",
       [](PlanContents& p) {
         copy(p).args = {{Space::kArena, 0, 1024, 512}, {Space::kArena, 0, 1472, 512}};
       }},
  });
}

TEST_CASE("rules of goldens") {
  check_changes({
      {"no such target", "plan.golden", [](PlanContents& p) { p.info.goldens[0].target = "x"; }},
      {"no inputs", "plan.section_index",
       [](PlanContents& p) { p.info.goldens[0].inputs_section = 0; }},
      {"outputs are inputs", "plan.section_index",
       [](PlanContents& p) {
         p.info.goldens[0].outputs_section = p.info.goldens[0].inputs_section;
       }},
      {"inputs too short", "plan.golden", [](PlanContents& p) { p.sections[5].bytes.resize(704); }},
      {"outputs not padded", "plan.golden",
       [](PlanContents& p) { p.sections[6].bytes.resize(160); }},
  });
}

}  // namespace
}  // namespace camshaft::plan
