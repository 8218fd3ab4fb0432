// SPDX-License-Identifier: MIT
#include "msgq/bridge/wire.h"

#include <algorithm>
#include <cstring>

namespace camshaft::bridge {

void write_wire(const WireMessage& message, std::byte* to) noexcept {
  std::memcpy(to, message.topic.data(), message.topic.size());
  to += message.topic.size();
  *to++ = std::byte{0};
  std::memcpy(to, &message.header, sizeof message.header);
  to += sizeof message.header;
  if (!message.payload.empty()) std::memcpy(to, message.payload.data(), message.payload.size());
}

std::optional<WireMessage> read_wire(base::Bytes bytes) noexcept {
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  const auto name_bytes = static_cast<size_t>(end - bytes.begin());
  if (end == bytes.end() || bytes.size() - name_bytes - 1 < sizeof(WireHeader)) return std::nullopt;
  WireMessage message;
  message.topic = base::as_text(bytes.first(name_bytes));
  bytes = bytes.subspan(name_bytes + 1);
  std::memcpy(&message.header, bytes.data(), sizeof message.header);
  message.payload = bytes.subspan(sizeof message.header);
  const WireHeader& header = message.header;
  if (header.magic != kWireMagic || header.version != kWireVersion) return std::nullopt;
  return message;
}

}  // namespace camshaft::bridge
