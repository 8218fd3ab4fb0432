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

base::Status check_writable(const char* option, const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    return base::fail(base::Code::kInvalidArgument, "output.folder",
                      "%s %s is a folder; name a file in it", option, file.c_str());
  }
  std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, ignored)) {
    return base::fail(base::Code::kNotFound, "output.folder",
                      "%s %s: there is no folder %s; make it first", option, file.c_str(),
                      folder.c_str());
  }
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return base::ok();
  return base::fail_errno(base::Code::kIo, "output.folder", errno,
                          "%s %s: no file can be made in %s", option, file.c_str(), folder.c_str());
}

}  // namespace camshaft::command
