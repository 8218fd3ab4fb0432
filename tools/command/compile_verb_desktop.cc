// SPDX-License-Identifier: MIT
#include <sys/sysinfo.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "codegen/emit/compile.h"
#include "codegen/onnx/reader.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/plan/checksum.h"
#include "runtime/plan/signing.h"
#include "tools/command/accuracy_desktop.h"
#include "tools/command/add_goldens_desktop.h"
#include "tools/command/compile_report_desktop.h"
#include "tools/command/driver_binaries.h"
#include "tools/command/dump_files_desktop.h"
#include "tools/command/number_checks.h"
#include "tools/command/output_file.h"
#include "tools/command/text.h"
#include "tools/command/tuner_desktop.h"
#include "tools/command/verb.h"
#include "tools/io/npy.h"

namespace camshaft::command {

const bool kCanCompile = true;
const char* const kCompileSummary = "Compile a model into a plan for one or more targets";

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr const char* kLargestImageText = "16384x16384";

struct Options {
  std::string model;
  std::string output;
  std::vector<std::string> targets = {CAMSHAFT_WITH_LLVM != 0 ? "llvm" : "cpu"};
  std::vector<std::string> shapes;
  std::vector<std::string> frozen;
  std::vector<std::string> bounds;
  std::string dtype = "f32";
  std::optional<double> max_error;
  int threads = 1;
  std::vector<std::string> golden;
  std::vector<std::string> disabled_passes;
  bool no_fuse = false;
  bool no_source = false;
  std::string images = "auto";
  std::string image_limit = kLargestImageText;
  std::vector<std::string> image_inputs;
  std::string dump;
  std::string print;
  std::string sign;
  std::vector<std::string> driver_binaries;
  TuningOptions tuning;
};

// Options about images are for the kernels of GPUs, and would do nothing for others.
Status check_images(const Options& options) {
  const char* option = options.images == "on"                     ? "--images on"
                       : options.image_limit != kLargestImageText ? "--image-limit"
                       : !options.image_inputs.empty()            ? "--image-input"
                                                                  : nullptr;
  if (option == nullptr) return base::ok();
  for (const std::string& target : options.targets) {
    if (target == "opencl" || target.starts_with("opencl:")) return base::ok();
  }
  return base::fail(Code::kInvalidArgument, "compile.images",
                    "%s is for GPUs, and no target is one: add --target opencl, or leave it out",
                    option);
}

Status check_options(const Options& options) {
  CAMSHAFT_TRY(check_images(options));
  CAMSHAFT_TRY(check_not_overwritten(options.output, options.model));
  return check_writable("--output", options.output);
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

// "16384x8192"
Result<schedule::ImageLimit> parse_image_limit(const std::string& text) {
  schedule::ImageLimit limit;
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, limit.width);
  const bool has_width = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
  const auto height =
      has_width ? std::from_chars(width.ptr + 1, end, limit.height) : std::from_chars_result{};
  const auto fits = [](int64_t extent) { return extent >= 1 && extent <= plan::kMaxImageExtent; };
  if (has_width && height.ec == std::errc() && height.ptr == end && fits(limit.width) &&
      fits(limit.height)) {
    return limit;
  }
  return base::fail(
      Code::kInvalidArgument, "compile.image_limit",
      "--image-limit %.60s: give columns and rows, as in 16384x16384, each at most %u",
      text.c_str(), plan::kMaxImageExtent);
}

Result<emit::CompileOptions> compile_options(const Options& options, Console& console,
                                             CompileTrail& trail) {
  CAMSHAFT_TRY_ASSIGN(const onnx::ReaderOptions reader, reader_options(options));
  emit::CompileOptions result;
  result.targets = options.targets;
  result.shapes = reader.shapes;
  result.frozen = reader.frozen;
  result.frozen_text = reader.frozen_text;
  result.bounds = reader.bounds;
  result.float_dtype = *base::dtype_from_name(options.dtype);
  result.threads = options.threads;
  result.fuse = !options.no_fuse;
  result.keep_source = !options.no_source;
  result.images = options.images == "on"    ? emit::Images::kOn
                  : options.images == "off" ? emit::Images::kOff
                                            : emit::Images::kAuto;
  CAMSHAFT_TRY_ASSIGN(result.image_limit, parse_image_limit(options.image_limit));
  result.image_inputs = {options.image_inputs.begin(), options.image_inputs.end()};
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

// Targets on which the dtype costs more than it gives.
void note_dtype(const Options& options, const plan::PlanInfo& info,
                const emit::CompileReport& report, Console& console) {
  std::vector<std::string> storing;
  for (const emit::TargetReport& target : report.targets) {
    if (target.only_stores_dtype) storing.push_back(target.target);
  }
  if (!storing.empty()) {
    console.note(join(storing, " and ") + " can only store " + options.dtype +
                 " and compute in f32: that makes a smaller plan, at the accuracy told here, but "
                 "mostly a slower one than f32");
  }
  if (options.dtype != "f16") return;
  for (const plan::TargetInfo& target : info.targets) {
    const std::vector<std::string>& features = target.features;
    const bool converts = std::find(features.begin(), features.end(), "f16c") != features.end();
    if (target.arch != "x86_64" || converts) continue;
    console.note(target.target +
                 " has no instruction that converts f16, so that every value takes several: "
                 "bf16 is faster there");
  }
}

// Where it is worth telling, or has a limit.
Status tell_accuracy(const Options& options, const plan::PlanContents& contents,
                     CompileTrail& trail, Console& console) {
  if (options.dtype == "f32" && !options.max_error) return base::ok();
  Result<std::vector<TargetAccuracy>> accuracy =
      measure_accuracy(contents, trail.report, options.golden);
  if (!accuracy && !options.max_error) {
    console.forget_sentences();
    console.note("the accuracy is not known: the oracle can't compute the model on random inputs");
    return base::ok();
  }
  CAMSHAFT_TRY(accuracy);
  console.forget_sentences();
  trail.accuracy = std::move(accuracy).value();
  for (const std::string& note : overflow_notes(trail.accuracy, options.dtype)) console.note(note);
  return options.max_error ? check_accuracy(trail.accuracy, *options.max_error, options.dtype)
                           : base::ok();
}

// Options of models would do nothing to a plan.
Status check_plan_options(const Options& options) {
  const Options usual;
  const std::pair<const char*, bool> given[] = {
      {"--target", options.targets != usual.targets},
      {"--shape", !options.shapes.empty()},
      {"--freeze", !options.frozen.empty()},
      {"--bound", !options.bounds.empty()},
      {"--dtype", options.dtype != usual.dtype},
      {"--max-error", options.max_error.has_value()},
      {"--threads", options.threads != usual.threads},
      {"--golden", !options.golden.empty()},
      {"--images", options.images != usual.images},
      {"--image-limit", options.image_limit != usual.image_limit},
      {"--image-input", !options.image_inputs.empty()},
      {"--tune", options.tuning.seconds != usual.tuning.seconds},
      {"--tuning-db", !options.tuning.db.empty()},
      {"--tuning-device", !options.tuning.device.empty()},
      {"--frozen", options.tuning.frozen},
      {"--disable-pass", !options.disabled_passes.empty()},
      {"--no-fuse", options.no_fuse},
      {"--no-source", options.no_source},
      {"--dump", !options.dump.empty()},
      {"--print", !options.print.empty()}};
  for (const auto& [name, is_given] : given) {
    if (!is_given) continue;
    return base::fail(Code::kInvalidArgument, "compile.plan",
                      "%s is compiled already, and %s is for models: compile the model with it, or "
                      "leave it out",
                      options.model.c_str(), name);
  }
  return base::ok();
}

Status compile(const Options& options, Console& console, CompileTrail& trail, Json& body) {
  if (options.model.ends_with(".plan")) {
    CAMSHAFT_TRY(check_plan_options(options));
    return add_to_plan({.plan = options.model,
                        .output = options.output,
                        .devices = options.driver_binaries,
                        .key = {},
                        .sign = options.sign},
                       console, body);
  }
  // What is wrong with options and files is told before any work.
  CAMSHAFT_TRY(check_options(options));
  CAMSHAFT_TRY_ASSIGN(const std::optional<plan::SigningKey> key, load_key(options.sign));
  CAMSHAFT_TRY_ASSIGN(emit::CompileOptions compile, compile_options(options, console, trail));
  CAMSHAFT_TRY_ASSIGN(Tuner tuner, Tuner::open(options.tuning, options.targets));
  if (options.tuning.seconds > 0) {
    CAMSHAFT_TRY(tuner.tune(options.model, compile, console, body));
    CAMSHAFT_TRY(tuner.save());
  }
  compile.choose = [&](const std::string& target, const lower::Task& task) {
    return tuner.choose(target, task);
  };
  Result<plan::PlanContents> contents =
      emit::compile_onnx(options.model, compile, &trail.report, &trail.problems);
  trail.end_ns = base::mono_time_ns();
  // Also after a failure: that is when people want to look.
  if (!options.dump.empty()) {
    CAMSHAFT_TRY(write_representations(options.dump, trail.representations));
  }
  CAMSHAFT_TRY(contents);
  CAMSHAFT_TRY(tuner.check(console));
  // Sentences so far are about attempts that did not matter in the end.
  console.forget_sentences();
  note_memory(contents->info, console);
  note_dtype(options, contents->info, trail.report, console);
  CAMSHAFT_TRY(tell_accuracy(options, *contents, trail, console));
  if (!options.golden.empty()) CAMSHAFT_TRY(add_goldens(options.golden, console, *contents));
  CAMSHAFT_TRY(add_driver_binaries(options.driver_binaries, console, *contents));
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, write_bytes(*contents, key));
  CAMSHAFT_TRY(base::write_file_atomically(options.output, bytes));
  const std::string hash = plan::to_hex(plan::checksum(bytes));
  const WrittenPlan written = {options.model, options.output, bytes.size(), hash};
  body.update(compile_json(trail, written));
  body["goldens"] = contents->info.goldens.size();
  if (!options.print.empty()) {
    const std::string text = select_representation(options.print, trail.representations);
    console.print(text + "\n");
    body["printed"] = text;
  }
  console.print(compile_text(trail, written));
  return base::ok();
}

// `camshaft tune`: the database alone.
Status tune(const Options& options, Console& console, CompileTrail& trail, Json& body) {
  if (options.tuning.db.empty() || options.tuning.seconds <= 0) {
    return base::fail(Code::kInvalidArgument, "tune.options",
                      options.tuning.db.empty()
                          ? "give --tuning-db FILE, in which to keep what is found"
                          : "--tune SECONDS must be above 0");
  }
  CAMSHAFT_TRY(check_images(options));
  CAMSHAFT_TRY_ASSIGN(const emit::CompileOptions compile, compile_options(options, console, trail));
  CAMSHAFT_TRY_ASSIGN(Tuner tuner, Tuner::open(options.tuning, options.targets));
  CAMSHAFT_TRY(tuner.tune(options.model, compile, console, body));
  if (tuner.left_out() == compile.targets.size()) {
    return base::fail(Code::kWrongTarget, "tune.targets",
                      "nothing was tuned: this machine can't run %s; tune where that runs",
                      join(compile.targets, ", ").c_str());
  }
  CAMSHAFT_TRY(tuner.save());
  console.print(printable(options.tuning.db) + ": " + std::to_string(tuner.entries()) +
                " entries\n");
  body["entries"] = tuner.entries();
  return base::ok();
}

using Work = Status (*)(const Options& options, Console& console, CompileTrail& trail, Json& body);

int run(const Options& options, Work work, Console& console) {
  CompileTrail trail;
  Json body = Json::object();
  const Status status = work(options, console, trail, body);
  if (status.is_ok()) return console.finish(std::move(body));
  if (trail.problems.empty()) return console.fail(status);
  std::vector<std::string> sentences;
  for (const onnx::Problem& problem : trail.problems) sentences.push_back(to_string(problem));
  return console.fail(status.code(), sentences, {{"problems", problems_json(trail.problems)}});
}

void declare_storage_options(CLI::App& app, Options& options) {
  app.add_option("--dtype", options.dtype,
                 "What weights and the values between kernels are stored in, and products computed "
                 "from: f32, f16 or bf16. Sums and all else are f32. compile prints the accuracy")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  app.add_option("--images", options.images,
                 "Whether the kernels of GPUs take weights and the values between them as images, "
                 "which texture units read: auto (on for opencl:qcom), on or off")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  app.add_option("--image-limit", options.image_limit,
                 "The largest image, in texels, that devices of the target have; what is larger is "
                 "a buffer")
      ->type_name("WxH")
      ->capture_default_str();
  app.add_option(
         "--image-input", options.image_inputs,
         "An input, of u8, f32 or f16, that the kernels of GPUs take as an image of RGBA texels, "
         "so that a caller's image can be read in place. Its last extent is a multiple of 4, and "
         "with the one before it makes the image's rows, as in [1, height, width, 4]")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

// What decides about the model and its kernels, and so about tuning.
void declare_model_options(CLI::App& app, Options& options) {
  app.add_option("MODEL", options.model, "The ONNX model")->required();
  app.add_option(
         "--target,-t", options.targets,
         "Targets, such as llvm,cpu: llvm[:MARCH] (LLVM IR, in process) or cpu[:MARCH] (C by "
         "clang), without MARCH for this machine's processor; opencl[:qcom], which the driver "
         "compiles")
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
                 "large a result is, or how often a loop runs; NAME is the number's, or that of "
                 "the node that needs it (a NonZero, a Loop, ...) or of an output of that node. A "
                 "run that needs more fails")
      ->type_name("N")
      ->allow_extra_args(false);
  app.add_option("--threads,-j", options.threads, "Most threads that share a kernel at run time")
      ->type_name("N")
      ->check(CLI::Range(1u, plan::kMaxThreads))
      ->capture_default_str();
  declare_storage_options(app, options);
  add_tuning_options(app, options.tuning);
}

void declare_options(CLI::App& app, Options& options) {
  declare_model_options(app, options);
  app.add_option("--output,-o", options.output, "The plan file to write")
      ->type_name("FILE")
      ->required();
  app.add_option("--max-error", options.max_error,
                 "Write no plan whose outputs differ from the model's, computed in double "
                 "precision, by more: root mean square, relative to the output's")
      ->type_name("E")
      ->check(zero_or_more());
  app.add_option("--golden,-g", options.golden,
                 "Store these inputs (FILE.npz, or as run --input) and the outputs that the plan "
                 "gives here, for 'camshaft verify'")
      ->type_name("INPUT")
      ->allow_extra_args(false);
  app.add_option("--sign", options.sign, "Sign with the Ed25519 key in this file")
      ->type_name("FILE");
  add_driver_binary_option(app, options.driver_binaries);
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
      "  camshaft compile vad.onnx -o vad.plan --freeze sr=16000 --shape input=1x512 "
      "--shape state=2x1x128\n"
      "  camshaft compile detector.onnx -o detector.plan --bound boxes=300\n"
      "  camshaft compile net.plan -o net.plan --driver-binary opencl:0   (where it is to run)");
}

}  // namespace

Action declare_compile(CLI::App& app) {
  auto options = std::make_shared<Options>();
  declare_options(app, *options);
  return [options](Console& console) { return run(*options, compile, console); };
}

Action declare_tune(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->tuning.seconds = 10;
  declare_model_options(app, *options);
  app.footer(
      "Measures here, and keeps what is found in the database for compile --tuning-db. What is\n"
      "in the file already isn't measured again: remove the file to begin anew.\n\n"
      "Example:\n"
      "  camshaft tune net.onnx --tuning-db net.tuning --target llvm,cpu --tune 30\n"
      "  camshaft compile net.onnx --tuning-db net.tuning --target llvm,cpu -o net.plan");
  return [options](Console& console) { return run(*options, tune, console); };
}

}  // namespace camshaft::command
