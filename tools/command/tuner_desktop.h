// SPDX-License-Identifier: MIT
// Tuning: each region of a model gets the strategy and knobs that were measured to be the fastest
// on this machine, or that a tuning database says.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/emit/compile.h"
#include "codegen/tune/tuning_db.h"
#include "runtime/base/status.h"
#include "tools/command/console.h"

namespace CLI {
class App;
}

namespace camshaft::command {

struct TuningOptions {
  double seconds = 0;  // --tune: of measuring, for each target; 0: nothing is measured
  std::string db;      // --tuning-db: the file; empty: none
  bool frozen = false;
  std::string device;  // --tuning-device: "opencl:1" or "opencl:part of its name"; empty: any
};

void add_tuning_options(CLI::App& app, TuningOptions& options);

class Tuner {
 public:
  // Reads the database. A file that isn't there is an empty one, unless nothing is to be measured.
  // `targets` are those that are compiled.
  static base::Result<Tuner> open(const TuningOptions& options,
                                  const std::vector<std::string>& targets);

  // Measures the regions of `model` for which the database has no entry: compiles it once for each
  // of a region's candidates, all regions changing at once; checks each such plan against the
  // oracle; runs them in turn and takes each region's fastest. What is not faster as a whole is
  // forgotten. Targets that can't run here are left out, with a note. Takes minutes. Adds
  // "tuning" to `body`.
  base::Status tune(const std::string& model, const emit::CompileOptions& options, Console& console,
                    Json& body);

  // What the database says of a region, if this compiler still proposes that. For a GPU's target
  // the entries are those of the device that is tuned or asked for, or of the only one there is.
  std::optional<tune::Choice> choose(const std::string& target, const lower::Task& task);

  // After compiling with choose(). --frozen: fails where a region that has candidates has no
  // usable entry. Otherwise tells how many had one, unless all had.
  base::Status check(Console& console) const;
  // Adds what tune() measured to the database, to which other processes may add at the same time.
  base::Status save();
  // How many targets tune() left out.
  size_t left_out() const { return left_out_; }
  size_t entries() const { return db_.size(); }

 private:
  explicit Tuner(TuningOptions options) : options_(std::move(options)) {}
  // Where in the database a target's entries are.
  const std::string& place_of(const std::string& target);
  std::string find_place(const std::string& target);

  TuningOptions options_;
  std::string device_part_;  // of the name of the device that is asked for; empty: any
  tune::TuningDb db_;
  tune::TuningDb measured_;  // what of it is new
  size_t left_out_ = 0;
  std::map<std::string, std::string> places_;  // by target
  std::set<std::string> ambiguous_;            // devices, of which one must be named
  std::set<std::string> others_;               // devices, all of which another one was named than
  std::set<std::string> missing_;              // descriptions of regions without a usable entry
  size_t missing_count_ = 0;
  size_t taken_count_ = 0;  // regions with one
};

}  // namespace camshaft::command
