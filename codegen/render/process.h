// SPDX-License-Identifier: MIT
// Other programs: finding them, running them, and files of theirs that lie in memory.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::render {

// The path of the first of `names` that is found in PATH (a name with a slash is taken as a path)
// and can be executed; empty if there is none.
std::string find_program(const std::vector<std::string>& names);

// A file that lies in memory, for programs to read and to write: nothing is left of it when the
// processes that use it end, however they do.
class MemoryFile {
 public:
  // With a content, which is read from its beginning.
  static base::Result<MemoryFile> make(base::Bytes content = {});

  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

  int fd() const { return fd_; }
  // Its name in programs that run_process() starts.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  // All of it.
  base::Result<std::vector<std::byte>> content() const;

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}

  int fd_;
};

struct ProcessResult {
  int exit_code = 0;   // 128 + the signal's number if one ended it
  std::string output;  // standard output and standard error, in the order written
};

// Standard input, which is empty without a file, and where standard output goes; without that it is
// part of ProcessResult::output.
struct ProcessStreams {
  const MemoryFile* input = nullptr;
  std::vector<std::byte>* output = nullptr;
};

// Runs argv[0] (a path) with the locale set to C, in the root folder, and waits for it. Fails with
// kIo only where the program can't be started. Any thread.
base::Result<ProcessResult> run_process(const std::vector<std::string>& argv,
                                        const ProcessStreams& streams = {});

}  // namespace camshaft::render
