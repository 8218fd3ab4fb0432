// SPDX-License-Identifier: MIT
// Topics between machines, over ZeroMQ. An Exporter sends topics of this machine to those who ask
// for them; an Importer asks for topics of another and sends them here. Either end may be the one
// that waits at a port. Both need a thread that runs Gate::run_until().
//
// A slow or lost peer never holds up a topic or another peer: what does not fit in its queue is
// lost to it, and counted at both ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "msgq/bridge/gate.h"
#include "msgq/bridge/wire.h"
#include "msgq/transport/transport.h"
#include "runtime/base/status.h"

namespace camshaft::bridge {

struct Route {
  std::string topic;
  uint64_t schema_hash = 0;                  // what its messages must mean; 0: anything
  uint64_t queue_bytes = uint64_t{1} << 20;  // an Importer's: memory of the topic here
};

struct BridgeOptions {
  Link link;
  std::vector<Route> routes;
  int high_water = 64;  // messages that an Exporter keeps for one peer
  uint64_t max_message_bytes = uint64_t{16} << 20;
};

// Since the bridge began. Any thread.
struct RouteCounters {
  std::atomic<uint64_t> messages = 0;    // sent, or received and passed on
  std::atomic<uint64_t> bytes = 0;       // of their payloads
  std::atomic<uint64_t> missed = 0;      // Exporter: lost before they could be sent
  std::atomic<uint64_t> times_full = 0;  // Exporter: that a peer's queue was found full, from which
                                         // on it loses messages until there is room again
  std::atomic<uint64_t> lost = 0;        // Importer: sent by the other bridge and never received
  std::atomic<uint64_t> rejected = 0;    // damaged, of another schema, or too large for the topic
  std::atomic<uint64_t> subscribers = 0;  // Exporter: peers that ask for it now
};

class Exporter {
 public:
  // Load time. The transport and the gate are borrowed.
  static base::Result<std::unique_ptr<Exporter>> open(transport::Transport& transport, Gate& gate,
                                                      const BridgeOptions& options);
  // Sends what comes until `deadline_ns` on the transport's clock. One thread at a time.
  void run_until(int64_t deadline_ns) noexcept;

  // In the order of the routes.
  const RouteCounters& counters(size_t route) const { return outputs_[route]->counters; }

 private:
  struct Output {
    Route route;
    std::unique_ptr<transport::Receiver> receiver;
    uint64_t sequence = 0;
    RouteCounters counters;
  };
  explicit Exporter(Socket socket) : socket_(std::move(socket)) {}
  void take_subscriptions() noexcept;
  bool pass_on(Output& output) noexcept;
  bool send(Output& output, const WireMessage& message) noexcept;

  Socket socket_;
  uint64_t id_ = 0;
  transport::Transport* transport_ = nullptr;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::unique_ptr<transport::Waiter> waiter_;
};

class Importer {
 public:
  // Load time. The transport and the gate are borrowed. kBusy where a topic has a sender here.
  static base::Result<std::unique_ptr<Importer>> open(transport::Transport& transport, Gate& gate,
                                                      const BridgeOptions& options);
  // Passes on what comes until `deadline_ns` on the monotonic clock. One thread at a time.
  void run_until(int64_t deadline_ns) noexcept;

  // In the order of the routes.
  const RouteCounters& counters(size_t route) const { return inputs_[route]->counters; }
  // Messages for topics that are not asked for, or that are none.
  uint64_t strays() const { return strays_.load(std::memory_order_relaxed); }

 private:
  struct Input {
    Route route;
    std::unique_ptr<transport::Sender> sender;
    uint64_t peer = 0;  // the run of the other bridge, and its last message
    uint64_t sequence = 0;
    RouteCounters counters;
  };
  explicit Importer(Socket socket) : socket_(std::move(socket)) {}
  bool receive() noexcept;
  void pass_on(base::Bytes bytes) noexcept;

  Socket socket_;
  std::vector<std::unique_ptr<Input>> inputs_;
  std::atomic<uint64_t> strays_ = 0;
};

}  // namespace camshaft::bridge
