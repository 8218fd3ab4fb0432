// SPDX-License-Identifier: MIT
#include "tests/support/compile_kernels.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "tests/support/temporary_folder.h"

extern char** environ;

namespace camshaft::test {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs a command with both outputs in a file; throws with them if it fails.
void run(std::vector<std::string> command, const std::string& output) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("can't run " + command[0]);
  int state = 0;
  waitpid(child, &state, 0);
  if (state != 0) throw std::runtime_error("compiling kernels failed:\n" + read_text(output));
}

}  // namespace

std::vector<std::byte> compile_kernels(const std::string& c_text,
                                       const std::vector<std::string>& flags) {
  static std::map<std::pair<std::string, std::vector<std::string>>, std::vector<std::byte>> done;
  std::vector<std::byte>& binary = done[{c_text, flags}];
  if (!binary.empty()) return binary;
  const TemporaryFolder folder;
  std::ofstream(folder / "kernels.c") << "#include <stddef.h>\n#include <stdint.h>\n" << c_text;
  const char* compiler = std::getenv("CAMSHAFT_CXX");
  std::vector<std::string> command = {compiler == nullptr ? "clang++-19" : compiler,
                                      "-x",
                                      "c",
                                      "-std=c11",
                                      "-O2",
                                      "-march=native",
                                      "-fPIC",
                                      "-shared",
                                      "-nostdlib",
                                      "-fuse-ld=lld",
                                      "-Wl,--hash-style=both",
                                      "-Wl,-z,defs",
                                      folder / "kernels.c",
                                      "-o",
                                      folder / "kernels.so"};
  command.insert(command.end(), flags.begin(), flags.end());
  run(command, folder / "output.txt");
  const std::string bytes = read_text(folder / "kernels.so");
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  binary.assign(first, first + bytes.size());
  return binary;
}

}  // namespace camshaft::test
