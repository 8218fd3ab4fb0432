// SPDX-License-Identifier: MIT
#include "tools/command/tuner_desktop.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "codegen/render/render.h"
#include "devices/registry.h"
#include "runtime/base/file.h"
#include "tools/command/number_checks.h"
#include "tools/command/output_file.h"
#include "tools/command/text.h"
#include "tools/command/tuning_run_desktop.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr size_t kShownRegions = 5;
// Share of the measuring time in which the result is held against what it replaces.
constexpr double kComparingShare = 0.25;

// The device that a target is measured on: its name for open_device(), "" for a CPU's.
std::string device_spec(const std::string& target, const TuningOptions& options) {
  const Result<render::CpuTarget> made = render::make_target(target);
  if (!made || !made->is_gpu) return "";
  return options.device.empty() ? made->backend : options.device;
}

// The place in the database of what is measured on a device.
Result<std::string> measured_place(const std::string& target, const std::string& device) {
  if (hal::find_backend(devices::backends(), device.substr(0, device.find(':'))) == nullptr) {
    return base::fail(Code::kWrongTarget, "tune.device", "this build has no device '%s'",
                      printable(device).c_str());
  }
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<hal::Device> open,
                      hal::open_device(devices::backends(), device, {}));
  return tune::target_on(target, open->info().name);
}

// Whether --tuning-device names what a target can be measured on.
Status check_device(const TuningOptions& options, const std::vector<std::string>& targets) {
  if (options.device.empty()) return base::ok();
  if (options.db.empty() && options.seconds == 0) {
    return base::fail(Code::kInvalidArgument, "tune.device",
                      "--tuning-device is for --tune and --tuning-db: give one of them, or leave "
                      "it out");
  }
  const std::string backend = options.device.substr(0, options.device.find(':'));
  for (const std::string& target : targets) {
    const Result<render::CpuTarget> made = render::make_target(target);
    if (!made || (made->is_gpu && made->backend == backend)) return base::ok();  // or is told later
  }
  return base::fail(Code::kInvalidArgument, "tune.device",
                    "--tuning-device %s: that is for targets of GPUs, and none of %s runs there; "
                    "leave it out, or name a target's backend first, as in opencl:0",
                    printable(options.device).c_str(), join(targets, ", ").c_str());
}

// What the name of the device that is asked for has in it. A number is one of this machine's.
Result<std::string> wanted_part(const std::string& device) {
  const size_t colon = device.find(':');
  if (colon == std::string::npos) return std::string();
  const std::string part = device.substr(colon + 1);
  size_t number = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error != std::errc() || end != part.data() + part.size()) return part;
  const hal::Backend* backend =
      hal::find_backend(devices::backends(), std::string_view(device).substr(0, colon));
  const std::vector<hal::DeviceInfo> present =
      backend == nullptr ? std::vector<hal::DeviceInfo>() : backend->probe();
  if (number < present.size()) return std::string(present[number].name);
  const std::string last = present.empty()
                               ? "no such device"
                               : format_text("none beyond number %zu", present.size() - 1);
  return base::fail(Code::kWrongTarget, "tune.device",
                    "--tuning-device %s: this machine has %s; name one of another machine by a "
                    "part of its name",
                    printable(device).c_str(), last.c_str());
}

}  // namespace

void add_tuning_options(CLI::App& app, TuningOptions& options) {
  CLI::Option* const seconds =
      app.add_option("--tune", options.seconds,
                     "Measure for so many seconds a target, on this machine, which kernels are "
                     "fastest, where the tuning database doesn't say; compiling what is measured "
                     "takes time beside")
          ->type_name("SECONDS")
          ->check(zero_or_more())
          ->check(CLI::Range(0.0, 1e6));
  if (options.seconds > 0) seconds->capture_default_str();
  app.add_option("--tuning-db", options.db,
                 "The file in which choices are looked up, by target and --threads, and in which "
                 "--tune keeps them")
      ->type_name("FILE");
  app.add_option("--tuning-device", options.device,
                 "The device, such as opencl:1 or opencl:H200, that targets of GPUs are measured "
                 "on, or whose entries of the tuning database are taken")
      ->type_name("NAME");
  app.add_flag("--frozen", options.frozen,
               "Fail where the tuning database has no entry, instead of taking the usual choice");
}

Result<Tuner> Tuner::open(const TuningOptions& options, const std::vector<std::string>& targets) {
  Tuner tuner(options);
  if (options.frozen && (options.db.empty() || options.seconds > 0)) {
    return base::fail(Code::kInvalidArgument, "tune.frozen",
                      options.db.empty() ? "--frozen needs --tuning-db FILE, which says what to do"
                                         : "--frozen and --tune exclude each other: frozen is what "
                                           "is not measured any more");
  }
  CAMSHAFT_TRY(check_device(options, targets));
  if (options.db.empty()) return tuner;
  CAMSHAFT_TRY_ASSIGN(tuner.device_part_, wanted_part(options.device));
  if (options.seconds > 0) {
    CAMSHAFT_TRY(check_writable("--tuning-db", options.db));
    std::error_code ignored;  // writing tells
    if (!std::filesystem::exists(options.db, ignored)) return tuner;
  }
  CAMSHAFT_TRY_ASSIGN(tuner.db_, tune::TuningDb::load(options.db));
  return tuner;
}

Status Tuner::tune(const std::string& model, const emit::CompileOptions& options, Console& console,
                   Json& body) {
  body["tuning"] = Json::array();
  for (const std::string& target : options.targets) {
    emit::CompileOptions single = options;
    single.targets = {target};
    const std::string device = device_spec(target, options_);
    TuningRun run(
        model, single, [&](const lower::Task& task) { return choose(run.target(), task); }, console,
        usual_probe(), device);
    Result<bool> measured = true;
    if (!device.empty()) {
      const Result<std::string> place = measured_place(target, device);
      if (!place && !options_.device.empty()) return place.error();
      if (place) places_[target] = *place;
      if (!place) measured = place.error();
    }
    if (measured) measured = run.measure(options_.seconds);
    if (!measured && measured.error().code() == Code::kWrongTarget) {
      console.forget_sentences();
      console.note(target + " is not tuned: this machine can't run it");
      ++left_out_;
      continue;
    }
    CAMSHAFT_TRY(measured);
    if (!*measured) {
      console.note(run.target() + ": everything is decided already, nothing was measured");
      continue;
    }
    const size_t variants = run.variants();
    const std::vector<TuningRun::Decision> decisions = run.decisions();
    CAMSHAFT_TRY_ASSIGN(const TuningRun::Gain gain,
                        run.compare(decisions, options_.seconds * kComparingShare));
    const bool is_faster = gain.after_s < gain.before_s;
    size_t changed = 0;
    for (const TuningRun::Decision& decision : decisions) {
      if (decision.entry.microseconds < decision.entry.untuned_microseconds) ++changed;
      // Also the usual choices are decided now.
      const tune::TuningEntry& entry = is_faster ? decision.entry : decision.usual;
      db_.put(place_of(run.target()), options.threads, decision.key, entry);
      measured_.put(place_of(run.target()), options.threads, decision.key, entry);
    }
    const std::string times =
        gain.before_s == 0
            ? std::string("the oracle refuses them together")
            : format_text("a run takes %s, %s %s", duration_text(gain.after_s).c_str(),
                          is_faster ? "before" : "without them",
                          duration_text(gain.before_s).c_str());
    console.note(format_text(
        "%s: up to %zu candidates for each of %zu regions measured, %zu refused by the oracle; %s "
        "%zu other choices %s",
        run.target().c_str(), variants, decisions.size(), run.refused(),
        is_faster ? "with" : "nothing is changed: with", changed, times.c_str()));
    body["tuning"].push_back({{"target", run.target()},
                              {"candidates", variants},
                              {"refused", run.refused()},
                              {"regions", decisions.size()},
                              {"changed", is_faster ? changed : 0},
                              {"before_ms", gain.before_s * 1e3},
                              {"after_ms", gain.after_s * 1e3}});
  }
  missing_.clear();
  missing_count_ = 0;
  taken_count_ = 0;
  return base::ok();
}

const std::string& Tuner::place_of(const std::string& target) {
  const auto known = places_.find(target);
  return known != places_.end() ? known->second
                                : places_.emplace(target, find_place(target)).first->second;
}

std::string Tuner::find_place(const std::string& target) {
  if (device_spec(target, options_).empty()) return target;
  const std::vector<std::string> known = db_.devices_of(target);
  std::vector<std::string> fitting;
  for (const std::string& device : known) {
    if (hal::has_part(device, device_part_)) fitting.push_back(device);
  }
  if (fitting.empty()) others_.insert(known.begin(), known.end());
  if (fitting.size() > 1) ambiguous_.insert(fitting.begin(), fitting.end());
  return fitting.size() == 1 ? tune::target_on(target, fitting[0]) : target;
}

std::optional<tune::Choice> Tuner::choose(const std::string& target, const lower::Task& task) {
  const bool is_looked_up = !options_.db.empty() && options_.seconds == 0;
  if (db_.size() == 0 && !is_looked_up) return std::nullopt;
  const tune::TuningEntry* entry = db_.find(place_of(target), task.threads, tune::region_key(task));
  std::optional<tune::Choice> choice;
  if (entry != nullptr) choice = tune::find_candidate(task, entry->strategy, entry->knobs);
  if (choice) ++taken_count_;
  if (!choice && tune::candidates(task, 2).size() > 1) {
    missing_.insert(lower::region_description(task));
    ++missing_count_;
  }
  return choice;
}

Status Tuner::check(Console& console) const {
  if (options_.db.empty()) return base::ok();
  if (missing_count_ == 0) {
    if (taken_count_ == 0 && options_.seconds == 0) {
      console.note("no region has a choice that " + options_.db + " could decide");
    }
    return base::ok();
  }
  std::vector<std::string> shown(missing_.begin(), missing_.end());
  if (shown.size() > kShownRegions) {
    const size_t more = shown.size() - kShownRegions;
    shown.resize(kShownRegions);
    shown.push_back(format_text("and %zu more kinds", more));
  }
  const std::string what =
      format_text("%zu of %zu regions are in %s, not these: %s", taken_count_,
                  taken_count_ + missing_count_, options_.db.c_str(), join(shown, "; ").c_str());
  const auto note_devices = [&](const char* which, const std::set<std::string>& devices) {
    if (devices.empty()) return;
    console.note(options_.db + " has entries of " + which + ": " +
                 join(std::vector<std::string>(devices.begin(), devices.end()), ", "));
  };
  note_devices("several devices: name one with --tuning-device", ambiguous_);
  note_devices("other devices than the one that --tuning-device names", others_);
  if (options_.frozen) {
    return base::fail(Code::kInvalidArgument, "tune.missing",
                      "%s; tune (--tune) with this compiler and the same --target, --threads, "
                      "--dtype and other options of the model, or leave out --frozen",
                      what.c_str());
  }
  if (options_.seconds == 0) console.note(what + "; they get the usual choice");
  return base::ok();
}

Status Tuner::save() {
  if (options_.db.empty() || options_.seconds == 0) return base::ok();
  CAMSHAFT_TRY_ASSIGN(db_, measured_.add_to(options_.db));
  return base::ok();
}

}  // namespace camshaft::command
