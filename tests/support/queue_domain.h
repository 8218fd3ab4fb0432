// SPDX-License-Identifier: MIT
// A set of topics and pools of a test's own: a new prefix, whose folder goes away with the object.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "msgq/queue/domain.h"

namespace camshaft::test {

class QueueDomain {
 public:
  QueueDomain() {
    static std::atomic<int> count = 0;
    options_.prefix = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }
  QueueDomain(const QueueDomain&) = delete;
  QueueDomain& operator=(const QueueDomain&) = delete;
  ~QueueDomain() {
    std::error_code ignored;
    if (::getpid() == owner_) std::filesystem::remove_all(folder(), ignored);
  }

  const queue::DomainOptions& options() const { return options_; }
  std::string folder() const { return *queue::domain_folder(options_); }

 private:
  queue::DomainOptions options_;
  pid_t owner_ = ::getpid();  // not a child that was forked
};

}  // namespace camshaft::test
