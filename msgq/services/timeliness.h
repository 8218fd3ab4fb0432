// SPDX-License-Identifier: MIT
// Whether a service's messages come when they should, and if not, by how much and since when.
#pragma once

#include <cstdint>

#include "msgq/services/rate.h"

namespace camshaft::services {

// A time in which a service was late: from when its message was due to when one came.
struct Lateness {
  int64_t since_ns = 0;  // when the message was due; 0: never late
  int64_t by_ns = 0;     // how much later it came, or is by now

  explicit operator bool() const { return since_ns != 0; }
};

// Parts of a service's period.
struct Tolerance {
  double late_after = 1.5;  // since the last message: late from here on
  double dead_after = 10;   // not alive from here on
  double least_rate = 0.8;  // over 10 s, of the nominal rate
  double most_rate = 1.2;
};

// One service. Times are those at which messages were sent, so that a reader that is late itself
// does not take its services to be. hot path, all but the constructor.
class Timeliness {
 public:
  // `rate_hz` 0: the service speaks when it has something to say, and is never late.
  Timeliness(double rate_hz, const Tolerance& tolerance, int64_t now_ns);

  // A message that was sent at `sent_ns`; `count`: with those before it that were passed over.
  void add(int64_t sent_ns, uint64_t count) noexcept;
  // Brings everything below up to date.
  void look(int64_t now_ns) noexcept;

  bool seen() const { return last_ns_ != 0; }
  bool alive() const { return alive_; }
  bool rate_ok() const { return rate_ok_; }
  double rate_1s() const { return rate_1s_; }
  double rate_10s() const { return rate_10s_; }
  // Now; nothing while it is in time.
  const Lateness& late() const { return late_; }
  // The last time that is over, and how many there were.
  const Lateness& last_late() const { return last_late_; }
  uint64_t times_late() const { return times_late_; }

 private:
  Lateness lateness_at(int64_t now_ns, uint64_t periods) const noexcept;

  int64_t period_ns_;  // 0: on demand
  double rate_hz_;
  Tolerance tolerance_;
  int64_t opened_ns_;
  int64_t last_ns_ = 0;
  RateMeter rate_;
  bool alive_ = false;
  bool rate_ok_ = true;
  double rate_1s_ = 0;
  double rate_10s_ = 0;
  Lateness late_;
  Lateness last_late_;
  uint64_t times_late_ = 0;
};

}  // namespace camshaft::services
