// SPDX-License-Identifier: MIT
#include <sys/sysinfo.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "codegen/emit/compile.h"
#include "codegen/onnx/reader.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/plan/checksum.h"
#include "runtime/plan/signing.h"
#include "tools/command/add_goldens_desktop.h"
#include "tools/command/dump_files_desktop.h"
#include "tools/command/output_file.h"
#include "tools/command/table.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"
#include "tools/io/npy.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;

struct Options {
  std::string model;
  std::string output;
  std::vector<std::string> targets = {CAMSHAFT_WITH_LLVM != 0 ? "llvm" : "cpu"};
  std::vector<std::string> shapes;
  std::vector<std::string> frozen;
  std::vector<std::string> bounds;
  std::string dtype = "f32";
  int threads = 1;
  std::vector<std::string> golden;
  std::vector<std::string> disabled_passes;
  bool no_fuse = false;
  bool no_source = false;
  std::string dump;
  std::string print;
  std::string sign;
};

struct Step {
  std::string what;
  int64_t start_ns = 0;
};

// What a compilation leaves besides the plan's contents.
struct Trail {
  emit::CompileReport report;
  std::vector<onnx::Problem> problems;
  std::vector<Step> steps;
  int64_t end_ns = 0;
  std::vector<Representation> representations;
};

Status check_options(const Options& options) {
  if (options.dtype != "f32") {
    return base::fail(Code::kUnsupported, "compile.dtype",
                      "--dtype %s: only f32 can be compiled so far", options.dtype.c_str());
  }
  if (options.model.ends_with(".toml")) {
    return base::fail(Code::kUnsupported, "compile.pipeline",
                      "%s: pipelines can't be compiled so far, only ONNX models",
                      options.model.c_str());
  }
  CAMSHAFT_TRY(check_not_overwritten(options.output, options.model));
  return check_writable(options.output);
}

// NAME=FILE.npy: the name ends at the last '=' before a file that is there.
Result<bool> add_frozen_file(const std::string& text, onnx::ReaderOptions& reader) {
  if (!text.ends_with(".npy")) return false;
  size_t equals = text.rfind('=');
  for (size_t at = equals; at != std::string::npos && at > 0; at = text.rfind('=', at - 1)) {
    if (!std::filesystem::exists(text.substr(at + 1))) continue;
    equals = at;
    break;
  }
  if (equals == std::string::npos || equals == 0) return false;
  CAMSHAFT_TRY_ASSIGN(io::Tensor tensor, io::read_npy(text.substr(equals + 1)));
  const std::string name = text.substr(0, equals);
  ir::Literal literal{{tensor.dtype, std::move(tensor.shape)}, std::move(tensor.bytes)};
  const bool is_new =
      !reader.frozen_text.contains(name) &&
      reader.frozen.emplace(name, std::make_shared<const ir::Literal>(std::move(literal))).second;
  if (is_new) return true;
  return base::fail(Code::kInvalidArgument, "compile.freeze",
                    "--freeze %.100s: a value was given before", name.c_str());
}

Result<onnx::ReaderOptions> reader_options(const Options& options) {
  onnx::ReaderOptions reader;
  for (const std::string& shape : options.shapes) {
    CAMSHAFT_TRY(onnx::add_shape_option(shape, &reader));
  }
  for (const std::string& frozen : options.frozen) {
    CAMSHAFT_TRY_ASSIGN(const bool is_file, add_frozen_file(frozen, reader));
    if (!is_file) CAMSHAFT_TRY(onnx::add_freeze_option(frozen, &reader));
  }
  for (const std::string& bound : options.bounds) {
    CAMSHAFT_TRY(onnx::add_bound_option(bound, &reader));
  }
  return reader;
}

Result<emit::CompileOptions> compile_options(const Options& options, Console& console,
                                             Trail& trail) {
  CAMSHAFT_TRY_ASSIGN(const onnx::ReaderOptions reader, reader_options(options));
  emit::CompileOptions result;
  result.targets = options.targets;
  result.shapes = reader.shapes;
  result.frozen = reader.frozen;
  result.frozen_text = reader.frozen_text;
  result.bounds = reader.bounds;
  result.threads = options.threads;
  result.fuse = !options.no_fuse;
  result.keep_source = !options.no_source;
  result.disabled_passes = {options.disabled_passes.begin(), options.disabled_passes.end()};
  result.progress = [&](int step, int steps, const std::string& what) {
    console.tell_notices();
    console.progress(step, steps, what);
    trail.steps.push_back({what, base::mono_time_ns()});
  };
  if (!options.dump.empty() || !options.print.empty()) {
    result.dump = [&](const std::string& title, const std::string& text) {
      trail.representations.push_back({title, text});
    };
  }
  return result;
}

Result<std::optional<plan::SigningKey>> load_key(const std::string& path) {
  if (path.empty()) return std::optional<plan::SigningKey>();
  CAMSHAFT_TRY_ASSIGN(plan::SigningKey key, plan::SigningKey::load(path));
  return std::optional<plan::SigningKey>(std::move(key));
}

Result<std::vector<std::byte>> write_bytes(const plan::PlanContents& contents,
                                           const std::optional<plan::SigningKey>& key) {
  CAMSHAFT_TRY_ASSIGN(std::vector<std::byte> bytes, plan::write_plan(contents));
  if (!key) return bytes;
  return plan::sign_plan(bytes, *key);
}

// Whoever compiles for this machine should hear now that it can't run the plan.
void note_memory(const plan::PlanInfo& info, Console& console) {
  struct sysinfo system = {};
  if (::sysinfo(&system) != 0) return;
  const uint64_t memory_bytes = uint64_t{system.totalram} * system.mem_unit;
  for (const plan::TargetInfo& target : info.targets) {
    const uint64_t wanted_bytes = plan::run_bytes(info, target);
    if (wanted_bytes <= memory_bytes) continue;
    console.note(format_text(
        "%s needs %s of memory to run, more than the %s of this machine; "
        "compile for smaller inputs (--shape) or bounds (--bound), or run it "
        "on a larger machine",
        target.target.c_str(), bytes_text(wanted_bytes).c_str(), bytes_text(memory_bytes).c_str()));
  }
}

double step_seconds(const Trail& trail, size_t step) {
  const int64_t end_ns =
      step + 1 < trail.steps.size() ? trail.steps[step + 1].start_ns : trail.end_ns;
  return static_cast<double>(end_ns - trail.steps[step].start_ns) * 1e-9;
}

std::string targets_text(const Trail& trail) {
  Table table({{"target"},
               {"nodes", Align::kRight},
               {"launches", Align::kRight},
               {"kernels", Align::kRight},
               {"work", Align::kRight},
               {"arena", Align::kRight},
               {"at least", Align::kRight},
               {"weights", Align::kRight},
               {"binary", Align::kRight},
               {"strategies"}});
  for (const emit::TargetReport& target : trail.report.targets) {
    std::vector<std::string> strategies;
    for (const auto& [name, count] : target.strategies) {
      strategies.push_back(format_text("%d %s", count, name.c_str()));
    }
    table.add_row({target.target, std::to_string(target.nodes), std::to_string(target.regions),
                   std::to_string(target.kernels), flops_text(static_cast<double>(target.flops)),
                   bytes_text(static_cast<uint64_t>(target.arena_bytes)),
                   bytes_text(static_cast<uint64_t>(target.arena_lower_bound_bytes)),
                   bytes_text(static_cast<uint64_t>(target.weight_bytes)),
                   bytes_text(static_cast<uint64_t>(target.binary_bytes)), join(strategies, ", ")});
  }
  return table.text();
}

// What speed costs in accuracy.
std::string accuracy_text(const Trail& trail) {
  std::string text;
  for (const emit::TargetReport& target : trail.report.targets) {
    if (target.winograd_error == 0) continue;
    text += format_text(
        "%s: rounding errors of a Winograd convolution are up to %.1e of its result (rms)\n",
        target.target.c_str(), target.winograd_error);
  }
  return text.empty() ? text : "\n" + text;
}

std::string report_text(const Options& options, const Trail& trail, size_t file_bytes,
                        const std::string& hash) {
  Table steps({{"step"}, {"time", Align::kRight}});
  for (size_t i = 0; i < trail.steps.size(); ++i) {
    steps.add_row({trail.steps[i].what, duration_text(step_seconds(trail, i))});
  }
  return targets_text(trail) + accuracy_text(trail) + "\n" + steps.text() + "\n" +
         printable(options.output) + ": " + bytes_text(file_bytes) + ", hash " + hash + "\n";
}

Json report_json(const Options& options, const Trail& trail, size_t file_bytes,
                 const std::string& hash) {
  Json json = {{"model", options.model},
               {"plan", options.output},
               {"file_bytes", file_bytes},
               {"hash", hash},
               {"nodes_read", trail.report.nodes}};
  json["targets"] = Json::array();
  for (const emit::TargetReport& target : trail.report.targets) {
    json["targets"].push_back({{"target", target.target},
                               {"nodes", target.nodes},
                               {"launches", target.regions},
                               {"kernels", target.kernels},
                               {"strategies", target.strategies},
                               {"flops", target.flops},
                               {"arena_bytes", target.arena_bytes},
                               {"arena_lower_bound_bytes", target.arena_lower_bound_bytes},
                               {"weights_bytes", target.weight_bytes},
                               {"binary_bytes", target.binary_bytes},
                               {"winograd_error", target.winograd_error},
                               {"seconds", target.seconds}});
  }
  json["steps"] = Json::array();
  for (size_t i = 0; i < trail.steps.size(); ++i) {
    json["steps"].push_back({{"what", trail.steps[i].what}, {"seconds", step_seconds(trail, i)}});
  }
  return json;
}

Json problems_json(const std::vector<onnx::Problem>& problems) {
  Json list = Json::array();
  for (const onnx::Problem& problem : problems) {
    list.push_back({{"kind", base::code_name(problem.code)},
                    {"node", problem.node},
                    {"op_type", problem.op_type},
                    {"sentence", problem.sentence}});
  }
  return list;
}

Status compile(const Options& options, Console& console, Trail& trail, Json& body) {
  // What is wrong with options and files is told before any work.
  CAMSHAFT_TRY(check_options(options));
  CAMSHAFT_TRY_ASSIGN(const std::optional<plan::SigningKey> key, load_key(options.sign));
  CAMSHAFT_TRY_ASSIGN(const emit::CompileOptions compile, compile_options(options, console, trail));
  Result<plan::PlanContents> contents =
      emit::compile_onnx(options.model, compile, &trail.report, &trail.problems);
  trail.end_ns = base::mono_time_ns();
  // Also after a failure: that is when people want to look.
  if (!options.dump.empty()) {
    CAMSHAFT_TRY(write_representations(options.dump, trail.representations));
  }
  CAMSHAFT_TRY(contents);
  // Sentences so far are about attempts that did not matter in the end.
  console.forget_sentences();
  note_memory(contents->info, console);
  if (!options.golden.empty()) CAMSHAFT_TRY(add_goldens(options.golden, console, *contents));
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, write_bytes(*contents, key));
  CAMSHAFT_TRY(base::write_file_atomically(options.output, bytes));
  const std::string hash = plan::to_hex(plan::checksum(bytes));
  body = report_json(options, trail, bytes.size(), hash);
  body["goldens"] = contents->info.goldens.size();
  if (!options.print.empty()) {
    const std::string text = select_representation(options.print, trail.representations);
    console.print(text + "\n");
    body["printed"] = text;
  }
  console.print(report_text(options, trail, bytes.size(), hash));
  return base::ok();
}

int run(const Options& options, Console& console) {
  Trail trail;
  Json body = Json::object();
  const Status status = compile(options, console, trail, body);
  if (status.is_ok()) return console.finish(std::move(body));
  if (trail.problems.empty()) return console.fail(status);
  std::vector<std::string> sentences;
  for (const onnx::Problem& problem : trail.problems) sentences.push_back(to_string(problem));
  return console.fail(status.code(), sentences, {{"problems", problems_json(trail.problems)}});
}

void declare_options(CLI::App& app, Options& options) {
  app.add_option("MODEL", options.model, "The ONNX model")->required();
  app.add_option("--output,-o", options.output, "The plan file to write")
      ->type_name("FILE")
      ->required();
  app.add_option(
         "--target,-t", options.targets,
         "Targets, such as llvm,cpu: llvm[:MARCH] (LLVM IR, in process) or cpu[:MARCH] (C by "
         "clang); without MARCH for this machine's processor")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--shape,-s", options.shapes,
                 "NAME=1x3x224x224 of an input, or NAME=1 of a free dimension")
      ->type_name("SHAPE")
      ->allow_extra_args(false);
  app.add_option(
         "--freeze,-f", options.frozen,
         "NAME=16000, NAME=1,2,3 or NAME=FILE.npy: an input that is to be a constant of the "
         "plan. One number fills an input of any shape that is known")
      ->type_name("VALUE")
      ->allow_extra_args(false);
  app.add_option("--bound,-b", options.bounds,
                 "NAME=300: the most that a number can be which depends on data and decides how "
                 "large a result is, or how often a loop runs; NAME is the number's, its node's or "
                 "an output's of that. A run that needs more fails")
      ->type_name("N")
      ->allow_extra_args(false);
  app.add_option("--dtype", options.dtype, "Type to compute in: f32")
      ->type_name("TYPE")
      ->capture_default_str();
  app.add_option("--threads,-j", options.threads, "Most threads that share a kernel at run time")
      ->type_name("N")
      ->check(CLI::Range(1u, plan::kMaxThreads))
      ->capture_default_str();
  app.add_option("--golden,-g", options.golden,
                 "Store these inputs (FILE.npz, or as run --input) and the outputs that the plan "
                 "gives here, for 'camshaft verify'")
      ->type_name("INPUT")
      ->allow_extra_args(false);
  app.add_option("--sign", options.sign, "Sign with the Ed25519 key in this file")
      ->type_name("FILE");
  app.add_option("--disable-pass", options.disabled_passes,
                 "Leave out a pass, to find a wrong one; 'graph after NAME' of --dump names them")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--no-fuse", options.no_fuse, "A kernel a node, to find a wrong fusion");
  app.add_flag("--no-source", options.no_source, "Don't store the kernels' text in the plan");
  app.add_option("--dump", options.dump, "Write every representation as text into this folder")
      ->type_name("FOLDER");
  app.add_option("--print", options.print, "Print the final graph or schedule")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"graph", "schedule"}));
  app.footer(
      "The same model and options give the same bytes; the hash is that of 'xxh128sum PLAN'.\n"
      "The plan is replaced as a whole, and only by a plan that is complete. Outputs whose\n"
      "extents depend on data are as large as they can be; a run says how long they are.\n\n"
      "Examples:\n"
      "  camshaft compile resnet18.onnx -o resnet18.plan --shape input=1x3x224x224\n"
      "  camshaft compile net.onnx -o net.plan --target llvm:znver3,llvm:cortex-a76 "
      "--threads 2\n"
      "  camshaft compile vad.onnx -o vad.plan --freeze sr=16000 --shape input=1x512\n"
      "  camshaft compile detector.onnx -o detector.plan --bound boxes=300");
}

}  // namespace

Action declare_compile(CLI::App& app) {
  auto options = std::make_shared<Options>();
  declare_options(app, *options);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace camshaft::command
