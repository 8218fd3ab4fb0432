// SPDX-License-Identifier: MIT
// What a dtype narrower than the model's costs in accuracy: a compiled plan's outputs against the
// model's in double precision.
#pragma once

#include <string>
#include <vector>

#include "codegen/emit/compile.h"
#include "runtime/base/status.h"
#include "runtime/plan/writer.h"
#include "tools/command/difference.h"
#include "tools/io/json.h"

namespace camshaft::command {

struct TargetAccuracy {
  std::string target;
  bool ran = false;  // here; else the oracle computed what it compiled
  std::vector<NamedDifference> outputs;
};

// Of each target, for the inputs in `golden` (as --golden names them), random ones where there are
// none. `report` is that of the compilation. Takes as long as the oracle does, once, or twice where
// this machine can't run a target.
base::Result<std::vector<TargetAccuracy>> measure_accuracy(const plan::PlanContents& contents,
                                                           const emit::CompileReport& report,
                                                           const std::vector<std::string>& golden);

// kOutOfTolerance, with a sentence for each output whose relative RMS error is above `max_error`.
// `dtype` is what the plan was compiled with: advice for one of f32 is another.
base::Status check_accuracy(const std::vector<TargetAccuracy>& accuracy, double max_error,
                            const std::string& dtype);

// A sentence for each output with values that are infinite or NaN where the model's are finite.
std::vector<std::string> overflow_notes(const std::vector<TargetAccuracy>& accuracy,
                                        const std::string& dtype);

std::string accuracy_text(const std::vector<TargetAccuracy>& accuracy);
// [{"target", "ran", "outputs": [{"name", "not_finite_alone", "max_abs", "max_rel",
// "relative_rms", "snr_db"}]}]; numbers that are infinite become null.
io::Json accuracy_json(const std::vector<TargetAccuracy>& accuracy);

}  // namespace camshaft::command
