// SPDX-License-Identifier: MIT
// Ours: with and without copies, and through a poller.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "msgq/queue/poller.h"
#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "tests/perf/queue/channel.h"

namespace camshaft::perf {
namespace {

constexpr int64_t kForEverNs = int64_t{3600} * 1'000'000'000;

class QueueChannel : public Channel {
 public:
  QueueChannel(const Setup& setup, bool copies, bool polls)
      : setup_(setup), copies_(copies), polls_(polls), buffer_(setup.size_bytes) {
    domain_.prefix = "bench-" + std::to_string(::getpid());
  }
  ~QueueChannel() override {
    std::error_code ignored;
    if (::getpid() == owner_) {
      std::filesystem::remove_all("/dev/shm/camshaft_" + domain_.prefix, ignored);
    }
  }

  void begin_sending() override {
    auto opened = queue::Publisher::open(
        "bench",
        {.domain = domain_, .size = {.ring_bytes = 8 * setup_.size_bytes, .messages = 64}});
    require(opened.has_value(), "open");
    publisher_.emplace(std::move(*opened));
  }

  std::byte* space() override {
    if (copies_) return buffer_.data();
    auto room = publisher_->reserve(setup_.size_bytes);
    require(room.has_value(), "reserve");
    return room->data();
  }
  void send() override {
    const base::Status sent =
        copies_ ? publisher_->publish(buffer_) : publisher_->commit(setup_.size_bytes);
    require(sent.is_ok(), "publish");
  }

  void begin_receiving(uint32_t) override {
    auto opened = queue::Subscriber::open(
        "bench", {.domain = domain_, .spin_ns = setup_.spin && !polls_ ? kForEverNs : 0});
    require(opened.has_value(), "subscribe");
    subscriber_.emplace(std::move(*opened));
    auto poller = queue::Poller::make({.spin_ns = setup_.spin ? kForEverNs : 0});
    require(poller.has_value() && poller->add(*subscriber_).is_ok(), "poller");
    poller_.emplace(std::move(*poller));
  }
  bool receive(int64_t deadline_ns, Stamp* stamp) override {
    for (;;) {
      const base::Status woken =
          polls_ ? poller_->wait(deadline_ns) : subscriber_->wait(deadline_ns);
      if (!woken.is_ok()) return false;
      if (copies_) {
        auto info = subscriber_->receive(buffer_);
        if (!info || info->sequence == 0) continue;
        std::memcpy(stamp, buffer_.data(), sizeof *stamp);
        return true;
      }
      auto message = subscriber_->borrow();
      if (!message || !*message) continue;
      std::memcpy(stamp, message->bytes().data(), sizeof *stamp);
      return true;
    }
  }

 private:
  Setup setup_;
  bool copies_;
  bool polls_;
  pid_t owner_ = ::getpid();
  queue::DomainOptions domain_;
  std::vector<std::byte> buffer_;
  std::optional<queue::Publisher> publisher_;
  std::optional<queue::Subscriber> subscriber_;
  std::optional<queue::Poller> poller_;
};

}  // namespace

std::unique_ptr<Channel> make_queue_borrow(const Setup& setup) {
  return std::make_unique<QueueChannel>(setup, false, false);
}
std::unique_ptr<Channel> make_queue_copy(const Setup& setup) {
  return std::make_unique<QueueChannel>(setup, true, false);
}
std::unique_ptr<Channel> make_queue_poller(const Setup& setup) {
  return std::make_unique<QueueChannel>(setup, false, true);
}

}  // namespace camshaft::perf
