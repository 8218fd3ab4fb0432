// SPDX-License-Identifier: MIT
#include "msgq/transport/topic_store.h"

#include <algorithm>
#include <cstring>

namespace camshaft::transport {

Status StoredTopic::claim_sender(std::string_view name, const SenderOptions& options) {
  if (has_sender_) {
    return base::fail(base::Code::kBusy, "transport.sender",
                      "the topic '%.*s' has a sender already", static_cast<int>(name.size()),
                      name.data());
  }
  has_sender_ = true;
  queue_bytes_ = options.queue_bytes;
  schema_hash_ = options.schema_hash;
  return base::ok();
}

Status StoredTopic::add(base::Bytes message, int64_t mono_time_ns) {
  if (message.size() > queue_bytes_ / 2) {
    return base::fail(base::Code::kInvalidArgument, "transport.send",
                      "a message of %zu bytes is too large for a topic of %llu: half of it is most",
                      message.size(), static_cast<unsigned long long>(queue_bytes_));
  }
  bytes_ += message.size();
  messages_.push_back({++newest_, mono_time_ns, {message.begin(), message.end()}});
  while (bytes_ > queue_bytes_) {
    bytes_ -= messages_.front().bytes.size();
    messages_.pop_front();
  }
  return base::ok();
}

const StoredMessage* StoredTopic::find(uint64_t sequence) const {
  if (messages_.empty() || sequence > newest_) return nullptr;
  const uint64_t first = messages_.front().sequence;
  return &messages_[sequence < first ? 0 : sequence - first];
}

Result<Received> StoredCursor::take() {
  if (!is_ready()) return Received();
  if (options_.schema_hash != 0 && topic_.schema_hash() != options_.schema_hash) {
    next_ = topic_.newest() + 1;
    return base::fail(base::Code::kUnsupported, "transport.schema",
                      "a topic has schema %016llx and its receiver expects %016llx",
                      static_cast<unsigned long long>(topic_.schema_hash()),
                      static_cast<unsigned long long>(options_.schema_hash));
  }
  const StoredMessage& found = *topic_.find(options_.conflate ? topic_.newest() : next_);
  words_.resize(std::max(words_.size(), (found.bytes.size() + 7) / 8));
  if (!found.bytes.empty()) std::memcpy(words_.data(), found.bytes.data(), found.bytes.size());
  Received received = {.bytes = std::as_bytes(std::span(words_)).first(found.bytes.size()),
                       .sequence = found.sequence,
                       .mono_time_ns = found.mono_time_ns,
                       .dropped = options_.conflate ? 0 : found.sequence - next_};
  next_ = found.sequence + 1;
  return received;
}

}  // namespace camshaft::transport
