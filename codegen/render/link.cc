// SPDX-License-Identifier: MIT
// Linking, by the program lld. The shared object is for a small loader: position-independent, with
// nothing to relocate, nothing writable and the old hash table to find its functions by.
#include <string>

#include "codegen/render/compile.h"
#include "codegen/render/elf_check.h"
#include "codegen/render/process.h"
#include "codegen/render/toolchain.h"

namespace camshaft::render {

namespace {

using base::Code;

std::vector<std::string> linker_command(const std::string& linker) {
  std::vector<std::string> command = {linker, "-shared", "-o", "-"};
  const auto add = [&](std::initializer_list<const char*> words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add({"-nostdlib", "--no-undefined", "--strip-all", "--fatal-warnings", "--build-id=none"});
  add({"--hash-style=sysv", "-Bsymbolic", "--gc-sections", "--threads=1"});
  add({"-z", "text", "-z", "noexecstack", "-z", "separate-code"});
  // .dynamic stays in the read-only segment.
  add({"-z", "rodynamic", "-z", "norelro"});
  return command;
}

// "ld.lld-19: error: undefined symbol: memset" becomes a sentence about memset.
base::Status refuse(const std::string& output) {
  const std::string key = "undefined symbol: ";
  const size_t found = output.find(key);
  const size_t begin = found == std::string::npos ? 0 : found + key.size();
  const std::string rest = output.substr(begin, output.find('\n', begin) - begin);
  if (found == std::string::npos) {
    return base::fail(Code::kInternal, "render.link", "lld can't link the kernels: %s",
                      rest.c_str());
  }
  return base::fail(
      Code::kInternal, "render.undefined_symbol",
      "a compiled kernel calls %s, but kernels may call nothing: the operation behind "
      "it must be decomposed before rendering",
      rest.c_str());
}

}  // namespace

base::Result<std::vector<std::byte>> link_shared_object(const std::vector<ObjectFile>& objects,
                                                        const std::vector<std::string>& exports) {
  CAMSHAFT_TRY_ASSIGN(const std::string linker, find_linker());
  std::vector<std::string> command = linker_command(linker);
  std::vector<MemoryFile> inputs;
  for (const ObjectFile& object : objects) {
    CAMSHAFT_TRY_ASSIGN(MemoryFile input, MemoryFile::make(object));
    command.push_back(input.path());
    inputs.push_back(std::move(input));
  }
  std::vector<std::byte> bytes;
  CAMSHAFT_TRY_ASSIGN(const ProcessResult result, run_process(command, {nullptr, &bytes}));
  if (result.exit_code != 0) return refuse(result.output);
  CAMSHAFT_TRY(check_shared_object(bytes, exports));
  return bytes;
}

}  // namespace camshaft::render
