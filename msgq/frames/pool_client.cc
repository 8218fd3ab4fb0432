// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "msgq/frames/pool_socket.h"
#include "msgq/queue/domain.h"
#include "runtime/base/clock.h"

namespace camshaft::frames {
namespace {

constexpr int64_t kRetryNs = 10'000'000;
constexpr uint32_t kMaxFds = 2 + kMaxSlots;

struct Place {
  std::string_view pool;
  std::string path;
  int64_t deadline_ns;

  int name_length() const { return static_cast<int>(pool.size()); }
  bool is_late() const { return base::mono_time_ns() >= deadline_ns; }
};

void sleep_ns(int64_t ns) {
  const timespec time = {0, static_cast<long>(ns)};
  ::nanosleep(&time, nullptr);
}

// Tries again until the deadline while there is no socket or nobody at it.
base::Result<OwnedFd> connect_to(const Place& place) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, place.path.c_str(), place.path.size() + 1);
  while (true) {
    OwnedFd connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!connection.is_open()) {
      return base::fail_errno(base::Code::kIo, "frames.join", errno, "can't make a socket");
    }
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
        0) {
      return connection;
    }
    const bool may_come =
        errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR;
    if (!may_come) {
      return base::fail_errno(base::Code::kIo, "frames.join", errno, "can't join pool '%.*s'",
                              place.name_length(), place.pool.data());
    }
    if (place.is_late()) {
      return base::fail(base::Code::kNotFound, "frames.join",
                        "there is no pool '%.*s': is its camera process running, with this prefix?",
                        place.name_length(), place.pool.data());
    }
    sleep_ns(kRetryNs);
  }
}

// The answer and its file descriptors. Empty welcome (magic 0) where the producer hung up.
base::Result<JoinedPool> receive_welcome(OwnedFd connection) {
  JoinedPool joined;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
  iovec data = {&joined.welcome, sizeof joined.welcome};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(connection.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  joined.connection = std::move(connection);
  OwnedFd fds[kMaxFds];
  size_t count = 0;
  if (size > 0) {
    for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
      if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
      const size_t bytes = at->cmsg_len - CMSG_LEN(0);
      for (size_t i = 0; i + sizeof(int) <= bytes && count < kMaxFds; i += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(at) + i, sizeof fd);
        fds[count++] = OwnedFd(fd);
      }
    }
  }
  const Welcome& welcome = joined.welcome;
  if (size <= 0) joined.welcome.magic = 0;
  if (size <= 0 || welcome.answer != Answer::kWelcome) return joined;
  if (size != sizeof welcome || welcome.magic != kPoolMagic || welcome.version != kPoolVersion ||
      (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || welcome.slot_count == 0 ||
      welcome.slot_count > kMaxSlots || welcome.holder >= kMaxHolders || welcome.slot_bytes == 0 ||
      count != 2 + welcome.slot_count) {
    return base::fail(base::Code::kCorrupt, "frames.welcome",
                      "what answers at a frame pool's socket is no frame pool");
  }
  joined.control = std::move(fds[0]);
  joined.leases = std::move(fds[1]);
  for (uint32_t i = 0; i < welcome.slot_count; ++i) joined.slots[i] = std::move(fds[2 + i]);
  return joined;
}

base::Status check_answer(const JoinedPool& joined, const Place& place) {
  switch (joined.welcome.answer) {
    case Answer::kWelcome:
      return base::ok();
    case Answer::kFull:
      return base::fail(base::Code::kBusy, "frames.join",
                        "pool '%.*s' has %u readers, which is all that it can have",
                        place.name_length(), place.pool.data(), kMaxHolders);
    case Answer::kOtherVersion:
      break;
  }
  return base::fail(base::Code::kUnsupported, "frames.join",
                    "pool '%.*s' speaks version %u, this program %u: use programs of one version",
                    place.name_length(), place.pool.data(), joined.welcome.version, kPoolVersion);
}

// False where the deadline came first.
bool wait_for_answer(const OwnedFd& connection, const Place& place) {
  while (true) {
    const int64_t left_ms = (place.deadline_ns - base::mono_time_ns() + 999'999) / 1'000'000;
    pollfd polled = {connection.get(), POLLIN, 0};
    const int timeout = static_cast<int>(left_ms < 0 ? 0 : left_ms > 1000 ? 1000 : left_ms);
    if (::poll(&polled, 1, timeout) > 0) return true;
    if (place.is_late()) return false;
  }
}

}  // namespace

base::Result<std::string> pool_socket_path(std::string_view pool,
                                           const queue::DomainOptions& domain) {
  CAMSHAFT_TRY(queue::check_topic_name(pool));
  CAMSHAFT_TRY_ASSIGN(std::string path, queue::domain_folder(domain));
  path.append("/.frames.").append(pool);
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return base::fail(base::Code::kInvalidArgument, "frames.socket_path",
                      "the name of pool '%.*s' is too long for a socket: use a shorter name or "
                      "prefix",
                      static_cast<int>(pool.size()), pool.data());
  }
  return path;
}

base::Result<JoinedPool> join_pool(std::string_view pool, const queue::DomainOptions& domain,
                                   std::string_view holder, int64_t deadline_ns) {
  CAMSHAFT_TRY_ASSIGN(std::string path, pool_socket_path(pool, domain));
  const Place place = {pool, std::move(path), deadline_ns};
  Hello hello;
  std::memcpy(hello.holder, holder.data(), std::min(holder.size(), size_t{kNameBytes - 1}));
  while (true) {
    CAMSHAFT_TRY_ASSIGN(OwnedFd connection, connect_to(place));
    (void)::send(connection.get(), &hello, sizeof hello, MSG_NOSIGNAL);
    if (!wait_for_answer(connection, place)) {
      return base::fail(base::Code::kDeadlineExceeded, "frames.join",
                        "the producer of pool '%.*s' does not answer: it serves readers when it "
                        "begins a frame",
                        place.name_length(), place.pool.data());
    }
    CAMSHAFT_TRY_ASSIGN(JoinedPool joined, receive_welcome(std::move(connection)));
    if (joined.welcome.magic != 0) {
      CAMSHAFT_TRY(check_answer(joined, place));
      return joined;
    }
    // The producer ended, or let newer readers pass: as if it had not been there.
    if (place.is_late()) {
      return base::fail(base::Code::kNotFound, "frames.join",
                        "the producer of pool '%.*s' went away", place.name_length(),
                        place.pool.data());
    }
    sleep_ns(kRetryNs);
  }
}

bool is_hung_up(const OwnedFd& connection) noexcept {
  pollfd polled = {connection.get(), POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0 && polled.revents != 0;
}

}  // namespace camshaft::frames
