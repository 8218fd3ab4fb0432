// SPDX-License-Identifier: MIT
#include <zstd.h>

#include <string_view>

#include "runtime/base/nearest.h"
#include "tools/command/plan_report.h"
#include "tools/command/text.h"

namespace camshaft::command {
namespace {

using base::Code;
using base::Result;

constexpr uint64_t kMaxSourceBytes = 64 << 20;

// The symbol of what the user names.
Result<std::string> find_symbol(const plan::TargetInfo& target, const std::string& kernel) {
  std::vector<std::string> symbols;
  for (const plan::KernelInfo& info : target.kernels) {
    if (info.symbol == kernel) return kernel;
    symbols.push_back(info.symbol);
  }
  for (size_t i = 0; i < target.commands.size(); ++i) {
    const plan::CommandInfo& command = target.commands[i];
    if (command.kind != plan::CommandKind::kLaunch) continue;
    if (command.name == kernel || std::to_string(i) == kernel) {
      return target.kernels[command.kernel].symbol;
    }
  }
  return base::fail(Code::kNotFound, "inspect.kernel",
                    "target %s has no kernel '%.80s'%s; it has: %s", target.target.c_str(),
                    kernel.c_str(), base::did_you_mean(kernel, symbols).c_str(),
                    join(symbols, ", ").c_str());
}

// Whether a line begins a function of the kernel: NAME( or NAME_body( at the outermost level.
bool begins_function(std::string_view line, const std::string& symbol) {
  if (line.empty() || line[0] == ' ' || line[0] == '}' || line.ends_with(';')) return false;
  for (const char* suffix : {"(", "_body("}) {
    const std::string call = symbol + suffix;
    const size_t at = line.find(call);
    if (at != std::string_view::npos && at > 0 && (line[at - 1] == ' ' || line[at - 1] == '@')) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::string> unpack_source(const plan::PlanFile& file, const plan::TargetInfo& target) {
  const base::Bytes packed = file.source(target);
  if (packed.empty()) {
    return base::fail(Code::kNotFound, "inspect.no_source",
                      "the plan holds no source text for target %s", target.target.c_str());
  }
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  // Errors and "unknown" are the two largest numbers.
  std::string text(size > kMaxSourceBytes ? 0 : size, '\0');
  const size_t got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (size > kMaxSourceBytes || ZSTD_isError(got) != 0 || got != text.size()) {
    return base::fail(Code::kCorrupt, "inspect.source",
                      "the source text of target %s can't be unpacked", target.target.c_str());
  }
  return text;
}

Result<std::string> find_source(const std::string& source, const plan::TargetInfo& target,
                                const std::string& kernel) {
  CAMSHAFT_TRY_ASSIGN(const std::string symbol, find_symbol(target, kernel));
  std::string found;
  bool inside = false;
  for (const std::string& line : split(source, '\n')) {
    if (!inside && begins_function(line, symbol)) {
      inside = true;
      if (!found.empty()) found += "\n";
    }
    if (inside) found += line + "\n";
    if (line.starts_with("}")) inside = false;
  }
  if (found.empty()) {
    return base::fail(Code::kNotFound, "inspect.source", "the source text has no function %s",
                      symbol.c_str());
  }
  return found;
}

}  // namespace camshaft::command
