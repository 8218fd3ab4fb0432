// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

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
      if (found[i].features.empty()) continue;
      details += "\n" + spec + " has:";
      for (const char* feature : found[i].features) details += std::string(" ") + feature;
      details += "\n";
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
