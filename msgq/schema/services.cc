// SPDX-License-Identifier: MIT
#include "msgq/schema/services.h"

namespace camshaft::schema {

const Service* find_service(std::string_view name) {
  for (const Service& service : services()) {
    if (name == service.name) return &service;
  }
  return nullptr;
}

}  // namespace camshaft::schema
