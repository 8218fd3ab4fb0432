// SPDX-License-Identifier: MIT
// A topic's messages for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/bytes.h"
#include "tools/io/json.h"

namespace camshaft::command {

// Where a message is from.
struct MessageOrigin {
  std::string_view topic;
  uint64_t sequence = 0;
  int64_t sent_ns = 0;  // base::mono_time_ns()
  double age_s = 0;     // when it was received
  uint64_t dropped = 0;
};

// The message's fields by the names of messages.capnp; for a topic that is no service, or bytes
// that are no message, their size and the first of them in hexadecimal. With "topic", "sequence",
// "sentNs", "ageS", "dropped", "bytes".
io::Json message_json(const MessageOrigin& origin, base::Bytes bytes);

// The same as lines, a field each; long lists are cut.
std::string message_text(const io::Json& message);

}  // namespace camshaft::command
