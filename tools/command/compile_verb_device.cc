// SPDX-License-Identifier: MIT
// The device build has no compiler. What it can do to a plan is to add what the device's driver
// makes of it.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/command/driver_binaries.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"

namespace camshaft::command {

const bool kCanCompile = false;
const char* const kCompileSummary = "Add to a plan what this device's driver makes of it";

namespace {

int refuse(Console& console) {
  return console.fail(
      base::Code::kInvalidArgument,
      {"this is the device build, which has no compiler; compile and tune on a desktop and "
       "copy the plan here"});
}

// `others`: what was given that is not declared below.
int run(const DriverBinaryOptions& options, const std::vector<std::string>& others,
        Console& console) {
  if (!options.plan.ends_with(".plan")) return refuse(console);
  if (!others.empty()) {
    return console.fail(base::Code::kInvalidArgument,
                        {printable(options.plan) + " is compiled already, and " +
                         printable(others.front()) + " is for models: leave it out"});
  }
  Json body = Json::object();
  const base::Status status = add_to_plan(options, console, body);
  return status.is_ok() ? console.finish(std::move(body)) : console.fail(status);
}

}  // namespace

Action declare_compile(CLI::App& app) {
  auto options = std::make_shared<DriverBinaryOptions>();
  app.allow_extras();
  app.add_option("PLAN", options->plan, "A plan, NAME.plan, that was compiled on a desktop");
  app.add_option("--output,-o", options->output, "The plan file to write")->type_name("FILE");
  add_driver_binary_option(app, options->devices);
  app.add_option("--key", options->key, "File of the public key with which the plan must be signed")
      ->type_name("FILE");
  app.add_option("--sign", options->sign, "Sign with the Ed25519 key in this file")
      ->type_name("FILE");
  return [options, &app](Console& console) { return run(*options, app.remaining(), console); };
}

Action declare_tune(CLI::App& app) {
  app.allow_extras();
  return refuse;
}

}  // namespace camshaft::command
