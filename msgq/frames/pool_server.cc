// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "msgq/frames/pool_socket.h"
#include "msgq/queue/domain.h"
#include "runtime/base/log_ring.h"

namespace camshaft::frames {
namespace {

constexpr uint32_t kMode = 0600;  // only this user may join
constexpr int kBacklog = 64;
constexpr uint32_t kMaxFds = 2 + kMaxSlots;

base::Result<OwnedFd> take_lock(const std::string& path, std::string_view pool) {
  OwnedFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!lock.is_open()) {
    return base::fail_errno(base::Code::kIo, "frames.lock", errno, "can't open %s", path.c_str());
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::fail(base::Code::kBusy, "frames.lock",
                      "pool '%.*s' has a producer already: end it, or use another name or prefix",
                      static_cast<int>(pool.size()), pool.data());
  }
  return lock;
}

base::Result<OwnedFd> listen_at(const std::string& path) {
  OwnedFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ::unlink(path.c_str());  // left by a producer that was killed: the lock is ours
  if (!listener.is_open() || ::fchmod(listener.get(), kMode) != 0 ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return base::fail_errno(base::Code::kIo, "frames.listen", errno, "can't listen at %s",
                            path.c_str());
  }
  return listener;
}

// One packet with file descriptors. False where the reader is gone or its socket is full.
bool send_welcome(int connection, const Welcome& welcome, std::span<const int> fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
  iovec data = {const_cast<Welcome*>(&welcome), sizeof welcome};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  return ::sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof welcome;
}

void copy_printable(const char (&from)[kNameBytes], char (&to)[kNameBytes]) {
  size_t i = 0;
  for (; i + 1 < kNameBytes && from[i] != 0; ++i) {
    to[i] = from[i] > ' ' && from[i] <= '~' ? from[i] : '?';
  }
  std::memset(to + i, 0, kNameBytes - i);
}

}  // namespace

PoolServer::SocketFile::~SocketFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

base::Result<PoolServer> PoolServer::open(std::string_view pool,
                                          const queue::DomainOptions& domain) {
  PoolServer server;
  CAMSHAFT_TRY_ASSIGN(const std::string path, pool_socket_path(pool, domain));
  CAMSHAFT_TRY_ASSIGN(const std::string folder, queue::domain_folder(domain));
  CAMSHAFT_TRY(queue::make_domain_folder(folder, domain, kMode));
  CAMSHAFT_TRY_ASSIGN(server.lock_, take_lock(path + ".lock", pool));
  CAMSHAFT_TRY_ASSIGN(server.listener_, listen_at(path));
  server.socket_file_ = SocketFile(path);
  return server;
}

void PoolServer::leave_to_parent() noexcept {
  socket_file_.leave_to_parent();
  lock_.reset();
  listener_.reset();
  for (OwnedFd& connection : pending_) connection.reset();
  for (OwnedFd& connection : connections_) connection.reset();
  holders_ = 0;
}

PoolServer::Changes PoolServer::serve(const Welcome& welcome, std::span<const int> fds) noexcept {
  pollfd polled[1 + kMaxPending + kMaxHolders];
  polled[0] = {listener_.get(), POLLIN, 0};
  for (uint32_t i = 0; i < kMaxPending; ++i) polled[1 + i] = {pending_[i].get(), POLLIN, 0};
  for (uint32_t i = 0; i < kMaxHolders; ++i) {
    polled[1 + kMaxPending + i] = {connections_[i].get(), POLLIN, 0};
  }
  Changes changes;
  if (::poll(polled, std::size(polled), 0) <= 0) return changes;
  for (uint32_t i = 0; i < kMaxHolders; ++i) {
    // A holder that has been welcomed has nothing more to say: whatever comes ends its stay.
    if (polled[1 + kMaxPending + i].revents == 0) continue;
    connections_[i].reset();
    holders_ &= ~(1u << i);
    changes.left |= 1u << i;
  }
  if (polled[0].revents != 0) accept_readers();
  for (OwnedFd& connection : pending_) {
    if (connection.is_open()) greet(connection, welcome, fds, changes);
  }
  return changes;
}

void PoolServer::accept_readers() noexcept {
  for (uint32_t i = 0; i < kMaxPending; ++i) {
    OwnedFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        base::log_line("a reader can't join a frame pool: accept fails with error %d", errno);
      }
      return;
    }
    // Who connects and says nothing gives way to those that come later.
    pending_[next_pending_] = std::move(connection);
    next_pending_ = (next_pending_ + 1) % kMaxPending;
  }
}

void PoolServer::greet(OwnedFd& pending, const Welcome& welcome, std::span<const int> fds,
                       Changes& changes) noexcept {
  // The leases of a place that has just been left are still to be taken back: who finds no other
  // waits for the next time.
  const uint32_t free_places = ~(holders_ | changes.left);
  if (free_places == 0 && ~holders_ != 0) return;
  Hello hello;
  const ssize_t size = ::recv(pending.get(), &hello, sizeof hello, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  OwnedFd connection = std::move(pending);
  if (size != sizeof hello || hello.magic != kPoolMagic) return;
  Welcome answer = welcome;
  if (hello.version != kPoolVersion) answer.answer = Answer::kOtherVersion;
  if (free_places == 0) answer.answer = Answer::kFull;
  if (answer.answer != Answer::kWelcome) {
    (void)send_welcome(connection.get(), answer, {});
    return;
  }
  answer.holder = static_cast<uint32_t>(__builtin_ctz(free_places));
  if (!send_welcome(connection.get(), answer, fds)) return;
  connections_[answer.holder] = std::move(connection);
  copy_printable(hello.holder, names_[answer.holder]);
  holders_ |= 1u << answer.holder;
  changes.joined |= 1u << answer.holder;
}

}  // namespace camshaft::frames
