// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace camshaft::command {

// For a topic that nobody publishes: " (did you mean 'NAME'?)", a service or a topic under the same
// prefix whose name is near; empty where there is none, or where the name is a service's itself.
std::string topic_hint(const std::string& topic, const std::string& prefix);

}  // namespace camshaft::command
