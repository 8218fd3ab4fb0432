// SPDX-License-Identifier: MIT
#include "msgq/queue/domain.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "msgq/queue/futex.h"
#include "runtime/base/clock.h"

namespace camshaft::queue {
namespace {

using base::Code;

constexpr size_t kBellsBytes = Bells::kCount * sizeof(std::atomic<uint32_t>);
constexpr size_t kMaxNameBytes = 100;

bool is_plain_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

}  // namespace

base::Status check_topic_name(std::string_view topic) {
  if (!topic.empty() && topic.size() <= kMaxNameBytes && topic[0] != '.' && is_plain_name(topic)) {
    return base::ok();
  }
  return base::fail(Code::kInvalidArgument, "queue.topic_name",
                    "'%.*s' can't be a topic's name: use 1 to 100 letters, digits, '_', '-' and "
                    "'.', not first a '.'",
                    static_cast<int>(std::min<size_t>(topic.size(), 120)), topic.data());
}

base::Result<std::string> domain_folder(const DomainOptions& options) {
  std::string prefix = options.prefix;
  if (prefix.empty()) {
    if (const char* from_env = std::getenv("CAMSHAFT_PREFIX")) prefix = from_env;
  }
  if (prefix.size() > kMaxNameBytes || !is_plain_name(prefix)) {
    return base::fail(Code::kInvalidArgument, "queue.prefix",
                      "'%.120s' can't be a prefix: use up to 100 letters, digits, '_', '-' and '.'",
                      prefix.c_str());
  }
  return prefix.empty() ? std::string("/dev/shm/camshaft") : "/dev/shm/camshaft_" + prefix;
}

base::Status make_domain_folder(const std::string& folder, const DomainOptions& options,
                                uint32_t mode) {
  // Who may read a file must be able to reach it; who may write it makes topics too.
  const uint32_t others = mode & 0077;
  const uint32_t folder_mode = 0700 | (others & 0066) | ((others & 0044) >> 2);
  if (::mkdir(folder.c_str(), folder_mode) == 0) {
    if (::chmod(folder.c_str(), folder_mode) == 0) return base::ok();  // whatever the umask
    return base::fail_errno(Code::kIo, "queue.folder", errno, "can't set the mode of %s",
                            folder.c_str());
  }
  if (errno != EEXIST) {
    return base::fail_errno(Code::kIo, "queue.folder", errno, "can't make the folder %s",
                            folder.c_str());
  }
  struct stat info = {};
  if (::lstat(folder.c_str(), &info) != 0) {
    return base::fail_errno(Code::kIo, "queue.folder", errno, "can't look at %s", folder.c_str());
  }
  if (!S_ISDIR(info.st_mode) || (info.st_uid != ::geteuid() && !options.allow_other_users)) {
    return base::fail(Code::kIo, "queue.folder",
                      "%s belongs to user %u or is no folder: choose another prefix, or allow "
                      "other users",
                      folder.c_str(), info.st_uid);
  }
  if (info.st_uid == ::geteuid() && (info.st_mode & folder_mode) != folder_mode) {
    (void)::chmod(folder.c_str(), (info.st_mode & 07777) | folder_mode);
  }
  return base::ok();
}

uint64_t random_word() {
  uint64_t word = 0;
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word) {
    word = static_cast<uint64_t>(base::mono_time_ns()) * 0x9e37'79b9'7f4a'7c15 ^
           static_cast<uint64_t>(::getpid()) << 40;
  }
  return word;
}

base::Result<Bells> Bells::open(const std::string& folder, uint32_t mode) {
  const std::string path = folder + "/.bells";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) {
    return base::fail_errno(Code::kIo, "queue.bells", errno, "can't open %s", path.c_str());
  }
  struct stat info = {};
  if (::fstat(fd, &info) == 0 && (info.st_mode & mode) != mode) {  // a umask, or a reader was first
    (void)::fchmod(fd, (info.st_mode & 07777) | mode);
  }
  // Zeros are a good beginning, and pages that exist can be written without a fault.
  const int error = ::posix_fallocate(fd, 0, kBellsBytes);
  void* memory = error != 0
                     ? MAP_FAILED
                     : ::mmap(nullptr, kBellsBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int native = error != 0 ? error : errno;
  ::close(fd);
  if (memory == MAP_FAILED) {
    return base::fail_errno(Code::kIo, "queue.bells", native, "can't map %s", path.c_str());
  }
  return Bells(static_cast<std::atomic<uint32_t>*>(memory));
}

Bells::Bells(Bells&& other) noexcept : words_(std::exchange(other.words_, nullptr)) {}

Bells& Bells::operator=(Bells&& other) noexcept {
  std::swap(words_, other.words_);
  return *this;
}

Bells::~Bells() {
  if (words_ != nullptr) ::munmap(words_, kBellsBytes);
}

void Bells::ring(uint32_t index) const noexcept {
  word(index).fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(&word(index));
}

void Bells::ring_all() const noexcept {
  for (uint32_t i = 0; i < kCount; ++i) ring(i);
}

}  // namespace camshaft::queue
