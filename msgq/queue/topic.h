// SPDX-License-Identifier: MIT
// Names and sizes of topics, and what anybody may see of them without taking part.
//
// A topic is a file in /dev/shm/camshaft, or /dev/shm/camshaft_PREFIX for processes that must not
// meet others: one publisher, many readers. It stays, with its last messages, when all have gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace camshaft::queue {

// Which topics a process sees.
struct DomainOptions {
  std::string prefix = {};         // "": the environment variable CAMSHAFT_PREFIX, or none
  bool allow_other_users = false;  // use folders and topics that another user made
};

// How much a topic holds. A publisher that opens an existing topic with others makes it anew;
// readers follow.
struct TopicSize {
  uint64_t ring_bytes = uint64_t{1} << 20;  // for payloads; rounded up to a power of two. A message
                                            // may be up to half of it
  uint32_t messages = 256;     // most that are there at a time; rounded up to a power of two
  uint32_t reader_slots = 16;  // most readers at a time, up to 64
  bool operator==(const TopicSize&) const = default;
};

// A reader of a topic, as it says itself.
struct ReaderInfo {
  uint32_t slot = 0;
  uint64_t pid = 0;  // in the reader's PID namespace
  std::string name;
  uint64_t next_sequence = 0;  // what it wants next
  uint64_t received = 0;
  uint64_t dropped = 0;    // overwritten before it came to read them
  uint64_t conflated = 0;  // passed over because it wants only the newest
  uint64_t corrupt = 0;
  bool holds_message = false;
};

struct TopicInfo {
  std::string name;
  TopicSize size;
  uint64_t schema_hash = 0;
  uint64_t file_bytes = 0;
  uint64_t max_message_bytes = 0;
  bool has_publisher = false;
  uint64_t publisher_pid = 0;    // in its PID namespace; of the last one where there is none
  uint64_t newest_sequence = 0;  // 0: no message yet. Differences over time are rates
  uint64_t oldest_sequence = 0;  // still there
  int64_t newest_mono_time_ns = 0;
  uint64_t newest_size_bytes = 0;
  uint64_t payload_bytes = 0;  // of all messages of the publisher
  uint64_t refused = 0;        // messages that it could not send
  uint64_t revoked = 0;        // messages that it took back from readers that held them
  std::vector<ReaderInfo> readers;
};

// Letters, digits, '_', '-' and '.', not first a '.', up to 100 characters.
base::Status check_topic_name(std::string_view topic);

// Names of all topics, sorted. Load time only, like all in this header.
base::Result<std::vector<std::string>> list_topics(const DomainOptions& domain);

// A look at a topic from outside: takes no slot, changes nothing. kNotFound, kCorrupt, kIo.
base::Result<TopicInfo> inspect_topic(std::string_view topic, const DomainOptions& domain);

// Takes a topic's file away. Readers notice; kBusy where it has a publisher.
base::Status remove_topic(std::string_view topic, const DomainOptions& domain);

}  // namespace camshaft::queue
