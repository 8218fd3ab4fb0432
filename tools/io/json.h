// SPDX-License-Identifier: MIT
// JSON documents, as the command prints and reads them. Keys keep the order in which they were
// added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/status.h"

namespace camshaft::io {

using Json = nlohmann::ordered_json;

// The document on several lines, ending in a newline. Bytes that are no UTF-8 become U+FFFD,
// numbers that JSON lacks (NaN, infinities) null.
std::string to_text(const Json& document);

// Fails with kCorrupt where `text` is no JSON; `file` names it.
base::Result<Json> parse_json(const std::string& text, const std::string& file);

// Fails also as base::read_file does; the limit is 64 MiB.
base::Result<Json> read_json(const std::string& path);

}  // namespace camshaft::io
