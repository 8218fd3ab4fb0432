// SPDX-License-Identifier: MIT
// The device build has no compiler.
#include <CLI/CLI.hpp>

#include "tools/command/verb.h"

namespace camshaft::command {

const bool kCanCompile = false;

namespace {

Action refuse(CLI::App& app) {
  app.allow_extras();
  return [](Console& console) {
    return console.fail(
        base::Code::kInvalidArgument,
        {"this is the device build, which has no compiler; compile and tune on a desktop and "
         "copy the plan here"});
  };
}

}  // namespace

Action declare_compile(CLI::App& app) {
  return refuse(app);
}

Action declare_tune(CLI::App& app) {
  return refuse(app);
}

}  // namespace camshaft::command
