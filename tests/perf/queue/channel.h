// SPDX-License-Identifier: MIT
// One way of getting messages from one process to several others: ours, and those that it is timed
// beside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace camshaft::perf {

// What every message begins with.
struct Stamp {
  int64_t sent_ns = 0;  // 0: the last message
  uint64_t number = 0;  // from 1
};

struct Setup {
  uint32_t receivers = 1;
  uint64_t size_bytes = 64;
  bool spin = false;  // receivers look all the time instead of sleeping
};

// An object is made before the processes are; then each process calls its own half.
class Channel {
 public:
  virtual ~Channel() = default;

  virtual void begin_sending() {}
  // Where the next message is to be put together; at least size_bytes.
  virtual std::byte* space() = 0;
  virtual void send() = 0;

  virtual void begin_receiving(uint32_t index) = 0;
  // Blocks for a message; false where there is none until the deadline.
  virtual bool receive(int64_t deadline_ns, Stamp* stamp) = 0;
};

struct ChannelKind {
  std::string name;
  std::unique_ptr<Channel> (*make)(const Setup& setup);
  bool uses_threads = false;  // receivers are threads of one process
  bool can_spin = false;
  uint64_t (*max_bytes)() = nullptr;  // of a message, where there is a limit
};

// All kinds, the bare ones first.
const std::vector<ChannelKind>& channel_kinds();

std::unique_ptr<Channel> make_futex(const Setup& setup);
std::unique_ptr<Channel> make_queue_borrow(const Setup& setup);
std::unique_ptr<Channel> make_queue_copy(const Setup& setup);
std::unique_ptr<Channel> make_queue_poller(const Setup& setup);
std::unique_ptr<Channel> make_signal_ring(const Setup& setup);
std::unique_ptr<Channel> make_zmq_ipc(const Setup& setup);
std::unique_ptr<Channel> make_zmq_inproc(const Setup& setup);
std::unique_ptr<Channel> make_posix_queue(const Setup& setup);
std::unique_ptr<Channel> make_unix_socket(const Setup& setup);

// Ends the process with a message where something that must work does not.
void require(bool condition, const char* what);

// Memory that the processes share, full of zeros.
void* shared_memory(size_t bytes);

}  // namespace camshaft::perf
