// SPDX-License-Identifier: MIT
#include "devices/hal/registry.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "runtime/base/nearest.h"

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

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The number of the one device whose name has `part` in it.
Result<uint32_t> find_named(const Backend& backend, std::string_view part) {
  const std::vector<DeviceInfo> present = backend.probe();
  std::string names;
  uint32_t found = 0;
  int matches = 0;
  for (uint32_t i = 0; i < present.size(); ++i) {
    names += (i == 0 ? "" : ", ") + std::string(present[i].name);
    if (!has_part(present[i].name, part)) continue;
    found = i;
    ++matches;
  }
  if (matches == 1) return found;
  return base::fail(base::Code::kWrongTarget, "registry.name",
                    "%s of this machine's %s devices has '%.*s' in its name; they are: %s",
                    matches == 0 ? "none" : "more than one", backend.name,
                    static_cast<int>(part.size()), part.data(),
                    names.empty() ? "none" : names.c_str());
}

// What follows the colon of "NAME:INDEX" or "NAME:PART".
Result<uint32_t> parse_index(const Backend& backend, std::string_view spec, std::string_view text) {
  if (!text.empty() && !is_number(text)) return find_named(backend, text);
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc()) {
    return base::fail(base::Code::kInvalidArgument, "registry.index",
                      "device '%.*s': what follows the colon must be a number, as in 'cpu:0', or "
                      "part of the device's name",
                      static_cast<int>(spec.size()), spec.data());
  }
  return index;
}

}  // namespace

bool has_part(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(a) == lower(b);
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

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

namespace {

Result<const Backend*> known_backend(Backends backends, std::string_view name) {
  if (const Backend* backend = find_backend(backends, name)) return backend;
  return base::fail(base::Code::kInvalidArgument, "registry.name",
                    "there is no backend '%.*s'%s in this build; it has: %s",
                    static_cast<int>(name.size()), name.data(),
                    base::did_you_mean(name, backends, &Backend::name).c_str(),
                    known_names(backends).c_str());
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(Backends backends, std::string_view spec,
                                            const OpenOptions& options) {
  const size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  OpenOptions chosen = options;
  CAMSHAFT_TRY_ASSIGN(const Backend* backend, known_backend(backends, name));
  if (colon != std::string_view::npos) {
    CAMSHAFT_TRY_ASSIGN(chosen.index, parse_index(*backend, spec, spec.substr(colon + 1)));
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

Result<std::unique_ptr<Device>> open_device_on(Backends backends, std::string_view name,
                                               const CallerQueue& caller,
                                               const OpenOptions& options) {
  CAMSHAFT_TRY_ASSIGN(const Backend* backend, known_backend(backends, name));
  if (backend->open_on != nullptr) return backend->open_on(caller, options);
  return base::fail(base::Code::kUnsupported, "registry.queue",
                    "the %s backend works in queues of its own only: open its device by name",
                    backend->name);
}

}  // namespace camshaft::hal
