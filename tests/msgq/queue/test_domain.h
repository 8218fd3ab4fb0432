// SPDX-License-Identifier: MIT
// A domain of topics that no other test sees, gone with the object.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "msgq/queue/publisher.h"
#include "msgq/queue/subscriber.h"
#include "runtime/base/clock.h"

namespace camshaft::queue::test {

class TestDomain {
 public:
  TestDomain() {
    static std::atomic<int> count{0};
    prefix_ = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }
  TestDomain(const TestDomain&) = delete;
  TestDomain& operator=(const TestDomain&) = delete;
  ~TestDomain() {
    std::error_code ignored;
    std::filesystem::remove_all(folder(), ignored);
  }

  DomainOptions options() const { return {.prefix = prefix_}; }
  std::string folder() const { return "/dev/shm/camshaft_" + prefix_; }
  std::string path(const std::string& topic) const { return folder() + "/" + topic; }

 private:
  std::string prefix_;
};

inline int64_t in_ms(int64_t ms) {
  return base::mono_time_ns() + ms * 1'000'000;
}

}  // namespace camshaft::queue::test
