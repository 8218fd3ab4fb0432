// SPDX-License-Identifier: MIT
// compile --driver-binary: what a device's driver makes of a plan's kernels, kept in the plan.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/reader.h"
#include "runtime/plan/writer.h"
#include "tools/command/console.h"
#include "tools/io/json.h"

namespace CLI {
class App;
}

namespace camshaft::command {

// As given on the command line.
struct DriverBinaryOptions {
  std::string plan;
  std::string output;
  std::vector<std::string> devices;  // as for --device
  std::string key;                   // with which the plan must be signed
  std::string sign;                  // key file
};

void add_driver_binary_option(CLI::App& app, std::vector<std::string>& devices);

// Loads the plan on each device, runs it once and adds what the driver made of the target that it
// chose; replaces what is there from the same driver. kWrongTarget where a device can't run the
// plan, kUnsupported where it has no driver with binaries of its own.
base::Status add_driver_binaries(const std::vector<std::string>& devices, Console& console,
                                 plan::PlanContents& contents);

// All of an open plan, to be written again.
plan::PlanContents contents_of(const plan::PlanFile& file);

// `camshaft compile PLAN --driver-binary DEVICE`: a plan with binaries added, on the machine where
// it is to run.
base::Status add_to_plan(const DriverBinaryOptions& options, Console& console, io::Json& body);

}  // namespace camshaft::command
