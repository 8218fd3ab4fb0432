// SPDX-License-Identifier: MIT
#include "codegen/render/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace camshaft::render {

namespace {

bool is_executable(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// What programs see of the environment: enough to be found and to run, nothing that changes what
// they make. Messages are in English.
std::vector<std::string> plain_environment() {
  std::vector<std::string> result = {"LC_ALL=C"};
  for (const char* name : {"PATH", "TMPDIR", "LD_LIBRARY_PATH"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) result.push_back(std::string(name) + "=" + value);
  }
  return result;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// Starts the program with these as its streams, or /dev/null for none; returns 0 or an errno.
int spawn(const std::vector<std::string>& argv, int input, int output, int errors, pid_t* pid) {
  const std::vector<std::string> variables = plain_environment();
  const std::vector<char*> arguments = pointers_to(argv);
  const std::vector<char*> environment = pointers_to(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input >= 0) {
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  const int error =
      posix_spawn(pid, argv[0].c_str(), &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::vector<std::byte> read_to_end(int read_end) {
  std::vector<std::byte> bytes;
  std::byte buffer[16384];
  for (;;) {
    const ssize_t count = ::read(read_end, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.insert(bytes.end(), buffer, buffer + count);
  }
}

}  // namespace

std::string find_program(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos) {
      if (is_executable(name)) return std::filesystem::absolute(name).string();
      continue;
    }
    std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      const std::string folder(rest.substr(0, colon));
      if (!folder.empty() && is_executable(folder + "/" + name)) return folder + "/" + name;
      rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
    }
  }
  return "";
}

base::Result<MemoryFile> MemoryFile::make(base::Bytes content) {
  // Programs inherit it: also others that are started meanwhile, which do nothing with it.
  const int fd = ::memfd_create("camshaft", 0);
  if (fd < 0) {
    return base::fail_errno(base::Code::kIo, "render.memory_file", errno,
                            "can't make a file in memory");
  }
  MemoryFile file(fd);
  for (base::Bytes rest = content; !rest.empty();) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return base::fail_errno(base::Code::kIo, "render.memory_file", errno,
                              "can't write %zu bytes to a file in memory", content.size());
    }
    rest = rest.subspan(static_cast<size_t>(written));
  }
  ::lseek(fd, 0, SEEK_SET);
  return file;
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) ::close(fd_);
}

base::Result<std::vector<std::byte>> MemoryFile::content() const {
  struct stat status{};
  ::fstat(fd_, &status);
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return base::fail_errno(base::Code::kIo, "render.memory_file", errno,
                              "can't read a file in memory");
    }
    done += static_cast<size_t>(got);
  }
  return bytes;
}

base::Result<ProcessResult> run_process(const std::vector<std::string>& argv,
                                        const ProcessStreams& streams) {
  // What the program says beside its output is not waited for, so one pipe is enough.
  CAMSHAFT_TRY_ASSIGN(const MemoryFile errors, MemoryFile::make());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return base::fail_errno(base::Code::kIo, "render.process", errno, "can't make a pipe");
  }
  pid_t pid = 0;
  const int error = spawn(argv, streams.input == nullptr ? -1 : streams.input->fd(), ends[1],
                          streams.output == nullptr ? ends[1] : errors.fd(), &pid);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return base::fail_errno(base::Code::kIo, "render.process", error, "can't start %s",
                            argv[0].c_str());
  }
  std::vector<std::byte> written = read_to_end(ends[0]);
  ::close(ends[0]);
  ProcessResult result;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (streams.output == nullptr) {
    result.output = base::as_text(written);
    return result;
  }
  *streams.output = std::move(written);
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> said, errors.content());
  result.output = base::as_text(said);
  return result;
}

}  // namespace camshaft::render
