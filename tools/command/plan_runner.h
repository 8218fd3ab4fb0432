// SPDX-License-Identifier: MIT
// A plan file, open on a device: what run, bench, compare, verify and compile --golden share.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "devices/hal/device.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"
#include "runtime/plan/reader.h"
#include "runtime/session/session.h"
#include "tools/io/tensor.h"

namespace CLI {
class App;
}

namespace camshaft::command {

// As given on the command line.
struct PlanOptions {
  std::string path;
  std::string key;     // file of a public key; empty: signatures are not looked at
  std::string device;  // "cpu", "opencl:1"; empty: the first device that one of the targets fits
  std::string target;  // "llvm" or "llvm:znver3"; empty: the first that fits the device
};

// The positional PLAN and --key; with `runs` also --device and --target.
void add_plan_options(CLI::App& app, PlanOptions& options, bool runs);

// Opens the file, and checks its signature if a key is given.
base::Result<plan::PlanFile> open_plan_file(const std::string& path, const std::string& key);

struct RunnerOptions {
  bool profile = false;
  std::vector<uint32_t> cpus;  // empty, or a CPU for each thread
};

class PlanRunner {
 public:
  // Takes the plan over. kWrongTarget where no device here can run it.
  static base::Result<std::unique_ptr<PlanRunner>> open(plan::PlanFile file,
                                                        const PlanOptions& options,
                                                        const RunnerOptions& runner_options = {});
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  const plan::PlanFile& file() const { return file_; }
  const plan::PlanInfo& info() const { return file_.info(); }
  session::Session& session() { return *session_; }
  const hal::DeviceInfo& device() const { return device_->info(); }

  // Sets the inputs, which are in the plan's order, runs once and copies the outputs: all of the
  // plan's, in full (model_outputs.h cuts them to what the model means).
  base::Result<std::vector<io::Tensor>> run(std::span<const io::Tensor> inputs);
  base::Status set_inputs(std::span<const io::Tensor> inputs);
  // What the last run wrote.
  base::Result<std::vector<io::Tensor>> outputs() const;

 private:
  explicit PlanRunner(plan::PlanFile file) : file_(std::move(file)) {}
  base::Status open_device(const PlanOptions& options, const RunnerOptions& runner_options);

  plan::PlanFile file_;
  std::unique_ptr<hal::Device> device_;
  std::unique_ptr<session::Session> session_;  // goes first
};

// The outputs of one run of `target` of a plan, which must outlive the call.
base::Result<std::vector<io::Tensor>> run_once(base::Bytes plan, const std::string& target,
                                               std::span<const io::Tensor> inputs);

}  // namespace camshaft::command
