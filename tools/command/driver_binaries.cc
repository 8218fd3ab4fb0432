// SPDX-License-Identifier: MIT
#include "tools/command/driver_binaries.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "runtime/base/file.h"
#include "runtime/plan/checksum.h"
#include "runtime/plan/signing.h"
#include "tools/command/output_file.h"
#include "tools/command/plan_runner.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;
using base::Status;

struct Harvest {
  std::string target;
  std::vector<hal::DriverBinary> binaries;
};

Result<Harvest> harvest(const std::string& device, const plan::PlanContents& contents) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, plan::write_plan(contents));
  CAMSHAFT_TRY_ASSIGN(plan::PlanFile file, plan::PlanFile::from_bytes(bytes));
  PlanOptions options;
  options.device = device;
  CAMSHAFT_TRY_ASSIGN(const std::unique_ptr<PlanRunner> runner,
                      PlanRunner::open(std::move(file), options));
  // Of inputs that are all zero. Their outputs don't matter, nor whether they mean anything.
  if (const Result<session::RunResult> run = runner->session().run({});
      !run && run.error().code() != Code::kBoundExceeded) {
    return run.error();
  }
  Harvest harvest;
  harvest.target = runner->session().target().target;
  CAMSHAFT_TRY_ASSIGN(harvest.binaries, runner->session().driver_binaries());
  return harvest;
}

void add(hal::DriverBinary binary, plan::TargetInfo& target, plan::PlanContents& contents) {
  std::vector<plan::DriverBinaryInfo>& known = target.driver_binaries;
  const auto same = std::find_if(known.begin(), known.end(), [&](const auto& each) {
    return each.driver == binary.driver && each.digest == binary.digest;
  });
  if (same != known.end()) {
    contents.sections[same->section - 1].bytes = std::move(binary.bytes);
    return;
  }
  known.push_back(
      {.driver = std::move(binary.driver),
       .digest = std::move(binary.digest),
       .section = contents.add_section(plan::SectionKind::kDriverBinary, std::move(binary.bytes))});
}

}  // namespace

void add_driver_binary_option(CLI::App& app, std::vector<std::string>& devices) {
  app.add_option("--driver-binary", devices,
                 "Also store what the driver of this device, such as opencl:0, makes of the "
                 "kernels, so that loading the plan there is quick")
      ->type_name("DEVICE")
      ->allow_extra_args(false);
}

Status add_driver_binaries(const std::vector<std::string>& devices, Console& console,
                           plan::PlanContents& contents) {
  for (const std::string& device : devices) {
    CAMSHAFT_TRY_ASSIGN(Harvest found, harvest(device, contents));
    // What was said of binaries that are now replaced.
    console.forget_sentences();
    const auto target =
        std::find_if(contents.info.targets.begin(), contents.info.targets.end(),
                     [&](const plan::TargetInfo& each) { return each.target == found.target; });
    for (hal::DriverBinary& binary : found.binaries) {
      console.note(format_text("binary of %s: %s", binary.driver.c_str(),
                               bytes_text(binary.bytes.size()).c_str()));
      add(std::move(binary), *target, contents);
    }
  }
  return base::ok();
}

plan::PlanContents contents_of(const plan::PlanFile& file) {
  plan::PlanContents contents;
  contents.info = file.info();
  for (const plan::SectionView& section : file.sections().subspan(1)) {
    contents.sections.push_back(
        {section.kind, section.flags, {section.bytes.begin(), section.bytes.end()}});
  }
  return contents;
}

Status add_to_plan(const DriverBinaryOptions& options, Console& console, io::Json& body) {
  if (options.devices.empty()) {
    return base::fail(Code::kInvalidArgument, "compile.plan",
                      "%s is compiled already; what can be added to a plan is a driver's binary "
                      "(--driver-binary DEVICE)",
                      options.plan.c_str());
  }
  CAMSHAFT_TRY(check_writable("--output", options.output));
  CAMSHAFT_TRY_ASSIGN(const plan::PlanFile file, open_plan_file(options.plan, options.key));
  plan::PlanContents contents = contents_of(file);
  CAMSHAFT_TRY(add_driver_binaries(options.devices, console, contents));
  CAMSHAFT_TRY_ASSIGN(std::vector<std::byte> bytes, plan::write_plan(contents));
  if (!options.sign.empty()) {
    CAMSHAFT_TRY_ASSIGN(const plan::SigningKey key, plan::SigningKey::load(options.sign));
    CAMSHAFT_TRY_ASSIGN(bytes, plan::sign_plan(bytes, key));
  } else if (file.signer()) {
    console.note("the plan was signed, and what is written is not: sign it with --sign");
  }
  CAMSHAFT_TRY(base::write_file_atomically(options.output, bytes));
  const std::string hash = plan::to_hex(plan::checksum(bytes));
  console.print(printable(options.output) + ": " + bytes_text(bytes.size()) + ", hash " + hash +
                "\n");
  body = {{"output", options.output}, {"bytes", bytes.size()}, {"hash", hash}};
  return base::ok();
}

}  // namespace camshaft::command
