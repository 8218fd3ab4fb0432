// SPDX-License-Identifier: MIT
// Options that several verbs share: where inputs come from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "tools/io/tensor.h"

namespace CLI {
class App;
}

namespace camshaft::command {

struct InputOptions {
  const char* option = "--input";   // how sentences call the option that names the files
  std::vector<std::string> files;   // --input, as typed
  std::vector<std::string> ranges;  // --range, as typed
  uint64_t seed = 0;
  bool fill_missing = false;     // inputs that no file gives are random
  bool has_random_flag = false;  // so that sentences may name it
};

// Declares --input, --range and --seed; with `ask_for_random` also --random, without which missing
// inputs are an error. Otherwise the caller has set `fill_missing`.
void add_input_options(CLI::App& app, InputOptions& options, bool ask_for_random);

// A tensor for each input, in their order and of their types, from files and else from the seed.
// kInvalidArgument, with what is expected, for missing, unknown, wrongly shaped or wrongly typed
// ones; otherwise as the files' readers fail.
base::Result<std::vector<io::Tensor>> load_inputs(std::span<const plan::TensorInfo> inputs,
                                                  const InputOptions& options);

// "name (f32[1x3x8x8])", as sentences name an input.
std::string input_text(const plan::TensorInfo& input);

}  // namespace camshaft::command
