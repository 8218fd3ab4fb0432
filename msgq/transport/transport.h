// SPDX-License-Identifier: MIT
// How messages get from senders to receivers: one small interface, several ways behind it.
//
//   shared_memory.h  between processes: msgq/queue
//   in_process.h     within one
//   stepped.h        a driver decides when each wait ends: deterministic replay
//
// (msgq/bridge carries topics between machines: a sender here, a receiver there.)
//
// A Transport outlives what it opened. A Sender, a Receiver and a Waiter are used by one thread at
// a time; a waiter's receivers by the waiter's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::transport {

using base::Result;
using base::Status;

struct SenderOptions {
  uint64_t schema_hash = 0;                  // what the payloads mean; 0: anything
  uint64_t queue_bytes = uint64_t{1} << 20;  // memory for messages that are not yet read
};

struct ReceiverOptions {
  std::string name = {};     // for people who look at the topic; "": the program's name
  uint64_t schema_hash = 0;  // what the payloads must mean; 0: anything
  bool conflate = false;     // every message received is the newest
};

// A message, or none (sequence 0).
struct Received {
  base::Bytes bytes = {};    // the receiver's own copy, 8-byte aligned, until its next call
  uint64_t sequence = 0;     // 1 for a topic's first message
  int64_t mono_time_ns = 0;  // when it was sent
  uint64_t dropped = 0;      // messages lost between the last one and this

  explicit operator bool() const { return sequence != 0; }
};

class Sender {
 public:
  virtual ~Sender() = default;
  // Sends a copy; never waits for a receiver. kInvalidArgument (larger than the topic can take),
  // kBusy, kNotFound (another sender took the topic over). hot path.
  virtual Status send(base::Bytes message) noexcept = 0;
};

class Receiver {
 public:
  virtual ~Receiver() = default;
  // The next message. Fails with kCorrupt where that one is damaged (the next call goes on behind
  // it), kUnsupported (another schema), kBusy (no place for one more receiver). hot path.
  virtual Result<Received> receive() noexcept = 0;
  // Whether somebody can send on the topic now. May make a system call.
  virtual bool has_sender() const noexcept = 0;
};

class Waiter {
 public:
  virtual ~Waiter() = default;
  // Blocks until one of its receivers may have something: receive() says. kDeadlineExceeded where
  // none has until `deadline_ns` on the transport's clock. hot path.
  virtual Status wait(int64_t deadline_ns) noexcept = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Load time. kBusy (the topic has a sender), kInvalidArgument, kIo, kOutOfMemory.
  virtual Result<std::unique_ptr<Sender>> open_sender(std::string_view topic,
                                                      const SenderOptions& options) = 0;
  // Load time. The topic need not exist yet.
  virtual Result<std::unique_ptr<Receiver>> open_receiver(std::string_view topic,
                                                          const ReceiverOptions& options) = 0;
  // Load time. The receivers are this transport's and outlive the waiter.
  virtual Result<std::unique_ptr<Waiter>> make_waiter(std::span<Receiver* const> receivers) = 0;
  // The clock of its time stamps and deadlines. hot path.
  virtual int64_t now_ns() const noexcept = 0;
};

}  // namespace camshaft::transport
