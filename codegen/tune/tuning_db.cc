// SPDX-License-Identifier: MIT
#include "codegen/tune/tuning_db.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/file.h"

namespace camshaft::tune {
namespace {

using base::Code;
using nlohmann::json;

constexpr const char* kHead = "camshaft-tuning-1";

// The value of a field, if it has the type of `*value`.
template <typename T>
bool take(const json& object, const char* name, T* value) {
  const auto field = object.find(name);
  if (field == object.end()) return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!field->is_string()) return false;
    *value = *field->template get_ptr<const std::string*>();
  } else {
    if (!field->is_number()) return false;
    *value = field->template get<T>();
  }
  return true;
}

// Held by one process at a time, from reading a database to replacing it: an empty file beside the
// database, which is removed by who holds it. When a process dies, the kernel lets go.
class DbLock {
 public:
  static base::Result<DbLock> take(const std::string& db) {
    const std::string path = db + ".lock";
    for (;;) {
      const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (fd < 0) {
        return base::fail_errno(Code::kIo, "tuning_db.lock", errno, "can't open %s", path.c_str());
      }
      DbLock lock(path, fd);
      while (::flock(fd, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        return base::fail_errno(Code::kIo, "tuning_db.lock", errno, "can't lock %s", path.c_str());
      }
      // Who had it before has removed it, and the name may be another file's by now.
      lock.holds_ = lock.is_named();
      if (lock.holds_) return lock;
    }
  }

  DbLock(DbLock&& other) noexcept
      : path_(std::move(other.path_)),
        fd_(std::exchange(other.fd_, -1)),
        holds_(std::exchange(other.holds_, false)) {}
  DbLock& operator=(DbLock&&) = delete;
  DbLock(const DbLock&) = delete;
  DbLock& operator=(const DbLock&) = delete;
  ~DbLock() {
    if (holds_) ::unlink(path_.c_str());
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  DbLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  bool is_named() const {
    struct stat held{};
    struct stat named{};
    return ::fstat(fd_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  }

  std::string path_;
  int fd_;
  bool holds_ = false;
};

// The file itself, so that all its names are locked alike.
std::string resolved(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, failure);
  return failure ? path : real.string();
}

double rounded(double microseconds) {
  return std::round(microseconds * 100) / 100;
}

}  // namespace

base::Result<TuningDb> TuningDb::load(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path));
  const std::string_view text = base::as_text(bytes);
  TuningDb db;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (number == 1 && line == kHead) continue;
    const json entry = json::parse(line, nullptr, false);
    TuningEntry read;
    std::string target;
    std::string region;
    int threads = 0;
    const bool is_whole = number > 1 && entry.is_object() && take(entry, "target", &target) &&
                          take(entry, "threads", &threads) && take(entry, "region", &region) &&
                          take(entry, "strategy", &read.strategy) &&
                          take(entry, "knobs", &read.knobs) && take(entry, "what", &read.what) &&
                          take(entry, "us", &read.microseconds) &&
                          take(entry, "untuned_us", &read.untuned_microseconds);
    if (!is_whole) {
      return base::fail(Code::kCorrupt, "tuning_db.line",
                        "%s, line %d: that is no line of a tuning database; remove the line, or "
                        "the file to tune anew",
                        path.c_str(), number);
    }
    db.put(target, threads, region, std::move(read));
  }
  if (number > 0) return db;
  return base::fail(Code::kCorrupt, "tuning_db.empty", "%s is empty: remove it to tune anew",
                    path.c_str());
}

base::Result<TuningDb> TuningDb::add_to(const std::string& path) const {
  CAMSHAFT_TRY_ASSIGN(const DbLock lock, DbLock::take(resolved(path)));
  TuningDb all;
  std::error_code ignored;  // what can't be looked at can't be replaced either
  if (std::filesystem::exists(path, ignored)) {
    CAMSHAFT_TRY_ASSIGN(all, load(path));
  }
  for (const auto& [place, entry] : entries_) all.entries_[place] = entry;
  CAMSHAFT_TRY(all.save(path));
  return all;
}

base::Status TuningDb::save(const std::string& path) const {
  std::string text = std::string(kHead) + "\n";
  for (const auto& [place, entry] : entries_) {
    const auto& [target, threads, region] = place;
    text += nlohmann::ordered_json{{"target", target},
                                   {"threads", threads},
                                   {"region", region},
                                   {"strategy", entry.strategy},
                                   {"knobs", entry.knobs},
                                   {"us", rounded(entry.microseconds)},
                                   {"untuned_us", rounded(entry.untuned_microseconds)},
                                   {"what", entry.what}}
                .dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) +
            "\n";
  }
  return base::write_file_atomically(path, base::as_bytes(text));
}

const TuningEntry* TuningDb::find(const std::string& target, int threads,
                                  const std::string& key) const {
  const auto found = entries_.find({target, threads, key});
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> TuningDb::devices_of(const std::string& target) const {
  const std::string head = target_on(target, "");
  std::vector<std::string> devices;
  for (const auto& [place, entry] : entries_) {  // in order
    const std::string& name = std::get<0>(place);
    if (!name.starts_with(head)) continue;
    const std::string device = name.substr(head.size());
    if (devices.empty() || devices.back() != device) devices.push_back(device);
  }
  return devices;
}

std::string target_on(const std::string& target, const std::string& device) {
  return target + " on " + device;
}

void TuningDb::put(const std::string& target, int threads, const std::string& key,
                   TuningEntry entry) {
  entries_[{target, threads, key}] = std::move(entry);
}

}  // namespace camshaft::tune
