// SPDX-License-Identifier: MIT
#include "tools/command/plan_runner.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "devices/registry.h"
#include "runtime/session/target.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;

// Threads that the plan's launches for a kind of device want at most.
uint32_t threads_for(const plan::PlanInfo& info, std::string_view backend) {
  uint32_t threads = 1;
  for (const plan::TargetInfo& target : info.targets) {
    if (target.device == backend) threads = std::max(threads, target.threads);
  }
  return threads;
}

Result<std::unique_ptr<hal::Device>> open_one(const plan::PlanInfo& info, const std::string& spec,
                                              const RunnerOptions& runner_options) {
  hal::OpenOptions options;
  options.threads = threads_for(info, spec.substr(0, spec.find(':')));
  options.cpus = runner_options.cpus;
  return hal::open_device(devices::backends(), spec, options);
}

// The kinds of devices that the plan has wanted targets for, in their order.
std::vector<std::string> backends_of(const plan::PlanInfo& info, const std::string& wanted) {
  std::vector<std::string> names;
  for (const plan::TargetInfo& target : info.targets) {
    if (!session::is_wanted(target, wanted)) continue;
    if (std::find(names.begin(), names.end(), target.device) == names.end()) {
      names.push_back(target.device);
    }
  }
  return names;
}

Status not_in_this_build(const std::vector<std::string>& wanted) {
  std::vector<std::string> known;
  for (const hal::Backend& backend : devices::backends()) known.push_back(backend.name);
  return base::fail(Code::kWrongTarget, "runner.backend",
                    "the plan is for %s devices; this build has: %s", join(wanted, ", ").c_str(),
                    join(known, ", ").c_str());
}

}  // namespace

void add_plan_options(CLI::App& app, PlanOptions& options, bool runs) {
  app.add_option("PLAN", options.path, "The plan file")->required();
  app.add_option("--key", options.key,
                 "File of the public key with which the plan must be signed (32 bytes or hex)")
      ->type_name("FILE");
  if (!runs) return;
  app.add_option("--device,-d", options.device,
                 "Device to run on, as 'camshaft devices' lists it, such as cpu; by default the "
                 "first that fits the plan")
      ->type_name("NAME");
  app.add_option("--target", options.target, "Target to take from a plan that holds several")
      ->type_name("NAME");
}

Result<plan::PlanFile> open_plan_file(const std::string& path, const std::string& key) {
  plan::ReadOptions options;
  if (!key.empty()) {
    CAMSHAFT_TRY_ASSIGN(options.public_key, plan::load_public_key(key));
  }
  return plan::PlanFile::open(path, options);
}

Status PlanRunner::open_device(const PlanOptions& options, const RunnerOptions& runner_options) {
  if (!options.device.empty()) {
    CAMSHAFT_TRY_ASSIGN(device_, open_one(info(), options.device, runner_options));
    return base::ok();
  }
  CAMSHAFT_TRY(session::check_wanted(info(), options.target));
  const std::vector<std::string> names = backends_of(info(), options.target);
  Status failure;
  for (const std::string& name : names) {
    if (hal::find_backend(devices::backends(), name) == nullptr) continue;
    Result<std::unique_ptr<hal::Device>> device = open_one(info(), name, runner_options);
    if (device) {
      failure = session::choose_target(info(), (*device)->info(), options.target).error();
      device_ = std::move(device).value();
      if (failure.is_ok()) return failure;
    } else {
      failure = device.error();
    }
  }
  return failure.is_ok() ? not_in_this_build(names) : failure;
}

Result<std::unique_ptr<PlanRunner>> PlanRunner::open(plan::PlanFile file,
                                                     const PlanOptions& options,
                                                     const RunnerOptions& runner_options) {
  std::unique_ptr<PlanRunner> runner(new PlanRunner(std::move(file)));
  CAMSHAFT_TRY(runner->open_device(options, runner_options));
  session::SessionOptions session_options;
  session_options.target = options.target;
  session_options.profile = runner_options.profile;
  CAMSHAFT_TRY_ASSIGN(runner->session_,
                      session::Session::open(runner->file_, *runner->device_, session_options));
  return runner;
}

Status PlanRunner::set_inputs(std::span<const io::Tensor> inputs) {
  CAMSHAFT_CHECK(inputs.size() == info().inputs.size());
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    CAMSHAFT_TRY(session_->set_input(i, {inputs[i].dtype, inputs[i].shape, inputs[i].bytes}));
  }
  return base::ok();
}

Result<std::vector<io::Tensor>> PlanRunner::outputs() const {
  std::vector<io::Tensor> tensors;
  for (uint32_t i = 0; i < info().outputs.size(); ++i) {
    CAMSHAFT_TRY_ASSIGN(const base::Bytes bytes, session_->output(i));
    const plan::TensorInfo& output = info().outputs[i];
    tensors.push_back({output.dtype, output.shape, {bytes.begin(), bytes.end()}});
  }
  return tensors;
}

Result<std::vector<io::Tensor>> PlanRunner::run(std::span<const io::Tensor> inputs) {
  CAMSHAFT_TRY(set_inputs(inputs));
  CAMSHAFT_TRY(session_->run({}));
  return outputs();
}

Result<std::vector<io::Tensor>> run_once(base::Bytes plan, const std::string& target,
                                         std::span<const io::Tensor> inputs) {
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, plan::PlanFile::from_bytes(plan));
  PlanOptions options;
  options.target = target;
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), options));
  return runner->run(inputs);
}

}  // namespace camshaft::command
