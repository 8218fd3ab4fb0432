// SPDX-License-Identifier: MIT
#include "msgq/schema/services.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "msgq/schema/codec.h"
#include "msgq/schema/messages.h"

namespace camshaft::schema {

TEST_CASE("every service has a schema, and memory for its messages") {
  std::set<std::string> names;
  for (const Service& service : services()) {
    INFO(service.name);
    CHECK(body_index(service.schema) != 0);
    CHECK(schema_id(body_index(service.schema)) != 0);
    CHECK(service.rate_hz >= 0);
    CHECK(service.queue_bytes >= 4096);
    CHECK(find_service(service.name) == &service);
    CHECK(names.insert(service.name).second);
  }
  CHECK(names.count("modelOutput") == 1);
  CHECK(find_service("noSuchService") == nullptr);
}

}  // namespace camshaft::schema
