// SPDX-License-Identifier: MIT
// The table of services: services.toml, compiled in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace camshaft::schema {

struct Service {
  const char* name;
  const char* schema;       // body_name() of its messages
  double rate_hz;           // 0: on demand
  uint32_t log_decimation;  // 0: not logged
  uint64_t queue_bytes;     // memory of its topic
};

// In the order of services.toml. Static storage.
std::span<const Service> services();

// Null where there is no such service.
const Service* find_service(std::string_view name);

}  // namespace camshaft::schema
