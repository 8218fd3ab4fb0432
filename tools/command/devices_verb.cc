// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <span>
#include <vector>

#include "devices/registry.h"
#include "runtime/base/log_ring.h"
#include "tools/command/table.h"
#include "tools/command/text.h"
#include "tools/command/verb.h"

namespace camshaft::command {
namespace {

// Why a backend that lists no device can't be opened.
std::string why_absent(const hal::Backend& backend) {
  const uint64_t before = base::log_sequence();
  const auto device = backend.open({});
  const std::vector<base::LogLine> lines = base::log_lines_after(before);
  if (!device && !lines.empty()) return lines.back().text;
  return "there is none";
}

std::string spec_of(const hal::Backend& backend, size_t index) {
  return index == 0 ? backend.name : std::string(backend.name) + ":" + std::to_string(index);
}

// The kinds of memory of others that a device uses in place.
std::vector<const char*> import_names(const hal::DeviceInfo& info) {
  std::vector<const char*> names;
  for (int i = 0; i < hal::kForeignKindCount; ++i) {
    const auto kind = static_cast<hal::ForeignKind>(i);
    if ((info.imports & hal::import_bit(kind)) != 0) names.push_back(hal::foreign_kind_name(kind));
  }
  return names;
}

// "\nopencl WHAT: a b\n", or nothing.
std::string detail(const std::string& spec, const char* what, std::span<const char* const> names) {
  if (names.empty()) return "";
  std::string line = "\n" + spec + " " + what + ":";
  for (const char* name : names) line += std::string(" ") + name;
  return line + "\n";
}

Json describe(const std::string& spec, const hal::DeviceInfo& info) {
  Json features = Json::array();
  for (const char* feature : info.features) features.push_back(feature);
  return {{"device", spec},
          {"backend", info.backend},
          {"name", info.name},
          {"arch", info.arch},
          {"features", features},
          {"threads", info.max_parts},
          {"memory_bytes", info.memory_bytes},
          {"buffer_alignment", info.buffer_alignment},
          {"import_alignment", info.import_alignment},
          {"imports", import_names(info)},
          {"raw_addresses", info.raw_addresses}};
}

int run(Console& console) {
  Json devices = Json::array();
  Json absent = Json::array();
  Table table({{"device"}, {"arch"}, {"threads", Align::kRight}, {"name"}});
  std::string details;
  for (const hal::Backend& backend : devices::backends()) {
    const std::vector<hal::DeviceInfo> found = backend.probe();
    for (size_t i = 0; i < found.size(); ++i) {
      const std::string spec = spec_of(backend, i);
      devices.push_back(describe(spec, found[i]));
      table.add_row({spec, found[i].arch, std::to_string(found[i].max_parts), found[i].name});
      details += detail(spec, "has", found[i].features);
      details += detail(spec, "imports without a copy", import_names(found[i]));
    }
    if (!found.empty()) continue;
    const std::string reason = why_absent(backend);
    absent.push_back({{"backend", backend.name}, {"reason", reason}});
    table.add_row({backend.name, "-", "-", "not here: " + reason});
  }
  console.forget_sentences();
  console.print(table.text() + details);
  return console.finish({{"devices", devices}, {"absent", absent}});
}

}  // namespace

Action declare_devices(CLI::App& options) {
  options.footer(
      "Plans name the kind of device that their targets are for; --device of run, bench, "
      "compare and\nverify takes the names in the first column.");
  return run;
}

}  // namespace camshaft::command
