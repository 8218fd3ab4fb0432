// SPDX-License-Identifier: MIT
// Waits for any of several topics.
#pragma once

#include <cstdint>
#include <memory>

#include "msgq/queue/subscriber.h"
#include "runtime/base/status.h"

namespace camshaft::queue {

inline constexpr uint32_t kMaxPolled = 120;  // subscribers of a poller

struct PollerOptions {
  int64_t spin_ns = 0;                    // wait() looks for this long before it sleeps
  int64_t look_again_ns = 1'000'000'000;  // as in SubscriberOptions
  bool use_bell = false;  // wait the way that kernels before 5.16 need (found out without this)
};

// One thread at a time, the one that uses its subscribers.
class Poller {
 public:
  // Load time only.
  static base::Result<Poller> make(const PollerOptions& options);

  Poller(Poller&&) noexcept;
  Poller& operator=(Poller&&) noexcept;
  ~Poller();

  // The subscriber is borrowed: it must stay where it is until the poller goes or drops it. Load
  // time only. kInvalidArgument (too many, or of different domains).
  base::Status add(Subscriber& subscriber);
  void remove(Subscriber& subscriber);

  // Blocks until some subscriber is_ready(); kDeadlineExceeded where none is until `deadline_ns` on
  // the monotonic clock. Which ones is for is_ready() to say. Hot path.
  base::Status wait(int64_t deadline_ns) noexcept;

 private:
  struct State;
  explicit Poller(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace camshaft::queue
