// SPDX-License-Identifier: MIT
#include "runtime/base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/last_sentence.h"
#include "tests/support/temporary_folder.h"

namespace camshaft::base {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

std::string text_of(const std::string& path) {
  return std::string(as_text(read_file(path).value()));
}

int files_in(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

mode_t mode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

TEST_CASE("what is written is read and mapped") {
  const TemporaryFolder folder;
  for (const size_t size : {0, 1, 4096, 100'000}) {
    const std::string text(size, 'q');
    const std::string path = folder / "file";
    REQUIRE(write_file_atomically(path, as_bytes(text)).is_ok());
    CHECK(text_of(path) == text);
    const MappedFile file = MappedFile::open(path, {.populate = true}).value();
    CHECK(as_text(file.bytes()) == text);
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a mapping outlives moves and the file's name") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  REQUIRE(write_file_atomically(path, as_bytes("old")).is_ok());
  MappedFile first = MappedFile::open(path).value();
  MappedFile second = std::move(first);
  CHECK(first.bytes().empty());
  REQUIRE(write_file_atomically(path, as_bytes("new")).is_ok());
  CHECK(as_text(second.bytes()) == "old");
  second = MappedFile::open(path).value();
  CHECK(as_text(second.bytes()) == "new");
}

TEST_CASE("what is no file is refused, and pipes are not waited for") {
  const TemporaryFolder folder;
  CHECK(MappedFile::open(folder / "none").error().code() == Code::kNotFound);
  CHECK(read_file(folder / "none").error().code() == Code::kNotFound);
  CHECK(MappedFile::open(folder.path()).error().code() == Code::kInvalidArgument);
  CHECK(read_file(folder.path()).error().code() == Code::kInvalidArgument);
  CHECK(write_file_atomically(folder.path(), as_bytes("x")).code() == Code::kInvalidArgument);
  CHECK(write_file_atomically(folder / "none/file", as_bytes("x")).code() == Code::kNotFound);
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(MappedFile::open(pipe).error().code() == Code::kInvalidArgument);
  CHECK(read_file(pipe).error().code() == Code::kInvalidArgument);
  CHECK(test::last_sentence() ==
        "can't read " + pipe + ": it is a pipe that nothing was written to");
  CHECK(write_file_atomically(pipe, as_bytes("x")).code() == Code::kInvalidArgument);
  CHECK(test::last_sentence().find("can't write " + pipe + ": it is a pipe that nothing reads") ==
        0);
}

TEST_CASE("a pipe with somebody at its other end is read to its end, and written to directly") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string text(200'000, 'p');  // more than a pipe holds: each waits for the other
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  const int writer = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(writer >= 0);
  Status written;
  std::thread thread([&] {
    written = write_file_atomically(pipe, as_bytes(text));
    ::close(writer);
  });
  CHECK(text_of(pipe) == text);
  thread.join();
  ::close(reader);
  CHECK(written.is_ok());
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file longer than the limit is refused, one as long is read") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  REQUIRE(write_file_atomically(path, as_bytes("0123456789")).is_ok());
  CHECK(read_file(path, 10).has_value());
  CHECK(read_file(path, 9).error().code() == Code::kInvalidArgument);
}

TEST_CASE("a failed write leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  REQUIRE(write_file_atomically(path, as_bytes("precious")).is_ok());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit tight{1000, before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const Status too_long = write_file_atomically(path, as_bytes(std::string(5000, 'x')));
  const Status short_enough = write_file_atomically(folder / "other", as_bytes("fits"));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, old_handler);
  CHECK(too_long.code() == Code::kIo);
  CHECK(short_enough.is_ok());
  CHECK(text_of(path) == "precious");
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("nothing is left of what a process was writing when it was killed") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  REQUIRE(write_file_atomically(path, as_bytes("precious")).is_ok());
  const int probe = ::open(folder.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (probe < 0) {
    WARN("not tested: the file system has no files without a name");
    return;
  }
  ::close(probe);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    const rlimit tight{1000, 1000};
    ::setrlimit(RLIMIT_CORE, &none);
    ::setrlimit(RLIMIT_FSIZE, &tight);
    std::signal(SIGXFSZ, SIG_DFL);
    (void)write_file_atomically(path, as_bytes(std::string(5000, 'x')));  // kills the process
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGXFSZ);
  CHECK(text_of(path) == "precious");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("links keep pointing, permissions stay, new files get the mode asked for") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  const std::string link = folder / "link";
  REQUIRE(write_file_atomically(path, as_bytes("one"), 0600).is_ok());
  CHECK(mode_of(path) == 0600);
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  fs::create_symlink("file", link);
  REQUIRE(write_file_atomically(link, as_bytes("two")).is_ok());
  CHECK(fs::is_symlink(link));
  CHECK(text_of(path) == "two");
  CHECK(mode_of(path) == 0640);
}

}  // namespace
}  // namespace camshaft::base
