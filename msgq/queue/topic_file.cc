// SPDX-License-Identifier: MIT
#include "msgq/queue/topic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "msgq/queue/domain.h"
#include "msgq/queue/futex.h"
#include "msgq/queue/lease.h"
#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"

namespace camshaft::queue {
namespace {

using base::Code;

// As in <linux/fs.h>; old C libraries lack renameat2.
constexpr unsigned kRenameNoReplace = 1;
constexpr unsigned kRenameExchange = 2;

std::string temporary_name_start(std::string_view topic) {
  return "." + std::string(topic) + ".new-";
}

struct flock byte_lock(int64_t byte, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// Tells those who have a file mapped that it isn't the topic's any more. Trusts nothing in it but
// its size, since the header may be what is wrong with it.
void mark_moved(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat info = {};
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  if (fd >= 0 && ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size >= static_cast<off_t>(2 * page_bytes)) {
    void* memory = ::mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) {
      auto* area = static_cast<PublisherArea*>(memory);
      auto* wake = reinterpret_cast<WakeLine*>(static_cast<std::byte*>(memory) + page_bytes);
      area->reservation.state.store(kStateMoved, std::memory_order_seq_cst);
      wake->word.fetch_add(kWakeFlags + 1, std::memory_order_seq_cst);
      futex_wake_all(&wake->word);
      ::munmap(memory, 2 * page_bytes);
    }
  }
  if (fd >= 0) ::close(fd);
}

// A descriptor of another open file of the same contents; -1 where the system gives none. Allowed
// in a ForkGuard.
int reopen_to_read(int fd) noexcept {
  constexpr std::string_view kFolder = "/proc/self/fd/";
  char path[kFolder.size() + 12] = {};
  std::copy(kFolder.begin(), kFolder.end(), path);
  std::to_chars(path + kFolder.size(), path + sizeof path - 1, fd);
  return ::open(path, O_RDONLY | O_CLOEXEC);
}

bool is_locked(int fd, int64_t byte) {
  struct flock request = byte_lock(byte, F_WRLCK);
  return ::fcntl(fd, F_OFD_GETLK, &request) == 0 && request.l_type != F_UNLCK;
}

}  // namespace

bool has_publisher_lock(const std::string& path) noexcept {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const bool locked = is_locked(fd, kPublisherLockByte);
  ::close(fd);
  return locked;
}

void remove_leftovers(const std::string& folder, std::string_view topic) {
  DIR* listing = ::opendir(folder.c_str());
  if (listing == nullptr) return;
  const std::string start = temporary_name_start(topic);
  while (const dirent* entry = ::readdir(listing)) {
    if (std::string_view(entry->d_name).substr(0, start.size()) != start) continue;
    const std::string path = folder + "/" + entry->d_name;
    if (!has_publisher_lock(path)) ::unlink(path.c_str());
  }
  ::closedir(listing);
}

void load_words(uint64_t* to, const void* from, size_t words) noexcept {
  auto* source = static_cast<const std::atomic<uint64_t>*>(from);
  for (size_t i = 0; i < words; ++i) to[i] = source[i].load(std::memory_order_relaxed);
}

void store_words(void* to, const uint64_t* from, size_t words) noexcept {
  auto* target = static_cast<std::atomic<uint64_t>*>(to);
  for (size_t i = 0; i < words; ++i) target[i].store(from[i], std::memory_order_relaxed);
}

base::Result<Constants> make_constants(const TopicSize& size, uint64_t schema_hash,
                                       uint64_t check_up_to_bytes, uint64_t first_sequence,
                                       uint64_t unused_numbers) {
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (size.ring_bytes == 0 || size.ring_bytes > kMaxRingBytes || size.messages == 0 ||
      size.messages > kMaxEntries || size.reader_slots == 0 ||
      size.reader_slots > kMaxReaderSlots) {
    return base::fail(Code::kInvalidArgument, "queue.size",
                      "a topic can't have %llu bytes, %u messages and %u reader slots: at most are "
                      "%llu, %u and %u",
                      static_cast<unsigned long long>(size.ring_bytes), size.messages,
                      size.reader_slots, static_cast<unsigned long long>(kMaxRingBytes),
                      kMaxEntries, kMaxReaderSlots);
  }
  Constants constants;
  constants.page_bytes = static_cast<uint32_t>(page_bytes);
  constants.ring_bytes = std::bit_ceil(std::max(size.ring_bytes, page_bytes));
  constants.entries = std::bit_ceil(size.messages);
  constants.reader_slots = size.reader_slots;
  constants.schema_hash = schema_hash;
  constants.check_up_to_bytes = check_up_to_bytes;
  constants.first_sequence = first_sequence;
  constants.unused_numbers = unused_numbers;
  constants.generation = random_word();
  constants.file_bytes = geometry_of(constants).file_bytes;
  constants.checksum = checksum_of(constants);
  return constants;
}

TopicFile::TopicFile(int fd, std::string temporary_path)
    : fd_(fd),
      temporary_path_(std::move(temporary_path)),
      guard_([](void* file) noexcept { static_cast<TopicFile*>(file)->leave_to_parent(); }, this) {}

// In a child made by fork(). The locks are the open file's, which lives while somebody has it open
// or mapped: all of that goes here, and leaves them to the parent alone. What a reader may hold
// stays visible through another open file.
void TopicFile::leave_to_parent() noexcept {
  if (fd_ < 0) return;
  const int reopened = publishes_ || mapping_ == nullptr ? -1 : reopen_to_read(fd_);
  ::close(fd_);
  fd_ = -1;
  if (mapping_ == nullptr) return;
  replace_by_zeros(mapping_, mapping_bytes_);
  if (reopened >= 0) {
    const Geometry g = geometry_of(view_.constants);
    for (const uint64_t at : {g.ring_offset, g.file_bytes}) {
      (void)::mmap(mapping_ + at, view_.constants.ring_bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
                   reopened, static_cast<off_t>(g.ring_offset));
    }
    ::close(reopened);
  }
  view_.publisher->reservation.state.store(kStateMoved, std::memory_order_relaxed);
  for (uint32_t i = 0; i < view_.constants.reader_slots; ++i) {
    view_.slots[i].lease.store(kLeaseRevoked, std::memory_order_relaxed);
  }
}

base::Result<std::unique_ptr<TopicFile>> TopicFile::open(const std::string& path, Access access,
                                                         const DomainOptions& domain) {
  const int flags = access == Access::kLook ? O_RDONLY : O_RDWR;
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT) return base::Status(Code::kNotFound, "queue.open", ENOENT);
    return base::fail_errno(Code::kIo, "queue.open", errno, "can't open the topic %s",
                            path.c_str());
  }
  std::unique_ptr<TopicFile> file(new TopicFile(fd, ""));
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return base::fail(Code::kIo, "queue.open", "%s is not a regular file", path.c_str());
  }
  if (info.st_uid != ::geteuid() && !domain.allow_other_users) {
    return base::fail(Code::kIo, "queue.owner",
                      "%s belongs to user %u: choose another prefix, or allow other users",
                      path.c_str(), info.st_uid);
  }
  Constants constants;
  uint64_t words[sizeof constants / 8] = {};
  if (::pread(fd, words, sizeof words, 0) != sizeof words) {
    return base::fail(Code::kCorrupt, "queue.open", "%s is too short for a topic", path.c_str());
  }
  std::memcpy(&constants, words, sizeof constants);
  CAMSHAFT_TRY(verify_constants(constants, static_cast<uint64_t>(info.st_size), path.c_str()));
  CAMSHAFT_TRY(file->map(constants, access, path));
  return file;
}

base::Result<std::unique_ptr<TopicFile>> TopicFile::make(const std::string& folder,
                                                         std::string_view topic,
                                                         const Constants& constants,
                                                         uint32_t mode) {
  char suffix[20];
  std::snprintf(suffix, sizeof suffix, "%016llx", static_cast<unsigned long long>(random_word()));
  const std::string path = folder + "/" + temporary_name_start(topic) + suffix;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return base::fail_errno(Code::kIo, "queue.make", errno, "can't make %s", path.c_str());
  std::unique_ptr<TopicFile> file(new TopicFile(fd, path));
  if (!file->lock_publisher()) {
    return base::fail(Code::kIo, "queue.make", "can't lock %s", path.c_str());
  }
  // All pages at once: a full memory file system is an error here, not a fault later.
  if (const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(constants.file_bytes))) {
    const Code code = error == ENOSPC || error == ENOMEM ? Code::kOutOfMemory : Code::kIo;
    return base::fail_errno(code, "queue.make", error, "no room for %llu bytes at %s",
                            static_cast<unsigned long long>(constants.file_bytes), path.c_str());
  }
  CAMSHAFT_TRY(file->map(constants, Access::kPublish, path));
  file->repair_header();
  file->view_.publisher->progress.newest.store(constants.first_sequence);
  file->view_.publisher->progress.oldest.store(constants.first_sequence + 1);
  if (::fchmod(fd, mode) != 0) {
    return base::fail_errno(Code::kIo, "queue.make", errno, "can't set the mode of %s",
                            path.c_str());
  }
  return file;
}

// One range of addresses: the file, then the ring once more. What may be written depends on the
// side; the ring's pages are the same in both places.
base::Status TopicFile::map(const Constants& constants, Access access, const std::string& path) {
  const Geometry g = geometry_of(constants);
  if (constants.page_bytes != static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))) {
    return base::fail(Code::kUnsupported, "queue.page_size", "%s was made for pages of %u bytes",
                      path.c_str(), constants.page_bytes);
  }
  const uint64_t bytes = g.file_bytes + constants.ring_bytes;
  void* memory =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return base::fail_errno(Code::kOutOfMemory, "queue.map", errno,
                            "no %llu bytes of addresses for %s",
                            static_cast<unsigned long long>(bytes), path.c_str());
  }
  auto* base_address = static_cast<std::byte*>(memory);
  // Who takes part shall not fault on its first messages.
  const int populate = access == Access::kLook ? 0 : MAP_POPULATE;
  const auto place = [&](uint64_t at, uint64_t offset, uint64_t size, bool writable) {
    const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
    return ::mmap(base_address + at, size, protection, MAP_SHARED | MAP_FIXED | populate, fd_,
                  static_cast<off_t>(offset)) != MAP_FAILED;
  };
  const bool publishes = access == Access::kPublish;
  const uint64_t readers_bytes = g.entries_offset - g.readers_offset;
  const bool placed =
      place(0, 0, g.readers_offset, publishes) &&
      place(g.readers_offset, g.readers_offset, readers_bytes, access != Access::kLook) &&
      place(g.entries_offset, g.entries_offset, g.file_bytes - g.entries_offset, publishes) &&
      place(g.file_bytes, g.ring_offset, constants.ring_bytes, publishes);
  if (!placed) {
    const int error = errno;
    ::munmap(memory, bytes);
    return base::fail_errno(Code::kIo, "queue.map", error, "can't map %s", path.c_str());
  }
  publishes_ = publishes;
  view_.constants = constants;
  view_.publisher = reinterpret_cast<PublisherArea*>(base_address);
  view_.wake = reinterpret_cast<WakeLine*>(base_address + g.readers_offset);
  view_.slots = reinterpret_cast<ReaderSlot*>(base_address + g.readers_offset + sizeof(WakeLine));
  view_.entries = reinterpret_cast<Entry*>(base_address + g.entries_offset);
  view_.ring = base_address + g.ring_offset;
  mapping_bytes_ = bytes;
  mapping_ = base_address;
  return base::ok();
}

TopicFile::~TopicFile() {
  guard_.end();
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
  if (fd_ >= 0) ::close(fd_);
}

base::Result<bool> TopicFile::take_free_name(const std::string& path) {
  if (::renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, path.c_str(), kRenameNoReplace) ==
      0) {
    temporary_path_.clear();
    return true;
  }
  if (errno == EEXIST) return false;
  return base::fail_errno(Code::kIo, "queue.name", errno, "can't give %s its name", path.c_str());
}

base::Status TopicFile::take_name(const std::string& path) {
  if (::renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, path.c_str(), kRenameExchange) !=
      0) {
    return base::fail_errno(Code::kIo, "queue.name", errno, "can't give %s its name", path.c_str());
  }
  mark_moved(temporary_path_);  // the old file's name now
  ::unlink(temporary_path_.c_str());
  temporary_path_.clear();
  return base::ok();
}

bool TopicFile::lock_byte(int64_t byte, bool lock) noexcept {
  struct flock request = byte_lock(byte, lock ? F_WRLCK : F_UNLCK);
  return ::fcntl(fd_, F_OFD_SETLK, &request) == 0;
}

// A lock of this object's own doesn't count.
bool TopicFile::is_byte_locked(int64_t byte) const noexcept {
  return is_locked(fd_, byte);
}

bool TopicFile::lock_publisher() noexcept {
  return lock_byte(kPublisherLockByte, true);
}

bool TopicFile::has_publisher() const noexcept {
  return is_byte_locked(kPublisherLockByte);
}

bool TopicFile::is_alive(uint32_t slot) const noexcept {
  return is_byte_locked(kFirstReaderLockByte + slot);
}

std::optional<uint32_t> TopicFile::claim_slot(std::string_view reader_name) noexcept {
  for (uint32_t i = 0; i < view_.constants.reader_slots; ++i) {
    if (!lock_byte(kFirstReaderLockByte + i, true)) continue;
    ReaderSlot& slot = view_.slots[i];
    uint64_t name[kReaderNameBytes / 8] = {};
    std::memcpy(name, reader_name.data(), std::min(reader_name.size(), sizeof name));
    slot.lease.store(0, std::memory_order_release);
    slot.cursor.store(0, std::memory_order_relaxed);
    slot.received.store(0, std::memory_order_relaxed);
    slot.dropped.store(0, std::memory_order_relaxed);
    slot.conflated.store(0, std::memory_order_relaxed);
    slot.corrupt.store(0, std::memory_order_relaxed);
    slot.bell.store(0, std::memory_order_relaxed);
    slot.pid.store(static_cast<uint64_t>(::getpid()), std::memory_order_relaxed);
    slot.opened_mono_ns.store(static_cast<uint64_t>(base::mono_time_ns()),
                              std::memory_order_relaxed);
    store_words(slot.name, name, std::size(name));
    return i;
  }
  return std::nullopt;
}

void TopicFile::release_slot(uint32_t slot) noexcept {
  view_.slots[slot].lease.store(0, std::memory_order_release);
  lock_byte(kFirstReaderLockByte + slot, false);
}

bool TopicFile::is_at(const std::string& path) const noexcept {
  struct stat named = {};
  struct stat own = {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd_, &own) == 0 &&
         named.st_ino == own.st_ino && named.st_dev == own.st_dev;
}

bool TopicFile::has_name() const noexcept {
  struct stat own = {};
  return ::fstat(fd_, &own) == 0 && own.st_nlink > 0;
}

uint32_t TopicFile::mode() const noexcept {
  struct stat own = {};
  return ::fstat(fd_, &own) == 0 ? own.st_mode & 07777 : 0;
}

bool TopicFile::is_header_intact() const noexcept {
  uint64_t expected[sizeof(Constants) / 8];
  uint64_t found[sizeof(Constants) / 8];
  std::memcpy(expected, &view_.constants, sizeof expected);
  load_words(found, &view_.publisher->constants, std::size(found));
  return std::memcmp(expected, found, sizeof found) == 0;
}

void TopicFile::repair_header() noexcept {
  uint64_t words[sizeof(Constants) / 8];
  std::memcpy(words, &view_.constants, sizeof words);
  store_words(&view_.publisher->constants, words, std::size(words));
}

}  // namespace camshaft::queue
