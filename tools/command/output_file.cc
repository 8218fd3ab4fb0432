// SPDX-License-Identifier: MIT
#include "tools/command/output_file.h"

#include <unistd.h>

#include <cerrno>
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

base::Status check_writable(const std::string& output) {
  std::error_code ignored;
  if (std::filesystem::is_directory(output, ignored)) {
    return base::fail(base::Code::kInvalidArgument, "output.folder",
                      "--output %s is a folder; name a file in it", output.c_str());
  }
  std::filesystem::path folder = std::filesystem::path(output).parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    return base::fail(base::Code::kNotFound, "output.folder",
                      "--output %s: there is no folder %s; make it first", output.c_str(),
                      folder.c_str());
  }
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return base::ok();
  return base::fail_errno(base::Code::kIo, "output.folder", errno,
                          "--output %s: no file can be made in %s", output.c_str(), folder.c_str());
}

}  // namespace camshaft::command
