// SPDX-License-Identifier: MIT
// What `camshaft compare` holds a plan against: another plan, or the model run by ONNX Runtime or
// by the oracle.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/reader.h"
#include "tools/command/console.h"
#include "tools/command/difference.h"
#include "tools/io/tensor.h"

namespace camshaft::command {

class Reference {
 public:
  virtual ~Reference() = default;
  virtual const std::string& engine() const = 0;  // "plan", "onnxruntime", "oracle"
  // The outputs for these inputs, which are in the plan's order and of its types: a tensor for each
  // of the plan's outputs that the model has (model_outputs.h), in its order and of its dtype; of
  // its shape too, except where extents depend on data. May take long.
  virtual base::Result<std::vector<io::Tensor>> run(std::span<const io::Tensor> inputs) = 0;
  // Why results may differ from the model's that the plan is not to blame for, and what to do: an
  // end for a sentence, or "".
  virtual std::string caveat() const { return ""; }
};

struct ReferenceOptions {
  std::string path;
  std::string engine;  // for models: "onnxruntime", "oracle"
  std::string device;  // for plans
};

// `plan`, which is held against it, must outlive the reference. Inputs that the plan has frozen get
// the same values there. Fails where the reference's inputs or outputs are others.
base::Result<std::unique_ptr<Reference>> open_reference(const ReferenceOptions& options,
                                                        const plan::PlanFile& plan);

// Tensors by name, for each of the plan's outputs that the model has; kInvalidArgument where some
// are missing or of another type, with a sentence for each. `who` names the reference in sentences.
base::Result<std::vector<io::Tensor>> select_outputs(const plan::PlanInfo& info,
                                                     std::vector<io::NamedTensor> tensors,
                                                     const std::string& who);

// The inputs that a plan has frozen, and their values.
std::vector<io::NamedTensor> frozen_inputs(const plan::PlanFile& plan);

// Whether a file begins as plans do; false also where it can't be read.
bool is_plan_file(const std::string& path);

// --- The model itself: model_reference_desktop.cc, bisect_desktop.cc; the device build refuses.
// ---

base::Result<std::unique_ptr<Reference>> open_model_reference(const ReferenceOptions& options,
                                                              const plan::PlanFile& plan);

struct BisectOptions {
  std::string model;
  std::string target;  // that ran, in full
  std::string device;
  Tolerance tolerance;
  std::vector<io::Tensor> outputs;  // what the plan gave for the inputs, all of them
};

// Finds out where a plan's results part from its model's, for inputs for which they do: is it that
// model's plan; is it the reference; is it the rounding of --dtype; then among the compiler's
// passes, then among the values that kernels hand to one another. Says so on the console and in
// `body`: {"stage": "model", "reference", "dtype", "pass", "kernel" or "none", ...}. Takes as long
// as the oracle does, a few times.
base::Status bisect(const BisectOptions& options, const plan::PlanFile& plan,
                    std::span<const io::Tensor> inputs, Console& console, Json& body);

}  // namespace camshaft::command
