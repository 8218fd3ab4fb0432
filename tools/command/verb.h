// SPDX-License-Identifier: MIT
// The verbs of the command: one file each, all in one table (verbs.cc).
#pragma once

#include <functional>
#include <span>

#include "tools/command/console.h"

namespace CLI {
class App;
}

namespace camshaft::command {

// Does a verb's work with the options that were parsed; returns the exit code.
using Action = std::function<int(Console&)>;

struct Verb {
  const char* name;
  const char* summary;  // one line of `camshaft --help`
  // Declares options in the verb's own parser and returns what to do once they are parsed.
  Action (*declare)(CLI::App& options);
  bool compiles = false;  // the device build refuses it
};

// Of this build, in compile_verb_{desktop,device}.cc: whether it can compile models, and what its
// `compile` does.
extern const bool kCanCompile;
extern const char* const kCompileSummary;

// In the order of `camshaft --help`. Static storage.
std::span<const Verb> verbs();

// One function a verb, in NAME_verb.cc.
Action declare_compile(CLI::App& options);
Action declare_tune(CLI::App& options);
Action declare_run(CLI::App& options);
Action declare_bench(CLI::App& options);
Action declare_inspect(CLI::App& options);
Action declare_compare(CLI::App& options);
Action declare_devices(CLI::App& options);
Action declare_verify(CLI::App& options);
Action declare_top(CLI::App& options);
Action declare_echo(CLI::App& options);

}  // namespace camshaft::command
