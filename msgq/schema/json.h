// SPDX-License-Identifier: MIT
// Messages as JSON, for people and for programs that have no Cap'n Proto.
#pragma once

#include <string>

#include "msgq/schema/messages.h"

namespace camshaft::schema {

// One line: {"service", "monoTimeNs", "valid", "reason", "body": name of the body's schema, and
// under that name its fields}, by the names of messages.capnp. Numbers that are not finite become
// null, bytes that are no UTF-8 U+FFFD, enumerants their names. Allocates.
std::string to_json(const Message& message);

// Text in quotes, as JSON has it.
std::string json_text(std::string_view text);

}  // namespace camshaft::schema
