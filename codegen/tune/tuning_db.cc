// SPDX-License-Identifier: MIT
#include "codegen/tune/tuning_db.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/file.h"

namespace camshaft::tune {
namespace {

using base::Code;
using nlohmann::json;

constexpr const char* kHead = "camshaft-tuning-1";

// The value of a field, if it has the type of `*value`.
template <typename T>
bool take(const json& object, const char* name, T* value) {
  const auto field = object.find(name);
  if (field == object.end()) return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!field->is_string()) return false;
    *value = *field->template get_ptr<const std::string*>();
  } else {
    if (!field->is_number()) return false;
    *value = field->template get<T>();
  }
  return true;
}

double rounded(double microseconds) {
  return std::round(microseconds * 100) / 100;
}

}  // namespace

base::Result<TuningDb> TuningDb::load(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path));
  const std::string_view text = base::as_text(bytes);
  TuningDb db;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (number == 1 && line == kHead) continue;
    const json entry = json::parse(line, nullptr, false);
    TuningEntry read;
    std::string target;
    std::string region;
    int threads = 0;
    const bool is_whole = number > 1 && entry.is_object() && take(entry, "target", &target) &&
                          take(entry, "threads", &threads) && take(entry, "region", &region) &&
                          take(entry, "strategy", &read.strategy) &&
                          take(entry, "knobs", &read.knobs) && take(entry, "what", &read.what) &&
                          take(entry, "us", &read.microseconds) &&
                          take(entry, "untuned_us", &read.untuned_microseconds);
    if (!is_whole) {
      return base::fail(Code::kCorrupt, "tuning_db.line",
                        "%s, line %d: that is no line of a tuning database; remove the line, or "
                        "the file to tune anew",
                        path.c_str(), number);
    }
    db.put(target, threads, region, std::move(read));
  }
  if (number > 0) return db;
  return base::fail(Code::kCorrupt, "tuning_db.empty", "%s is empty: remove it to tune anew",
                    path.c_str());
}

base::Status TuningDb::save(const std::string& path) const {
  std::string text = std::string(kHead) + "\n";
  for (const auto& [place, entry] : entries_) {
    const auto& [target, threads, region] = place;
    text += nlohmann::ordered_json{{"target", target},
                                   {"threads", threads},
                                   {"region", region},
                                   {"strategy", entry.strategy},
                                   {"knobs", entry.knobs},
                                   {"us", rounded(entry.microseconds)},
                                   {"untuned_us", rounded(entry.untuned_microseconds)},
                                   {"what", entry.what}}
                .dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) +
            "\n";
  }
  return base::write_file_atomically(path, base::as_bytes(text));
}

const TuningEntry* TuningDb::find(const std::string& target, int threads,
                                  const std::string& key) const {
  const auto found = entries_.find({target, threads, key});
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<std::string> TuningDb::devices_of(const std::string& target) const {
  const std::string head = target_on(target, "");
  std::vector<std::string> devices;
  for (const auto& [place, entry] : entries_) {  // in order
    const std::string& name = std::get<0>(place);
    if (!name.starts_with(head)) continue;
    const std::string device = name.substr(head.size());
    if (devices.empty() || devices.back() != device) devices.push_back(device);
  }
  return devices;
}

std::string target_on(const std::string& target, const std::string& device) {
  return target + " on " + device;
}

void TuningDb::put(const std::string& target, int threads, const std::string& key,
                   TuningEntry entry) {
  entries_[{target, threads, key}] = std::move(entry);
}

}  // namespace camshaft::tune
