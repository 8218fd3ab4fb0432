// SPDX-License-Identifier: MIT
#include "msgq/transport/shared_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "msgq/queue/poller.h"
#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "runtime/base/clock.h"

namespace camshaft::transport {
namespace {

constexpr size_t kFirstWords = 512;

class QueueSender final : public Sender {
 public:
  explicit QueueSender(queue::Publisher publisher) : publisher_(std::move(publisher)) {}

  Status send(base::Bytes message) noexcept override { return publisher_.publish(message); }

 private:
  queue::Publisher publisher_;
};

class QueueReceiver final : public Receiver {
 public:
  explicit QueueReceiver(queue::Subscriber subscriber) : subscriber_(std::move(subscriber)) {}

  Result<Received> receive() noexcept override {
    while (true) {
      const std::span<std::byte> space = std::as_writable_bytes(std::span(words_));
      base::Result<queue::MessageInfo> info = subscriber_.receive(space);
      if (info) {
        return Received{.bytes = space.first(info->size_bytes),
                        .sequence = info->sequence,
                        .mono_time_ns = info->mono_time_ns,
                        .dropped = info->dropped};
      }
      // The message stays the next one. Growing happens a few times in a topic's life.
      const uint64_t most = subscriber_.max_message_bytes();
      const bool is_too_small = info.error().code() == base::Code::kInvalidArgument;
      if (!is_too_small || space.size() >= most) return info.error();
      words_.resize(std::min<uint64_t>(words_.size() * 2, (most + 7) / 8));
    }
  }
  bool has_sender() const noexcept override { return subscriber_.has_publisher(); }

  queue::Subscriber& subscriber() { return subscriber_; }

 private:
  queue::Subscriber subscriber_;
  std::vector<uint64_t> words_ = std::vector<uint64_t>(kFirstWords);
};

class QueueWaiter final : public Waiter {
 public:
  explicit QueueWaiter(queue::Poller poller) : poller_(std::move(poller)) {}

  Status wait(int64_t deadline_ns) noexcept override { return poller_.wait(deadline_ns); }

 private:
  queue::Poller poller_;
};

}  // namespace

Result<std::unique_ptr<Sender>> SharedMemory::open_sender(std::string_view topic,
                                                          const SenderOptions& options) {
  queue::PublisherOptions publisher;
  publisher.domain = domain_;
  publisher.size.ring_bytes = options.queue_bytes;
  publisher.schema_hash = options.schema_hash;
  CAMSHAFT_TRY_ASSIGN(queue::Publisher opened, queue::Publisher::open(topic, publisher));
  return std::unique_ptr<Sender>(new QueueSender(std::move(opened)));
}

Result<std::unique_ptr<Receiver>> SharedMemory::open_receiver(std::string_view topic,
                                                              const ReceiverOptions& options) {
  queue::SubscriberOptions subscriber;
  subscriber.domain = domain_;
  subscriber.name = options.name;
  subscriber.schema_hash = options.schema_hash;
  subscriber.conflate = options.conflate;
  CAMSHAFT_TRY_ASSIGN(queue::Subscriber opened, queue::Subscriber::open(topic, subscriber));
  return std::unique_ptr<Receiver>(new QueueReceiver(std::move(opened)));
}

Result<std::unique_ptr<Waiter>> SharedMemory::make_waiter(std::span<Receiver* const> receivers) {
  CAMSHAFT_TRY_ASSIGN(queue::Poller poller, queue::Poller::make({}));
  for (Receiver* const receiver : receivers) {
    CAMSHAFT_TRY(poller.add(static_cast<QueueReceiver*>(receiver)->subscriber()));
  }
  return std::unique_ptr<Waiter>(new QueueWaiter(std::move(poller)));
}

int64_t SharedMemory::now_ns() const noexcept {
  return base::mono_time_ns();
}

}  // namespace camshaft::transport
