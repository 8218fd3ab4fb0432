// SPDX-License-Identifier: MIT
#include "msgq/services/known_service.h"

#include <string>

#include "runtime/base/nearest.h"

namespace camshaft::services {

base::Result<const schema::Service*> known_service(std::string_view name) {
  if (const schema::Service* service = schema::find_service(name)) return service;
  std::string names;
  for (const schema::Service& service : schema::services()) {
    names += (names.empty() ? "" : ", ") + std::string(service.name);
  }
  return base::fail(
      base::Code::kInvalidArgument, "services.name", "there is no service '%.*s'%s; there are %s",
      static_cast<int>(name.size()), name.data(),
      base::did_you_mean(name, schema::services(), &schema::Service::name).c_str(), names.c_str());
}

}  // namespace camshaft::services
