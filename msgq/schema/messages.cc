// SPDX-License-Identifier: MIT
#include "msgq/schema/messages.h"

#include <iterator>

namespace camshaft::schema {
namespace {

constexpr const char* kBodyNames[] = {"none",     "cameraState",  "modelOutput", "driverState",
                                      "controls", "vehicleState", "logHeader",   "health"};
static_assert(std::size(kBodyNames) == std::variant_size_v<Body>);

constexpr const char* kGears[] = {"unknown", "park", "reverse", "neutral", "drive"};
constexpr const char* kHealthStates[] = {"ok", "degraded", "fault"};

}  // namespace

const char* body_name(size_t index) {
  return index < std::size(kBodyNames) ? kBodyNames[index] : "unknown";
}

size_t body_index(std::string_view name) {
  for (size_t i = 1; i < std::size(kBodyNames); ++i) {
    if (name == kBodyNames[i]) return i;
  }
  return 0;
}

// A newer writer may send values that this program has no name for.
const char* enumerant_name(Gear gear) {
  const auto index = static_cast<size_t>(gear);
  return index < std::size(kGears) ? kGears[index] : "unknown";
}

const char* enumerant_name(HealthState state) {
  const auto index = static_cast<size_t>(state);
  return index < std::size(kHealthStates) ? kHealthStates[index] : "unknown";
}

}  // namespace camshaft::schema
