// SPDX-License-Identifier: MIT
#include "runtime/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace camshaft::base {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

Status open_failed(const std::string& path, int error) {
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kIo;
  return fail_errno(code, "file.open", error, "can't open %s", path.c_str());
}

// Waits from now on where a file was opened not to wait.
void set_blocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

Status write_all(int fd, Bytes bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return fail_errno(Code::kIo, "file.write", errno, "can't write %s", path.c_str());
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return ok();
}

// The file that `path` names once symbolic links are followed; `path` itself if there is none yet.
std::string resolve_links(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string result = resolved;
  std::free(resolved);
  return result;
}

std::string temporary_name(const std::string& path) {
  static std::atomic<uint32_t> counter{0};
  char suffix[48];
  std::snprintf(suffix, sizeof suffix, ".%ld.%u.tmp", static_cast<long>(::getpid()),
                counter.fetch_add(1, std::memory_order_relaxed));
  return path + suffix;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Makes the renaming itself durable. Not every file system can, so a refusal is no failure.
void sync_folder_of(const std::string& path) {
  const Descriptor fd(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.is_open()) ::fsync(fd.get());
}

// A file without a name, of which nothing is left if the process is killed. Not open where the file
// system has no such files, or where there is no /proc to give it a name through.
Descriptor open_nameless(const std::string& folder, mode_t mode) {
  if (::access("/proc/self/fd", X_OK) != 0) return Descriptor(-1);
  return Descriptor(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
}

// `path` is what sentences name.
Status write_content(const Descriptor& fd, const std::string& path, Bytes bytes) {
  CAMSHAFT_TRY(write_all(fd.get(), bytes, path));
  if (::fsync(fd.get()) == 0) return ok();
  return fail_errno(Code::kIo, "file.sync", errno, "can't write %s", path.c_str());
}

Status write_temporary(const std::string& temporary, const std::string& path, mode_t mode,
                       bool keep_mode, Bytes bytes) {
  // A left-over of a killed process with our number may be in the way.
  ::unlink(temporary.c_str());
  const Descriptor nameless = open_nameless(folder_of(temporary), mode);
  if (nameless.is_open()) {
    if (keep_mode) ::fchmod(nameless.get(), mode);
    CAMSHAFT_TRY(write_content(nameless, path, bytes));
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", nameless.get());
    const bool is_named =
        ::linkat(AT_FDCWD, link, AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (is_named) return ok();
  }
  const Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.is_open()) return open_failed(path, errno);
  if (keep_mode) ::fchmod(fd.get(), mode);
  return write_content(fd, path, bytes);
}

// Devices, and pipes that somebody reads.
Status write_directly(const std::string& path, Bytes bytes) {
  const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open() && errno == ENXIO) {
    return fail(Code::kInvalidArgument, "file.no_reader",
                "can't write %s: it is a pipe that nothing reads, or its device is absent",
                path.c_str());
  }
  if (!fd.is_open()) return open_failed(path, errno);
  set_blocking(fd.get());
  return write_all(fd.get(), bytes, path);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path, Options options) {
  // Non-blocking, so that a pipe without a writer is refused and not waited for.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return open_failed(path, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return fail_errno(Code::kIo, "file.stat", errno, "can't read %s", path.c_str());
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Code::kInvalidArgument, "file.not_regular",
                "%s is a folder, device or pipe; a regular file is needed", path.c_str());
  }
  const size_t size_bytes = static_cast<size_t>(status.st_size);
  if (size_bytes == 0) return MappedFile(nullptr, 0);
  const int flags = MAP_PRIVATE | (options.populate ? MAP_POPULATE : 0);
  void* data = ::mmap(nullptr, size_bytes, PROT_READ, flags, fd.get(), 0);
  if (data == MAP_FAILED) {
    return fail_errno(Code::kIo, "file.map", errno, "can't map %s", path.c_str());
  }
  return MappedFile(static_cast<const std::byte*>(data), size_bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

Result<std::vector<std::byte>> read_file(const std::string& path, uint64_t max_bytes) {
  // Non-blocking, so that a pipe without a writer shows as one that has ended.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return open_failed(path, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0 || S_ISDIR(status.st_mode)) {
    return fail(Code::kInvalidArgument, "file.not_regular", "%s is a folder; a file is needed",
                path.c_str());
  }
  std::vector<std::byte> bytes;
  // One byte more than the file holds, so that its end is seen without growing.
  const uint64_t expected = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
  uint64_t room = std::min(expected, max_bytes) + 1;
  for (;;) {
    const size_t used = bytes.size();
    bytes.resize(used + room);
    const ssize_t got = ::read(fd.get(), bytes.data() + used, room);
    bytes.resize(used + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EAGAIN) {
      set_blocking(fd.get());  // somebody is about to write
      continue;
    }
    if (got < 0 && errno != EINTR) {
      return fail_errno(Code::kIo, "file.read", errno, "can't read %s", path.c_str());
    }
    if (got == 0 && bytes.empty() && S_ISFIFO(status.st_mode)) {
      return fail(Code::kInvalidArgument, "file.no_writer",
                  "can't read %s: it is a pipe that nothing was written to", path.c_str());
    }
    if (got == 0) return bytes;
    if (bytes.size() > max_bytes) {
      return fail(Code::kInvalidArgument, "file.size", "%s is longer than %llu bytes", path.c_str(),
                  static_cast<unsigned long long>(max_bytes));
    }
    room = bytes.size() < expected ? expected - bytes.size() + 1 : 64 * 1024;
  }
}

Status write_file_atomically(const std::string& path, Bytes bytes, uint32_t new_file_mode) {
  const std::string target = resolve_links(path);
  struct stat status{};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    return fail(Code::kInvalidArgument, "file.is_folder", "can't write %s: it is a folder",
                path.c_str());
  }
  if (exists && !S_ISREG(status.st_mode)) {
    return write_directly(path, bytes);
  }
  const std::string temporary = temporary_name(target);
  const mode_t mode = exists ? status.st_mode & 07777 : new_file_mode;
  Status result = write_temporary(temporary, path, mode, exists, bytes);
  if (result.is_ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
    result = fail_errno(Code::kIo, "file.rename", errno, "can't replace %s", target.c_str());
  }
  if (result.is_ok()) {
    sync_folder_of(target);
  } else {
    ::unlink(temporary.c_str());
  }
  return result;
}

}  // namespace camshaft::base
