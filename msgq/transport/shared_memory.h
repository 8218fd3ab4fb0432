// SPDX-License-Identifier: MIT
// The transport between processes of one machine: topics of msgq/queue.
#pragma once

#include "msgq/queue/topic.h"
#include "msgq/transport/transport.h"

namespace camshaft::transport {

class SharedMemory final : public Transport {
 public:
  explicit SharedMemory(queue::DomainOptions domain = {}) : domain_(std::move(domain)) {}

  Result<std::unique_ptr<Sender>> open_sender(std::string_view topic,
                                              const SenderOptions& options) override;
  Result<std::unique_ptr<Receiver>> open_receiver(std::string_view topic,
                                                  const ReceiverOptions& options) override;
  Result<std::unique_ptr<Waiter>> make_waiter(std::span<Receiver* const> receivers) override;
  int64_t now_ns() const noexcept override;

 private:
  queue::DomainOptions domain_;
};

}  // namespace camshaft::transport
