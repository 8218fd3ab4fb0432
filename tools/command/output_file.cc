// SPDX-License-Identifier: MIT
#include "tools/command/output_file.h"

#include <filesystem>
#include <system_error>

namespace camshaft::command {

base::Status check_not_overwritten(const std::string& output, const std::string& input) {
  std::error_code ignored;  // a file that isn't there is not overwritten
  if (!std::filesystem::equivalent(output, input, ignored)) return base::ok();
  return base::fail(base::Code::kInvalidArgument, "output.overwrites",
                    "--output %s would overwrite %s; give another file", output.c_str(),
                    input.c_str());
}

}  // namespace camshaft::command
