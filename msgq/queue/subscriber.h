// SPDX-License-Identifier: MIT
// One reader of a topic.
//
//   auto subscriber = queue::Subscriber::open("carState", {});
//   if (subscriber->wait(deadline_ns).is_ok()) {
//     auto message = subscriber->borrow();             // or receive(buffer), which copies
//     if (message && *message) use(message->bytes());
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "msgq/queue/topic.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::queue {

class Poller;
class RingReader;

// Where a reader begins in a topic that has messages already.
enum class Start : uint8_t {
  kNext,    // with the next message to come
  kNewest,  // with the last one sent
  kOldest,  // with all that are still there
};

struct SubscriberOptions {
  DomainOptions domain = {};
  std::string name = {};     // for people who look at the topic; "": the program's name
  uint64_t schema_hash = 0;  // what the payloads must mean; 0: anything
  Start start = Start::kNext;
  bool conflate = false;  // every message read is the newest; those before it are passed over
  int64_t spin_ns = 0;    // wait() looks for this long before it sleeps
  // A sleeper looks around this often for what nobody wakes it for: a file removed by hand, say.
  int64_t look_again_ns = 1'000'000'000;
};

struct MessageInfo {
  uint64_t sequence = 0;     // 1 for a topic's first message; 0: no message
  int64_t mono_time_ns = 0;  // when it was sent
  uint64_t size_bytes = 0;
  uint64_t tag = 0;      // the sender's own
  uint64_t dropped = 0;  // messages overwritten unread between the last one and this
};

// A message in place: a view of shared memory that the publisher leaves alone until release().
// Empty (false) where there is none. Must not outlive its subscriber.
class Message {
 public:
  Message() = default;
  Message(Message&& other) noexcept;
  Message& operator=(Message&& other) noexcept;
  ~Message() { (void)release(); }

  explicit operator bool() const { return info_.sequence != 0; }
  const MessageInfo& info() const { return info_; }
  // Aligned to 64 bytes.
  base::Bytes bytes() const { return {data_, info_.size_bytes}; }

  // Whether the bytes are still the message's: false where the publisher had to take them back
  // (see IfHeld::kRevoke); what was read from them since must not be used.
  bool still_valid() const noexcept;
  // Gives the bytes back and says what still_valid() said. The message is empty afterwards.
  bool release() noexcept;

 private:
  friend class RingReader;
  MessageInfo info_;
  const std::byte* data_ = nullptr;
  uint64_t payload_check_ = 0;
  RingReader* reader_ = nullptr;  // that holds the lease; null where nothing is held
};

// One thread at a time. A child made by fork() leaves its parent's place to it, and takes one of
// its own with the next call; a message held while forking is no longer valid in the child.
class Subscriber {
 public:
  // The topic need not exist yet: the subscriber finds it when it appears, and follows it when it
  // is made anew. Load time only. kBusy (all reader slots are taken), kUnsupported (another
  // schema), kCorrupt, kInvalidArgument, kIo.
  static base::Result<Subscriber> open(std::string_view topic, const SubscriberOptions& options);

  Subscriber(Subscriber&&) noexcept;
  Subscriber& operator=(Subscriber&&) noexcept;
  ~Subscriber();

  // The next message, in place; empty where there is none yet. The message before it must have been
  // released. Hot path, except that it opens a file where the topic has appeared or moved. Fails
  // with kCorrupt (this message is damaged; the next call goes on behind it), kUnsupported, kBusy.
  base::Result<Message> borrow() noexcept;

  // Copies the next message to `into` and returns what borrow() would say of it; sequence 0 where
  // there is none yet. kInvalidArgument where `into` is too small: the message stays the next one.
  base::Result<MessageInfo> receive(std::span<std::byte> into) noexcept;

  // Blocks until there is something to read or to report; kDeadlineExceeded where there is nothing
  // until `deadline_ns` on the monotonic clock. Hot path.
  base::Status wait(int64_t deadline_ns) noexcept;

  // Whether borrow() would have something to give or to report. Hot path.
  bool is_ready() const noexcept;

  bool is_connected() const noexcept;   // whether the topic has been found
  bool has_publisher() const noexcept;  // whether somebody sends now. A system call
  uint64_t dropped() const noexcept;    // totals since open()
  uint64_t conflated() const noexcept;
  uint64_t corrupt() const noexcept;
  uint64_t received() const noexcept;
  uint64_t max_message_bytes() const noexcept;  // of the topic as it is now; 0: not connected
  uint64_t schema_hash() const noexcept;        // the same
  std::string_view topic() const noexcept;

 private:
  friend class Poller;
  struct State;
  explicit Subscriber(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace camshaft::queue
