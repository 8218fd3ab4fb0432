// SPDX-License-Identifier: MIT
// What people use otherwise: ZeroMQ, POSIX message queues, Unix sockets.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "tests/perf/queue/channel.h"

namespace camshaft::perf {
namespace {

int ms_until(int64_t deadline_ns) {
  return static_cast<int>(std::max<int64_t>(0, (deadline_ns - base::mono_time_ns()) / 1'000'000));
}

class ZmqChannel : public Channel {
 public:
  ZmqChannel(const Setup& setup, bool in_process)
      : in_process_(in_process),
        buffer_(setup.size_bytes),
        address_((in_process ? "inproc://bench-" : "ipc:///tmp/camshaft-bench-") +
                 std::to_string(::getpid())) {}
  ~ZmqChannel() override {
    if (sender_ != nullptr) zmq_close(sender_);
    if (context_ != nullptr) zmq_ctx_term(context_);
  }

  void begin_sending() override {
    context_ = zmq_ctx_new();
    sender_ = zmq_socket(context_, ZMQ_PUB);
    const int linger = 0;
    zmq_setsockopt(sender_, ZMQ_LINGER, &linger, sizeof linger);
    require(zmq_bind(sender_, address_.c_str()) == 0, "zmq_bind");
  }
  std::byte* space() override { return buffer_.data(); }
  void send() override {
    require(zmq_send(sender_, buffer_.data(), buffer_.size(), 0) >= 0, "zmq_send");
  }
  void begin_receiving(uint32_t) override {
    thread_local Receiver receiver;
    receiver.context = in_process_ ? context_ : zmq_ctx_new();
    receiver.socket = zmq_socket(receiver.context, ZMQ_SUB);
    zmq_setsockopt(receiver.socket, ZMQ_SUBSCRIBE, "", 0);
    require(zmq_connect(receiver.socket, address_.c_str()) == 0, "zmq_connect");
    receiver_ = &receiver;
  }
  bool receive(int64_t deadline_ns, Stamp* stamp) override {
    zmq_pollitem_t item = {receiver_->socket, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, ms_until(deadline_ns)) <= 0) return close_receiver();
    zmq_msg_t message;
    zmq_msg_init(&message);
    require(zmq_msg_recv(&message, receiver_->socket, 0) >= 0, "zmq_msg_recv");
    std::memcpy(stamp, zmq_msg_data(&message), sizeof *stamp);
    zmq_msg_close(&message);
    if (stamp->sent_ns == 0) close_receiver();
    return true;
  }

 private:
  struct Receiver {
    void* context = nullptr;
    void* socket = nullptr;
  };
  bool close_receiver() {
    zmq_close(receiver_->socket);
    return false;
  }
  bool in_process_;
  std::vector<std::byte> buffer_;
  std::string address_;
  void* context_ = nullptr;
  void* sender_ = nullptr;
  static thread_local Receiver* receiver_;
};
thread_local ZmqChannel::Receiver* ZmqChannel::receiver_ = nullptr;

// A queue for each receiver.
class PosixQueueChannel : public Channel {
 public:
  explicit PosixQueueChannel(const Setup& setup) : buffer_(setup.size_bytes) {
    for (uint32_t i = 0; i < setup.receivers; ++i) {
      const std::string name =
          "/camshaft-bench-" + std::to_string(::getpid()) + "-" + std::to_string(i);
      mq_attr attributes = {};
      attributes.mq_maxmsg = 8;
      attributes.mq_msgsize = static_cast<long>(setup.size_bytes);
      queues_.push_back(::mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &attributes));
      require(queues_.back() != -1, "mq_open");
      ::mq_unlink(name.c_str());
    }
  }
  ~PosixQueueChannel() override {
    for (const mqd_t queue : queues_) ::mq_close(queue);
  }
  std::byte* space() override { return buffer_.data(); }
  void send() override {
    for (const mqd_t queue : queues_) {
      require(::mq_send(queue, reinterpret_cast<char*>(buffer_.data()), buffer_.size(), 0) == 0,
              "mq_send");
    }
  }
  void begin_receiving(uint32_t index) override { own_ = queues_[index]; }
  bool receive(int64_t deadline_ns, Stamp* stamp) override {
    timespec until = {};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1 + ms_until(deadline_ns) / 1000;
    if (::mq_timedreceive(own_, reinterpret_cast<char*>(buffer_.data()), buffer_.size(), nullptr,
                          &until) < 0) {
      return false;
    }
    std::memcpy(stamp, buffer_.data(), sizeof *stamp);
    return true;
  }

 private:
  std::vector<std::byte> buffer_;
  std::vector<mqd_t> queues_;
  mqd_t own_ = -1;
};

// A stream for each receiver.
class UnixSocketChannel : public Channel {
 public:
  explicit UnixSocketChannel(const Setup& setup) : buffer_(setup.size_bytes) {
    for (uint32_t i = 0; i < setup.receivers; ++i) {
      int ends[2];
      require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
      senders_.push_back(ends[0]);
      receivers_.push_back(ends[1]);
    }
  }
  ~UnixSocketChannel() override {
    for (const int fd : senders_) ::close(fd);
    for (const int fd : receivers_) ::close(fd);
  }
  std::byte* space() override { return buffer_.data(); }
  void send() override {
    for (const int fd : senders_) {
      for (size_t done = 0; done < buffer_.size();) {
        const ssize_t n = ::send(fd, buffer_.data() + done, buffer_.size() - done, 0);
        require(n > 0, "send");
        done += static_cast<size_t>(n);
      }
    }
  }
  void begin_receiving(uint32_t index) override {
    own_ = receivers_[index];
    const timeval timeout = {2, 0};
    ::setsockopt(own_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  }
  bool receive(int64_t, Stamp* stamp) override {
    if (::recv(own_, buffer_.data(), buffer_.size(), MSG_WAITALL) !=
        static_cast<ssize_t>(buffer_.size())) {
      return false;
    }
    std::memcpy(stamp, buffer_.data(), sizeof *stamp);
    return true;
  }

 private:
  std::vector<std::byte> buffer_;
  std::vector<int> senders_;
  std::vector<int> receivers_;
  int own_ = -1;
};

}  // namespace

std::unique_ptr<Channel> make_zmq_ipc(const Setup& setup) {
  return std::make_unique<ZmqChannel>(setup, false);
}
std::unique_ptr<Channel> make_zmq_inproc(const Setup& setup) {
  return std::make_unique<ZmqChannel>(setup, true);
}
std::unique_ptr<Channel> make_posix_queue(const Setup& setup) {
  return std::make_unique<PosixQueueChannel>(setup);
}
std::unique_ptr<Channel> make_unix_socket(const Setup& setup) {
  return std::make_unique<UnixSocketChannel>(setup);
}

namespace {
// What the system allows to users.
uint64_t posix_queue_max_bytes() {
  uint64_t bytes = 0;
  std::ifstream("/proc/sys/fs/mqueue/msgsize_max") >> bytes;
  return bytes;
}
}  // namespace

const std::vector<ChannelKind>& channel_kinds() {
  static const std::vector<ChannelKind> kinds = {
      {"bare futex", make_futex, false, true},
      {"camshaft, borrowed", make_queue_borrow, false, true},
      {"camshaft, copied", make_queue_copy, false, true},
      {"camshaft, poller", make_queue_poller, false, true},
      {"ring with signals", make_signal_ring},
      {"Unix socket", make_unix_socket},
      {"POSIX queue", make_posix_queue, false, false, posix_queue_max_bytes},
      {"ZeroMQ ipc", make_zmq_ipc},
      {"ZeroMQ inproc", make_zmq_inproc, true},
  };
  return kinds;
}

}  // namespace camshaft::perf
