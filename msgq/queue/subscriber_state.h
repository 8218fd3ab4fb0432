// SPDX-License-Identifier: MIT
// What a subscriber is made of, for subscribers and pollers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "msgq/queue/domain.h"
#include "msgq/queue/futex.h"
#include "msgq/queue/ring_reader.h"
#include "msgq/queue/subscriber.h"
#include "msgq/queue/topic_file.h"

namespace camshaft::queue {

struct Subscriber::State {
  std::string topic;
  std::string path;
  SubscriberOptions options;
  Bells bells;
  std::unique_ptr<TopicFile> file;  // null: not connected
  uint32_t slot = 0;
  std::optional<RingReader> reader;  // set exactly when `file` is
  ReaderCounters counters;           // of the files before
  uint64_t last_sequence = 0;        // of those too
  uint32_t topics_seen = 0;          // the domain's bell when the topic was looked for
  bool was_connected = false;
  uint64_t last_generation = 0;
  uint64_t last_unused = 0;  // Constants::unused_numbers of the same file
  bool has_failed = false;   // to connect, which has been or will be reported
  base::Status pending;      // what is to be reported
  int64_t next_check_ns = 0;

  // Looks for the topic. Ok where it isn't there.
  base::Status connect() noexcept;
  void disconnect() noexcept;
  // Goes on where the files before ended.
  void resume() noexcept;
  // Connected, or the reason why not; follows a topic that has moved.
  base::Status follow() noexcept;

  base::Result<Message> take(RingReader::Check when) noexcept;
  bool is_ready() const noexcept;
  bool has_moved() const noexcept;
  bool is_done() const noexcept;  // with the file, if nothing more comes
  // Says that this reader is about to sleep, and where and at which value. Nothing where there is
  // something to do. `bell`: the poller's, or 0 to sleep at the topic's own word.
  std::optional<FutexWait> prepare_sleep(uint32_t bell) noexcept;
  // What nobody wakes for: see SubscriberOptions::look_again_ns.
  void check_now(int64_t now_ns) noexcept;
};

}  // namespace camshaft::queue
