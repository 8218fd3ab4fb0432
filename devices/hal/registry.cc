// SPDX-License-Identifier: MIT
#include "devices/hal/registry.h"

#include <charconv>
#include <string>

namespace camshaft::hal {
namespace {

std::string known_names(Backends backends) {
  std::string names;
  for (const Backend& backend : backends) {
    if (!names.empty()) names += ", ";
    names += backend.name;
  }
  return names;
}

// The number after the colon of "NAME:INDEX".
Result<uint32_t> parse_index(std::string_view spec, std::string_view digits) {
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return base::fail(base::Code::kInvalidArgument, "registry.index",
                      "device '%.*s': what follows the colon must be a number, as in 'cpu:0'",
                      static_cast<int>(spec.size()), spec.data());
  }
  return index;
}

}  // namespace

const Backend* find_backend(Backends backends, std::string_view name) {
  for (const Backend& backend : backends) {
    if (name == backend.name) return &backend;
  }
  return nullptr;
}

std::vector<DeviceInfo> list_devices(Backends backends) {
  std::vector<DeviceInfo> devices;
  for (const Backend& backend : backends) {
    const std::vector<DeviceInfo> found = backend.probe();
    devices.insert(devices.end(), found.begin(), found.end());
  }
  return devices;
}

Result<std::unique_ptr<Device>> open_device(Backends backends, std::string_view spec,
                                            const OpenOptions& options) {
  const size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  OpenOptions chosen = options;
  if (colon != std::string_view::npos) {
    CAMSHAFT_TRY_ASSIGN(chosen.index, parse_index(spec, spec.substr(colon + 1)));
  }
  const Backend* backend = find_backend(backends, name);
  if (backend == nullptr) {
    return base::fail(base::Code::kInvalidArgument, "registry.name",
                      "there is no backend '%.*s' in this build; it has: %s",
                      static_cast<int>(name.size()), name.data(), known_names(backends).c_str());
  }
  const size_t present = backend->probe().size();
  if (present > 0 && chosen.index >= present) {
    return base::fail(base::Code::kWrongTarget, "registry.index",
                      "this machine has %zu %s device(s), so there is no device %u (the first is "
                      "0): see `camshaft devices`",
                      present, backend->name, chosen.index);
  }
  return backend->open(chosen);  // where there is none, it knows what is missing
}

}  // namespace camshaft::hal
