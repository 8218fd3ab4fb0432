// SPDX-License-Identifier: MIT
#include "msgq/transport/in_process.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"

namespace camshaft::transport {

class InProcess::LocalSender final : public Sender {
 public:
  LocalSender(InProcess& transport, StoredTopic& topic) : transport_(transport), topic_(topic) {}
  ~LocalSender() override {
    const std::lock_guard lock(transport_.mutex_);
    topic_.leave_sender();
  }

  Status send(base::Bytes message) noexcept override {
    const std::lock_guard lock(transport_.mutex_);
    CAMSHAFT_TRY(topic_.add(message, base::mono_time_ns()));
    transport_.sent_.notify_all();
    return base::ok();
  }

 private:
  InProcess& transport_;
  StoredTopic& topic_;
};

class InProcess::LocalReceiver final : public Receiver {
 public:
  LocalReceiver(InProcess& transport, StoredTopic& topic, const ReceiverOptions& options)
      : transport_(transport), topic_(topic), cursor_(topic, options) {}

  Result<Received> receive() noexcept override {
    const std::lock_guard lock(transport_.mutex_);
    return cursor_.take();
  }
  bool has_sender() const noexcept override {
    const std::lock_guard lock(transport_.mutex_);
    return topic_.has_sender();
  }
  bool is_ready() const { return cursor_.is_ready(); }

 private:
  InProcess& transport_;
  const StoredTopic& topic_;
  StoredCursor cursor_;
};

class InProcess::LocalWaiter final : public Waiter {
 public:
  LocalWaiter(InProcess& transport, std::vector<const LocalReceiver*> receivers)
      : transport_(transport), receivers_(std::move(receivers)) {}

  Status wait(int64_t deadline_ns) noexcept override {
    std::unique_lock lock(transport_.mutex_);
    while (!is_ready()) {
      const int64_t left_ns = deadline_ns - base::mono_time_ns();
      if (left_ns <= 0) {
        return Status(base::Code::kDeadlineExceeded, "transport.wait");
      }
      // A second at most: far deadlines would overflow the clock's arithmetic.
      transport_.sent_.wait_for(lock, std::chrono::nanoseconds(std::min(left_ns, kSliceNs)));
    }
    return base::ok();
  }

 private:
  static constexpr int64_t kSliceNs = 1'000'000'000;

  bool is_ready() const {
    return std::any_of(receivers_.begin(), receivers_.end(),
                       [](const LocalReceiver* receiver) { return receiver->is_ready(); });
  }

  InProcess& transport_;
  std::vector<const LocalReceiver*> receivers_;
};

Result<std::unique_ptr<Sender>> InProcess::open_sender(std::string_view topic,
                                                       const SenderOptions& options) {
  const std::lock_guard lock(mutex_);
  StoredTopic& stored = topics_[std::string(topic)];
  CAMSHAFT_TRY(stored.claim_sender(topic, options));
  return std::unique_ptr<Sender>(new LocalSender(*this, stored));
}

Result<std::unique_ptr<Receiver>> InProcess::open_receiver(std::string_view topic,
                                                           const ReceiverOptions& options) {
  const std::lock_guard lock(mutex_);
  return std::unique_ptr<Receiver>(new LocalReceiver(*this, topics_[std::string(topic)], options));
}

Result<std::unique_ptr<Waiter>> InProcess::make_waiter(std::span<Receiver* const> receivers) {
  std::vector<const LocalReceiver*> own;
  for (Receiver* const receiver : receivers) own.push_back(static_cast<LocalReceiver*>(receiver));
  return std::unique_ptr<Waiter>(new LocalWaiter(*this, std::move(own)));
}

int64_t InProcess::now_ns() const noexcept {
  return base::mono_time_ns();
}

}  // namespace camshaft::transport
