// SPDX-License-Identifier: MIT
// Who may take part in a bridge: everybody has a pair of CURVE keys, and knows the public keys of
// the others. Nothing is ever sent to, or taken from, a peer without a known key.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::bridge {

// As ZeroMQ writes keys: 40 characters (Z85).
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};
// kUnsupported where the ZeroMQ library has no CURVE.
base::Result<KeyPair> make_key_pair();
// kInvalidArgument for text that is no key.
base::Status check_key(std::string_view key, const char* whose);

// A socket of a gate. One thread at a time.
class Socket {
 public:
  explicit Socket(void* handle) : handle_(handle) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  void* get() const { return handle_; }
  base::Status set(int option, int value);
  base::Status set(int option, std::string_view value);
  base::Status set(int option, int64_t value);

 private:
  void* handle_;
};

// One end of a connection between machines.
struct Link {
  std::string endpoint;    // "tcp://*:9100" to wait there, "tcp://10.0.0.2:9100" to go there
  bool waits = false;      // bind rather than connect
  std::string server_key;  // of who waits there; only for who connects
};

// The ZeroMQ context of one machine's bridge. Sockets of it are made at load time and go before it.
class Gate {
 public:
  // `allowed`: the public keys of those who may connect to this machine.
  static base::Result<std::unique_ptr<Gate>> open(const KeyPair& own,
                                                  const std::vector<std::string>& allowed);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  // Answers who asks to be let in; returns at `deadline_ns` on the monotonic clock. Nobody is let
  // in while no thread runs this. One thread at a time.
  void run_until(int64_t deadline_ns) noexcept;

  // A socket of a ZeroMQ type, encrypted, bound or connected. At most `high_water` messages wait to
  // be sent to a peer. kInvalidArgument, kIo (the port is taken).
  base::Result<Socket> make_socket(int type, const Link& link, int high_water,
                                   uint64_t max_message_bytes);

  uint64_t accepted() const { return accepted_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  using RawKey = std::array<std::byte, 32>;
  Gate(void* context, const KeyPair& own) : context_(context), own_(own), requests_(nullptr) {}
  bool answer() noexcept;

  void* context_;
  KeyPair own_;
  std::vector<RawKey> allowed_;
  Socket requests_;
  std::atomic<uint64_t> accepted_ = 0;
  std::atomic<uint64_t> refused_ = 0;
};

}  // namespace camshaft::bridge
