// SPDX-License-Identifier: MIT
#include <zmq.h>

#include <algorithm>
#include <utility>

#include "msgq/bridge/bridge.h"
#include "runtime/base/clock.h"

namespace camshaft::bridge {
namespace {

constexpr int64_t kSliceMs = 100;

void count(std::atomic<uint64_t>& counter, uint64_t more = 1) {
  counter.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace

base::Result<std::unique_ptr<Importer>> Importer::open(transport::Transport& transport, Gate& gate,
                                                       const BridgeOptions& options) {
  CAMSHAFT_TRY_ASSIGN(Socket socket, gate.make_socket(ZMQ_SUB, options.link, options.high_water,
                                                      options.max_message_bytes));
  std::unique_ptr<Importer> importer(new Importer(std::move(socket)));
  for (const Route& route : options.routes) {
    auto input = std::make_unique<Input>();
    input->route = route;
    CAMSHAFT_TRY_ASSIGN(input->sender,
                        transport.open_sender(route.topic, {.schema_hash = route.schema_hash,
                                                            .queue_bytes = route.queue_bytes}));
    const std::string_view wish(route.topic.c_str(), route.topic.size() + 1);  // with the zero
    CAMSHAFT_TRY(importer->socket_.set(ZMQ_SUBSCRIBE, wish));
    importer->inputs_.push_back(std::move(input));
  }
  return importer;
}

void Importer::run_until(int64_t deadline_ns) noexcept {
  while (true) {
    while (receive()) {
      if (base::mono_time_ns() >= deadline_ns) return;
    }
    const int64_t left_ms = (deadline_ns - base::mono_time_ns()) / 1'000'000;
    if (left_ms <= 0) return;
    zmq_pollitem_t item = {socket_.get(), 0, ZMQ_POLLIN, 0};
    (void)::zmq_poll(&item, 1, static_cast<long>(std::min(left_ms, kSliceMs)));
  }
}

// False where nothing is there.
bool Importer::receive() noexcept {
  zmq_msg_t part;
  ::zmq_msg_init(&part);
  const bool is_there = ::zmq_msg_recv(&part, socket_.get(), ZMQ_DONTWAIT) >= 0;
  if (is_there && ::zmq_msg_more(&part) == 0) {
    pass_on({static_cast<const std::byte*>(::zmq_msg_data(&part)), ::zmq_msg_size(&part)});
  } else if (is_there) {
    count(strays_);
  }
  ::zmq_msg_close(&part);
  return is_there;
}

void Importer::pass_on(base::Bytes bytes) noexcept {
  const std::optional<WireMessage> message = read_wire(bytes);
  const auto found = !message
                         ? inputs_.end()
                         : std::find_if(inputs_.begin(), inputs_.end(), [&](const auto& input) {
                             return input->route.topic == message->topic;
                           });
  if (found == inputs_.end()) {
    count(strays_);
    return;
  }
  Input& input = **found;
  const WireHeader& header = message->header;
  if (header.sender == input.peer && header.sequence > input.sequence) {
    const uint64_t gap = header.sequence - input.sequence - 1;
    if (gap > 0) count(input.counters.lost, gap);
  }
  input.peer = header.sender;
  input.sequence = header.sequence;
  const uint64_t expected = input.route.schema_hash;
  const bool is_wanted = expected == 0 || header.schema_hash == expected;
  if (!is_wanted || !input.sender->send(message->payload).is_ok()) {
    count(input.counters.rejected);
    return;
  }
  count(input.counters.messages);
  count(input.counters.bytes, message->payload.size());
}

}  // namespace camshaft::bridge
