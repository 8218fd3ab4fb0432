// SPDX-License-Identifier: MIT
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "msgq/bridge/bridge.h"

namespace camshaft::bridge {
namespace {

constexpr int64_t kSliceNs = 50'000'000;  // how late a new subscription may be seen
constexpr int kBatch = 64;                // messages of a topic before the others' turn

void count(std::atomic<uint64_t>& counter, uint64_t more = 1) {
  counter.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace

base::Result<std::unique_ptr<Exporter>> Exporter::open(transport::Transport& transport, Gate& gate,
                                                       const BridgeOptions& options) {
  CAMSHAFT_TRY_ASSIGN(Socket socket, gate.make_socket(ZMQ_XPUB, options.link, options.high_water,
                                                      options.max_message_bytes));
  std::unique_ptr<Exporter> exporter(new Exporter(std::move(socket)));
  CAMSHAFT_TRY(exporter->socket_.set(ZMQ_XPUB_VERBOSER, 1));  // every peer's wishes, for counting
  CAMSHAFT_TRY(exporter->socket_.set(ZMQ_XPUB_NODROP, 1));    // see send()
  exporter->transport_ = &transport;
  exporter->id_ = static_cast<uint64_t>(transport.now_ns()) * 0x9e37'79b9'7f4a'7c15 | 1;
  std::vector<transport::Receiver*> receivers;
  for (const Route& route : options.routes) {
    auto output = std::make_unique<Output>();
    output->route = route;
    CAMSHAFT_TRY_ASSIGN(
        output->receiver,
        transport.open_receiver(route.topic, {.name = "bridge", .schema_hash = route.schema_hash}));
    receivers.push_back(output->receiver.get());
    exporter->outputs_.push_back(std::move(output));
  }
  CAMSHAFT_TRY_ASSIGN(exporter->waiter_, transport.make_waiter(receivers));
  return exporter;
}

void Exporter::run_until(int64_t deadline_ns) noexcept {
  for (int64_t now_ns = transport_->now_ns(); now_ns < deadline_ns; now_ns = transport_->now_ns()) {
    take_subscriptions();
    (void)waiter_->wait(std::min(deadline_ns, now_ns + kSliceNs));
    for (const std::unique_ptr<Output>& output : outputs_) {
      for (int i = 0; i < kBatch && pass_on(*output); ++i) {
      }
    }
  }
}

// A peer's wish is one byte, 1 to begin and 0 to end, and the beginning of what it wants.
void Exporter::take_subscriptions() noexcept {
  char wish[256];
  for (int size = 0; (size = ::zmq_recv(socket_.get(), wish, sizeof wish, ZMQ_DONTWAIT)) > 0;) {
    if (size < 2 || size > static_cast<int>(sizeof wish) || wish[size - 1] != 0) continue;
    const std::string_view topic(wish + 1, static_cast<size_t>(size) - 2);
    for (const std::unique_ptr<Output>& output : outputs_) {
      if (topic != output->route.topic) continue;
      std::atomic<uint64_t>& subscribers = output->counters.subscribers;
      const uint64_t now = subscribers.load(std::memory_order_relaxed);
      if (wish[0] == 1) subscribers.store(now + 1, std::memory_order_relaxed);
      if (wish[0] == 0 && now > 0) subscribers.store(now - 1, std::memory_order_relaxed);
    }
  }
}

// False where the topic has nothing more.
bool Exporter::pass_on(Output& output) noexcept {
  const base::Result<transport::Received> received = output.receiver->receive();
  if (!received) {
    count(output.counters.rejected);
    return false;
  }
  if (!*received) return false;
  if (received->dropped > 0) count(output.counters.missed, received->dropped);
  const WireMessage message = {.topic = output.route.topic,
                               .header = {.sender = id_,
                                          .sequence = ++output.sequence,
                                          .schema_hash = output.route.schema_hash,
                                          .mono_time_ns = received->mono_time_ns},
                               .payload = received->bytes};
  if (!send(output, message)) {
    count(output.counters.rejected);
    return true;
  }
  count(output.counters.messages);
  count(output.counters.bytes, received->bytes.size());
  return true;
}

// First in the way that fails where some peer's queue is full, which is counted; then in the way
// that leaves out that peer and no other.
bool Exporter::send(Output& output, const WireMessage& message) noexcept {
  zmq_msg_t part;
  if (::zmq_msg_init_size(&part, wire_size(message.topic, message.payload.size())) != 0) {
    return false;
  }
  write_wire(message, static_cast<std::byte*>(::zmq_msg_data(&part)));
  if (::zmq_msg_send(&part, socket_.get(), ZMQ_DONTWAIT) >= 0) return true;
  bool is_sent = false;
  if (::zmq_errno() == EAGAIN) {
    count(output.counters.times_full);
    is_sent = socket_.set(ZMQ_XPUB_NODROP, 0).is_ok() &&
              ::zmq_msg_send(&part, socket_.get(), ZMQ_DONTWAIT) >= 0;
    (void)socket_.set(ZMQ_XPUB_NODROP, 1);
  }
  if (!is_sent) ::zmq_msg_close(&part);
  return is_sent;
}

}  // namespace camshaft::bridge
