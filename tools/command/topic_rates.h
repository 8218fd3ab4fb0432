// SPDX-License-Identifier: MIT
// What `camshaft top` says of a topic: two looks at it, and what happened between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "msgq/queue/topic.h"
#include "tools/io/json.h"

namespace camshaft::command {

struct TopicLook {
  queue::TopicInfo info;
  int64_t time_ns = 0;  // on the monotonic clock
};

struct ReaderRates {
  std::string name;
  uint64_t pid = 0;
  uint64_t behind = 0;   // messages that wait for it
  double behind_s = 0;   // how long ago the newest of those that it has read was sent, about
  uint64_t dropped = 0;  // between the looks
  uint64_t dropped_total = 0;
  uint64_t conflated_total = 0;
};

struct TopicRates {
  std::string name;
  std::string schema;     // of the service with this name; "" where there is none
  double nominal_hz = 0;  // the same; 0: none
  bool has_publisher = false;
  uint64_t publisher_pid = 0;
  double rate_hz = 0;
  double bytes_per_s = 0;
  double age_s = -1;      // of the newest message; less than 0: there is none
  uint64_t messages = 0;  // since the topic was made
  uint64_t refused = 0;
  uint64_t revoked = 0;
  std::vector<ReaderRates> readers;

  // Rate within a fifth of nominal, where there is one and somebody publishes.
  bool is_slow() const { return has_publisher && nominal_hz > 0 && rate_hz < 0.8 * nominal_hz; }
};

// `before` and `now` are of one topic. A topic that was made anew between them has no rates yet.
TopicRates rates_between(const TopicLook& before, const TopicLook& now);

std::string rates_text(const std::vector<TopicRates>& topics);
io::Json rates_json(const std::vector<TopicRates>& topics);

}  // namespace camshaft::command
