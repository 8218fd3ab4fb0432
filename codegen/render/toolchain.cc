// SPDX-License-Identifier: MIT
#include "codegen/render/toolchain.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "codegen/render/process.h"

namespace camshaft::render {

namespace {

struct Tool {
  const char* what;      // in sentences
  const char* variable;  // overrides the search
  std::vector<std::string> names;
  const char* package;
};

base::Result<std::string> ask_version(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const ProcessResult shown, run_process({path, "--version"}));
  // "Debian clang version 19.1.7 (3~deb12u1)", "Debian LLD 19.1.7 (compatible with GNU linkers)"
  for (const char* key : {"clang version ", "LLD "}) {
    const size_t found = shown.output.find(key);
    if (shown.exit_code != 0 || found == std::string::npos) continue;
    const size_t begin = found + std::string(key).size();
    size_t end = begin;
    while (
        end < shown.output.size() &&
        (std::isdigit(static_cast<unsigned char>(shown.output[end])) || shown.output[end] == '.')) {
      ++end;
    }
    if (end > begin) return shown.output.substr(begin, end - begin);
  }
  return base::fail(base::Code::kUnsupported, "render.toolchain",
                    "%s --version names neither clang nor lld", path.c_str());
}

base::Result<std::string> find_tool(const Tool& tool) {
  const char* chosen = std::getenv(tool.variable);
  const bool is_chosen = chosen != nullptr && *chosen != 0;
  const std::string path = find_program(is_chosen ? std::vector<std::string>{chosen} : tool.names);
  if (path.empty()) {
    return base::fail(base::Code::kNotFound, "render.toolchain",
                      is_chosen ? "%s %d not found: %s=%s names no program"
                                : "%s %d not found: install %s, or set %s to its path",
                      tool.what, kToolchainMajor, is_chosen ? tool.variable : tool.package,
                      is_chosen ? chosen : tool.variable);
  }
  CAMSHAFT_TRY_ASSIGN(const std::string version, program_version(path));
  if (std::atoi(version.c_str()) != kToolchainMajor) {
    return base::fail(base::Code::kUnsupported, "render.toolchain",
                      "%s is %s %s; version %d is needed: install %s, or set %s to its path",
                      path.c_str(), tool.what, version.c_str(), kToolchainMajor, tool.package,
                      tool.variable);
  }
  return path;
}

}  // namespace

base::Result<std::string> find_clang() {
  return find_tool({"clang", "CAMSHAFT_CLANG", {"clang-19", "clang"}, "the package clang-19"});
}

base::Result<std::string> find_linker() {
  return find_tool(
      {"the linker lld", "CAMSHAFT_LLD", {"ld.lld-19", "ld.lld"}, "the package lld-19"});
}

base::Result<std::string> program_version(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(path);
  if (found != known.end()) return found->second;
  CAMSHAFT_TRY_ASSIGN(std::string version, ask_version(path));
  return known[path] = std::move(version);
}

}  // namespace camshaft::render
