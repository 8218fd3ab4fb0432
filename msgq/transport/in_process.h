// SPDX-License-Identifier: MIT
// The transport within one process: for tests, and for programs that put several parts into one
// process. It copies twice and takes a lock that all its topics share, so parts that must not wait
// for one another use shared memory also within a process.
#pragma once

#include <condition_variable>
#include <mutex>

#include "msgq/transport/topic_store.h"
#include "msgq/transport/transport.h"

namespace camshaft::transport {

class InProcess final : public Transport {
 public:
  Result<std::unique_ptr<Sender>> open_sender(std::string_view topic,
                                              const SenderOptions& options) override;
  Result<std::unique_ptr<Receiver>> open_receiver(std::string_view topic,
                                                  const ReceiverOptions& options) override;
  Result<std::unique_ptr<Waiter>> make_waiter(std::span<Receiver* const> receivers) override;
  int64_t now_ns() const noexcept override;

 private:
  class LocalSender;
  class LocalReceiver;
  class LocalWaiter;

  std::mutex mutex_;
  std::condition_variable sent_;
  StoredTopics topics_;
};

}  // namespace camshaft::transport
