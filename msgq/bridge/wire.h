// SPDX-License-Identifier: MIT
// A topic's message on its way between machines, in one ZeroMQ message: the topic's name, a zero, a
// header, the payload. ZeroMQ's subscriptions are by prefix, which the zero ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "runtime/base/bytes.h"

namespace camshaft::bridge {

inline constexpr uint32_t kWireMagic = 0x4742'5343;  // "CSBG"
inline constexpr uint32_t kWireVersion = 1;

struct WireHeader {
  uint32_t magic = kWireMagic;
  uint32_t version = kWireVersion;
  uint64_t sender = 0;    // random, of one run of the other bridge
  uint64_t sequence = 0;  // of the topic, counted by that bridge: gaps were lost on the way
  uint64_t schema_hash = 0;
  int64_t mono_time_ns = 0;  // when it was sent, on the other machine's clock
};
static_assert(sizeof(WireHeader) == 40 && std::is_trivially_copyable_v<WireHeader>);

struct WireMessage {
  std::string_view topic;
  WireHeader header;
  base::Bytes payload;
};

constexpr size_t wire_size(std::string_view topic, size_t payload_bytes) {
  return topic.size() + 1 + sizeof(WireHeader) + payload_bytes;
}
// `to` has wire_size() bytes.
void write_wire(const WireMessage& message, std::byte* to) noexcept;
// Views of `bytes`, or nothing where they are no message of this version.
std::optional<WireMessage> read_wire(base::Bytes bytes) noexcept;

}  // namespace camshaft::bridge
