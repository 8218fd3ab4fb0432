// SPDX-License-Identifier: MIT
// The socket at which readers join a pool. A reader keeps its connection for as long as it holds
// leases: the kernel closes it however the reader ends, and that is how the producer learns that
// leases are free, in any PID namespace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "msgq/frames/layout.h"
#include "msgq/frames/memory.h"
#include "msgq/queue/topic.h"
#include "runtime/base/status.h"

namespace camshaft::frames {

// The path of a pool's socket, in the folder of the domain's topics. kInvalidArgument for a name
// that is none, or too long for a socket.
base::Result<std::string> pool_socket_path(std::string_view pool,
                                           const queue::DomainOptions& domain);

// The producer's end. One thread at a time.
class PoolServer {
 public:
  // kBusy where another producer has the pool.
  static base::Result<PoolServer> open(std::string_view pool, const queue::DomainOptions& domain);

  // Holders that came and went, a bit each.
  struct Changes {
    uint32_t joined = 0;
    uint32_t left = 0;
  };
  // Welcomes who waits and finds out who is gone; never blocks. `fds` go to each that is welcomed.
  // One system call where nothing happened. hot path.
  Changes serve(const Welcome& welcome, std::span<const int> fds) noexcept;

  // In a child made by fork(): closes all, so that lock and connections are the parent's alone.
  void leave_to_parent() noexcept;

  uint32_t holders() const { return holders_; }
  // As the holder said itself: kNameBytes, printable, with a final zero.
  const char* holder_name(uint32_t holder) const { return names_[holder]; }

 private:
  static constexpr uint32_t kMaxPending = 8;

  // The socket file goes with the server, while it still has the lock.
  class SocketFile {
   public:
    SocketFile() = default;
    explicit SocketFile(std::string path) : path_(std::move(path)) {}
    SocketFile(SocketFile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    SocketFile& operator=(SocketFile&& other) noexcept {
      path_.swap(other.path_);
      return *this;
    }
    ~SocketFile();
    void leave_to_parent() noexcept { path_.clear(); }

   private:
    std::string path_;
  };

  void accept_readers() noexcept;
  void greet(OwnedFd& pending, const Welcome& welcome, std::span<const int> fds,
             Changes& changes) noexcept;

  OwnedFd lock_;  // of the file beside the socket, held while the producer lives
  SocketFile socket_file_;
  OwnedFd listener_;
  OwnedFd pending_[kMaxPending];  // connected, have not said hello
  uint32_t next_pending_ = 0;
  OwnedFd connections_[kMaxHolders];
  uint32_t holders_ = 0;
  char names_[kMaxHolders][kNameBytes] = {};
};

// The reader's end.
struct JoinedPool {
  OwnedFd connection;  // of which the leases depend
  Welcome welcome;
  OwnedFd control;
  OwnedFd leases;
  OwnedFd slots[kMaxSlots];
};
// Waits until `deadline_ns` for the pool to appear and its producer to answer. kNotFound, kBusy
// (all places are taken), kDeadlineExceeded, kUnsupported (another version), kCorrupt, kIo.
base::Result<JoinedPool> join_pool(std::string_view pool, const queue::DomainOptions& domain,
                                   std::string_view holder, int64_t deadline_ns);

// Whether the other end of a connection is gone. A system call.
bool is_hung_up(const OwnedFd& connection) noexcept;

}  // namespace camshaft::frames
