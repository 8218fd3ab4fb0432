// SPDX-License-Identifier: MIT
#include "tools/command/message_text.h"

#include <algorithm>

#include "msgq/schema/codec.h"
#include "msgq/schema/json.h"
#include "msgq/schema/services.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using io::Json;

constexpr size_t kShownBytes = 32;
constexpr size_t kShownElements = 8;

std::string hexadecimal(base::Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kShownBytes))) {
    text += format_text("%02x", static_cast<unsigned>(byte));
  }
  return text + (bytes.size() > kShownBytes ? "..." : "");
}

std::string scalar_text(const Json& value) {
  return value.is_string() ? printable(value.get<std::string>()) : value.dump();
}

// "name: value" a line, indented below what it belongs to.
void append_lines(const std::string& name, const Json& value, int depth, std::string& text) {
  const std::string indent(static_cast<size_t>(2 * depth), ' ');
  if (value.is_object()) {
    text += indent + name + ":\n";
    for (const auto& [key, member] : value.items()) append_lines(key, member, depth + 1, text);
    return;
  }
  const bool has_objects = value.is_array() && !value.empty() && value[0].is_object();
  if (has_objects) {
    for (size_t i = 0; i < value.size(); ++i) {
      append_lines(name + "[" + std::to_string(i) + "]", value[i], depth, text);
    }
    return;
  }
  if (!value.is_array()) {
    text += indent + name + ": " + scalar_text(value) + "\n";
    return;
  }
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(value.size(), kShownElements); ++i) {
    shown.push_back(scalar_text(value[i]));
  }
  if (value.size() > kShownElements) shown.push_back("... " + std::to_string(value.size()));
  text += indent + name + ": [" + join(shown, ", ") + "]\n";
}

}  // namespace

Json message_json(const MessageOrigin& origin, base::Bytes bytes) {
  Json json = {{"topic", printable(origin.topic)}, {"sequence", origin.sequence},
               {"sentNs", origin.sent_ns},         {"ageS", origin.age_s},
               {"dropped", origin.dropped},        {"bytes", bytes.size()}};
  schema::Message message;
  if (schema::find_service(origin.topic) != nullptr && schema::decode(bytes, message).is_ok()) {
    json["message"] = Json::parse(schema::to_json(message), nullptr, false);
  } else {
    json["begins"] = hexadecimal(bytes);
  }
  return json;
}

std::string message_text(const Json& message) {
  std::string text = format_text(
      "%s #%llu, %llu bytes, %s old", message["topic"].get<std::string>().c_str(),
      message["sequence"].get<unsigned long long>(), message["bytes"].get<unsigned long long>(),
      duration_text(std::max(0.0, message["ageS"].get<double>())).c_str());
  const auto dropped = message["dropped"].get<uint64_t>();
  if (dropped > 0)
    text += format_text(", after %llu lost", static_cast<unsigned long long>(dropped));
  text += "\n";
  if (!message.contains("message")) {
    append_lines("bytes", message["begins"], 1, text);
    return text;
  }
  const Json& inner = message["message"];
  if (!inner["valid"].get<bool>()) {
    const std::string reason = scalar_text(inner["reason"]);
    text += "  not valid: " + (reason.empty() ? std::string("no reason given") : reason) + "\n";
  }
  const std::string body = inner["body"].get<std::string>();
  for (const auto& [key, value] : inner[body].items()) append_lines(key, value, 1, text);
  return text;
}

}  // namespace camshaft::command
