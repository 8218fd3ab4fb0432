// SPDX-License-Identifier: MIT
// Linking, by the program lld. The shared object is for a small loader: position-independent, with
// nothing to relocate, nothing writable and the old hash table to find its functions by.
#include <csignal>
#include <string>

#include "codegen/render/compile.h"
#include "codegen/render/elf_check.h"
#include "codegen/render/process.h"
#include "codegen/render/toolchain.h"
#include "runtime/base/file.h"

namespace camshaft::render {

namespace {

using base::Code;

std::vector<std::string> linker_command(const std::string& linker) {
  std::vector<std::string> command = {linker, "-shared", "-o", "kernels.so"};
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

// What a full disk, or a limit on the size of files, does to a program that maps what it writes.
bool ends_of_no_room(int signal) {
  return signal == SIGBUS || signal == SIGXFSZ;
}

// "ld.lld-19: error: undefined symbol: memset" becomes a sentence about memset.
base::Status refuse(const ProcessResult& result) {
  const std::string& output = result.output;
  const bool has_no_room = output.find("No space left on device") != std::string::npos ||
                           output.find("File too large") != std::string::npos;
  if (has_no_room || ends_of_no_room(result.exit_code - 128)) {
    return base::fail(
        Code::kIo, "render.link",
        "lld has no room for the kernels in the folder for temporary files: make "
        "room, set TMPDIR to another folder, or raise the limit on files (ulimit -f)");
  }
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
  CAMSHAFT_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
  std::vector<std::string> command = linker_command(linker);
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::string name = "kernels" + std::to_string(i) + ".o";
    CAMSHAFT_TRY(folder.write(name, objects[i]));
    command.push_back(name);
  }
  CAMSHAFT_TRY_ASSIGN(const ProcessResult result, run_process(command, folder.path()));
  if (result.exit_code != 0) return refuse(result);
  CAMSHAFT_TRY_ASSIGN(std::vector<std::byte> bytes, base::read_file(folder.file("kernels.so")));
  CAMSHAFT_TRY(check_shared_object(bytes, exports));
  return bytes;
}

}  // namespace camshaft::render
