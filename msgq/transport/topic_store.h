// SPDX-License-Identifier: MIT
// Topics in this process's own memory, for the transports that need no other. Not locked: their
// owner is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "msgq/transport/transport.h"

namespace camshaft::transport {

struct StoredMessage {
  uint64_t sequence = 0;
  int64_t mono_time_ns = 0;
  std::vector<std::byte> bytes;
};

// The newest messages of a topic, up to queue_bytes.
class StoredTopic {
 public:
  Status claim_sender(std::string_view name, const SenderOptions& options);
  void leave_sender() { has_sender_ = false; }
  bool has_sender() const { return has_sender_; }
  uint64_t schema_hash() const { return schema_hash_; }
  uint64_t newest() const { return newest_; }

  Status add(base::Bytes message, int64_t mono_time_ns);
  // The first message of at least this number, or null.
  const StoredMessage* find(uint64_t sequence) const;

 private:
  std::deque<StoredMessage> messages_;
  uint64_t bytes_ = 0;
  uint64_t queue_bytes_ = SenderOptions().queue_bytes;
  uint64_t schema_hash_ = 0;
  uint64_t newest_ = 0;
  bool has_sender_ = false;
};

// What a receiver has read of a topic.
class StoredCursor {
 public:
  StoredCursor(const StoredTopic& topic, const ReceiverOptions& options)
      : topic_(topic), options_(options), next_(topic.newest() + 1) {}

  bool is_ready() const { return topic_.newest() >= next_; }
  Result<Received> take();

 private:
  const StoredTopic& topic_;
  ReceiverOptions options_;
  uint64_t next_;
  std::vector<uint64_t> words_;
};

// Topics by name; they stay where they are.
using StoredTopics = std::map<std::string, StoredTopic, std::less<>>;

}  // namespace camshaft::transport
