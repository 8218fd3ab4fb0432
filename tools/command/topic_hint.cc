// SPDX-License-Identifier: MIT
#include "tools/command/topic_hint.h"

#include "msgq/queue/topic.h"
#include "msgq/schema/services.h"
#include "runtime/base/nearest.h"

namespace camshaft::command {

std::string topic_hint(const std::string& topic, const std::string& prefix) {
  if (schema::find_service(topic) != nullptr) return "";
  base::NearestName nearest(topic);
  const auto present = queue::list_topics({.prefix = prefix});
  if (present) {
    for (const std::string& name : *present) {
      if (name != topic) nearest.offer(name);
    }
  }
  for (const schema::Service& service : schema::services()) nearest.offer(service.name);
  return nearest.hint();
}

}  // namespace camshaft::command
