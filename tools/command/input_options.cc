// SPDX-License-Identifier: MIT
#include "tools/command/input_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "tools/command/input_file.h"
#include "tools/command/number_checks.h"
#include "tools/command/random_input.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;

base::Result<Ranges> parse_ranges(std::span<const plan::TensorInfo> inputs,
                                  const InputOptions& options) {
  Ranges ranges;
  for (const std::string& text : options.ranges) CAMSHAFT_TRY(add_range(text, ranges));
  for (const auto& [name, range] : ranges) {
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const auto& each) { return each.name == name; });
    if (input == inputs.end()) {
      return base::fail(Code::kInvalidArgument, "input.range_name",
                        "--range names '%s', which is no input of the plan", name.c_str());
    }
    if (!is_range_of(input->dtype, range)) {
      return base::fail(Code::kInvalidArgument, "input.range_dtype",
                        "--range %s=%g:%g: that is more than the input's type, %s, can hold; "
                        "write less",
                        name.c_str(), range.low, range.high, base::dtype_name(input->dtype));
    }
  }
  return ranges;
}

base::Status missing(const std::vector<std::string>& names, const InputOptions& options) {
  return base::fail(Code::kInvalidArgument, "input.missing",
                    "no value for input%s %s; give %s NAME=FILE for each%s",
                    names.size() == 1 ? "" : "s", join(names, ", ").c_str(), options.option,
                    options.has_random_flag ? ", or --random for random ones" : "");
}

}  // namespace

std::string input_text(const plan::TensorInfo& input) {
  return "'" + input.name + "' (" + io::type_text(input.dtype, input.shape) + ")";
}

void add_input_options(CLI::App& app, InputOptions& options, bool ask_for_random) {
  app.add_option("--input,-i", options.files,
                 "NAME=FILE: an input from .npy, .npz, .png, .bin, or a raw frame as "
                 "FILE.nv12:WIDTHxHEIGHT[:STRIDE[:LUMA_ROWS]] (.yuv: planar); without NAME= where "
                 "there is one input; or FILE.npz with an array an input. Pixels keep their values "
                 "0 to 255")
      ->type_name("INPUT")
      ->allow_extra_args(false);
  options.has_random_flag = ask_for_random;
  if (ask_for_random) {
    app.add_flag("--random", options.fill_missing, "Fill inputs that no file gives at random");
  }
  app.add_option("--seed", options.seed, "Of the random inputs")
      ->type_name("N")
      ->check(whole_number())
      ->capture_default_str();
  app.add_option("--range", options.ranges,
                 "NAME=LOW:HIGH: of a random input; by default floats -1:1, bytes their whole "
                 "range, wider integers 0:9")
      ->type_name("RANGE")
      ->allow_extra_args(false);
}

base::Result<std::vector<io::Tensor>> load_inputs(std::span<const plan::TensorInfo> inputs,
                                                  const InputOptions& options) {
  CAMSHAFT_TRY_ASSIGN(const Ranges ranges, parse_ranges(inputs, options));
  std::vector<std::optional<io::Tensor>> found(inputs.size());
  for (const std::string& file : options.files) {
    CAMSHAFT_TRY_ASSIGN(std::vector<LoadedInput> loaded,
                        load_input_file(inputs, file, options.option));
    for (LoadedInput& input : loaded) {
      if (found[input.index]) {
        return base::fail(Code::kInvalidArgument, "input.twice", "input '%s' is given twice",
                          inputs[input.index].name.c_str());
      }
      found[input.index] = std::move(input.tensor);
    }
  }
  std::vector<io::Tensor> tensors;
  std::vector<std::string> lacking;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (found[i]) {
      tensors.push_back(std::move(*found[i]));
    } else if (options.fill_missing) {
      tensors.push_back(random_tensor(inputs[i], ranges, options.seed));
    } else {
      lacking.push_back(input_text(inputs[i]));
    }
  }
  if (!lacking.empty()) return missing(lacking, options);
  return tensors;
}

}  // namespace camshaft::command
