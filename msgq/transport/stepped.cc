// SPDX-License-Identifier: MIT
#include "msgq/transport/stepped.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/clock.h"

namespace camshaft::transport {

class Stepped::SteppedSender final : public Sender {
 public:
  SteppedSender(Stepped& transport, std::string_view topic)
      : transport_(transport), topic_(topic) {}
  ~SteppedSender() override {
    const std::lock_guard lock(transport_.mutex_);
    transport_.topics_[topic_].leave_sender();
  }

  // To the driver, and to the program's own receivers of the topic.
  Status send(base::Bytes message) noexcept override {
    const std::lock_guard lock(transport_.mutex_);
    CAMSHAFT_TRY(transport_.topics_[topic_].add(message, transport_.now_ns_));
    transport_.sent_.push_back({topic_, transport_.now_ns_, {message.begin(), message.end()}});
    return base::ok();
  }

 private:
  Stepped& transport_;
  std::string topic_;
};

class Stepped::SteppedReceiver final : public Receiver {
 public:
  SteppedReceiver(Stepped& transport, std::string_view name, StoredTopic& topic,
                  const ReceiverOptions& options)
      : transport_(transport), name_(name), cursor_(topic, options) {}

  Result<Received> receive() noexcept override {
    const std::lock_guard lock(transport_.mutex_);
    return cursor_.take();
  }
  bool has_sender() const noexcept override { return true; }  // the driver
  bool is_ready() const { return cursor_.is_ready(); }
  const std::string& name() const { return name_; }

 private:
  Stepped& transport_;
  std::string name_;
  StoredCursor cursor_;
};

class Stepped::SteppedWaiter final : public Waiter {
 public:
  SteppedWaiter(Stepped& transport, std::vector<const SteppedReceiver*> receivers)
      : transport_(transport), receivers_(std::move(receivers)) {}

  Status wait(int64_t deadline_ns) noexcept override {
    std::unique_lock lock(transport_.mutex_);
    Request& request = transport_.request_;
    ++request.number;
    request.deadline_ns = deadline_ns;
    request.topics.clear();
    for (const SteppedReceiver* receiver : receivers_) request.topics.push_back(receiver->name());
    transport_.state_ = State::kWaits;
    transport_.changed_.notify_all();
    transport_.changed_.wait(
        lock, [&] { return transport_.state_ == State::kRuns || transport_.is_stopped_; });
    if (transport_.is_stopped_) {
      return base::fail(base::Code::kNotFound, "transport.stepped", "the replay has been stopped");
    }
    const bool is_ready =
        std::any_of(receivers_.begin(), receivers_.end(),
                    [](const SteppedReceiver* receiver) { return receiver->is_ready(); });
    return is_ready ? base::ok() : Status(base::Code::kDeadlineExceeded, "transport.wait");
  }

 private:
  Stepped& transport_;
  std::vector<const SteppedReceiver*> receivers_;
};

// --- The driver's side
// -------------------------------------------------------------------------------

Result<Stepped::Request> Stepped::next_request(int64_t watchdog_ns) {
  std::unique_lock lock(mutex_);
  while (state_ == State::kRuns) {
    const int64_t left_ns = watchdog_ns - base::mono_time_ns();
    if (left_ns <= 0) {
      return base::fail(base::Code::kDeadlineExceeded, "transport.stepped",
                        "the program under replay has not waited again since its wait %llu",
                        static_cast<unsigned long long>(request_.number));
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(std::min<int64_t>(left_ns, 1'000'000'000)));
  }
  Request request = request_;
  request.is_finished = state_ == State::kFinished;
  return request;
}

void Stepped::set_now(int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  now_ns_ = now_ns;
}

Status Stepped::deliver(std::string_view topic, base::Bytes message, uint64_t schema_hash) {
  const std::lock_guard lock(mutex_);
  StoredTopic& stored = topics_[std::string(topic)];
  if (!stored.has_sender()) {
    CAMSHAFT_TRY(stored.claim_sender(
        topic, {.schema_hash = schema_hash,
                .queue_bytes = std::max<uint64_t>(uint64_t{64} << 20, 2 * message.size())}));
    stored.leave_sender();
  }
  return stored.add(message, now_ns_);
}

void Stepped::resume() {
  const std::lock_guard lock(mutex_);
  CAMSHAFT_CHECK(state_ != State::kRuns);
  if (state_ == State::kWaits) state_ = State::kRuns;
  changed_.notify_all();
}

std::vector<Stepped::Sent> Stepped::take_sent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sent_, {});
}

void Stepped::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

// --- The program's side
// ------------------------------------------------------------------------------

void Stepped::finish() {
  const std::lock_guard lock(mutex_);
  state_ = State::kFinished;
  changed_.notify_all();
}

Result<std::unique_ptr<Sender>> Stepped::open_sender(std::string_view topic,
                                                     const SenderOptions& options) {
  const std::lock_guard lock(mutex_);
  CAMSHAFT_TRY(topics_[std::string(topic)].claim_sender(topic, options));
  return std::unique_ptr<Sender>(new SteppedSender(*this, topic));
}

Result<std::unique_ptr<Receiver>> Stepped::open_receiver(std::string_view topic,
                                                         const ReceiverOptions& options) {
  const std::lock_guard lock(mutex_);
  return std::unique_ptr<Receiver>(
      new SteppedReceiver(*this, topic, topics_[std::string(topic)], options));
}

Result<std::unique_ptr<Waiter>> Stepped::make_waiter(std::span<Receiver* const> receivers) {
  std::vector<const SteppedReceiver*> own;
  for (Receiver* const receiver : receivers) {
    own.push_back(static_cast<SteppedReceiver*>(receiver));
  }
  return std::unique_ptr<Waiter>(new SteppedWaiter(*this, std::move(own)));
}

int64_t Stepped::now_ns() const noexcept {
  const std::lock_guard lock(mutex_);
  return now_ns_;
}

}  // namespace camshaft::transport
