// SPDX-License-Identifier: MIT
// The one sender of a topic.
//
//   auto publisher = queue::Publisher::open("carState", {.size = {.ring_bytes = 1 << 20}});
//   publisher->publish(bytes);
//
//   auto space = publisher->reserve(size);          // or without a copy:
//   fill(*space);
//   publisher->commit(size);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "msgq/queue/topic.h"
#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::queue {

// What happens where a topic has a publisher already.
enum class IfTaken : uint8_t {
  kRefuse,    // open() fails with kBusy
  kTakeOver,  // the topic moves to a new file; the other publisher's next call fails, kNotFound
};

// What happens where readers hold messages in so many places of the ring that a new one has no
// room. With ring_bytes >= 2 * (readers + 1) * message size it can't come to that.
enum class IfHeld : uint8_t {
  kRevoke,  // the messages in the way are taken from their readers, whose release() says so
  kRefuse,  // the new message is not sent: kBusy
};

struct PublisherOptions {
  DomainOptions domain = {};
  TopicSize size = {};
  uint64_t schema_hash = 0;           // readers that expect another one get kUnsupported
  uint64_t check_up_to_bytes = 1024;  // payloads up to this size carry a checksum
  uint32_t mode = 0600;               // permissions of the file
  IfTaken if_taken = IfTaken::kRefuse;
  IfHeld if_held = IfHeld::kRevoke;
};

// One thread at a time. Nothing here waits for a reader.
class Publisher {
 public:
  // Makes the topic, or goes on with an existing one of the same size and schema, whose messages
  // stay for late readers. Load time only. kBusy, kInvalidArgument, kIo, kOutOfMemory.
  static base::Result<Publisher> open(std::string_view topic, const PublisherOptions& options);

  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) noexcept;
  ~Publisher();

  // Sends a copy. `tag` is the sender's own (a frame's number, a type). Hot path. Fails with
  // kInvalidArgument (larger than max_message_bytes), kBusy (see IfHeld), kNotFound (the topic was
  // taken over or removed, or this process was forked from the publisher's: open() it again).
  base::Status publish(base::Bytes payload, uint64_t tag = 0) noexcept;

  // Room for one message of up to `size_bytes`, aligned to 64 bytes, until commit() or cancel(). A
  // second reserve() replaces the first. Nobody else sees it. Hot path; fails like publish().
  base::Result<std::span<std::byte>> reserve(uint64_t size_bytes) noexcept;
  // Sends the first `size_bytes` of what was reserved. Hot path.
  base::Status commit(uint64_t size_bytes, uint64_t tag = 0) noexcept;
  void cancel() noexcept;

  // Moves the topic to a new file of another size. Readers read what is left in the old one, then
  // follow without a gap. Load time only.
  base::Status resize(const TopicSize& size);

  uint64_t newest_sequence() const noexcept;  // of the last message sent; 0: none
  uint64_t max_message_bytes() const noexcept;
  std::string_view topic() const noexcept;

 private:
  struct State;
  explicit Publisher(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace camshaft::queue
