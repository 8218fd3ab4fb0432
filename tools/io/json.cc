// SPDX-License-Identifier: MIT
#include "tools/io/json.h"

#include <vector>

#include "runtime/base/file.h"

namespace camshaft::io {
namespace {

constexpr uint64_t kMaxBytes = 64 << 20;

}  // namespace

std::string to_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

base::Result<Json> parse_json(const std::string& text, const std::string& file) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return base::fail(base::Code::kCorrupt, "json.parse", "%s is no JSON document", file.c_str());
  }
  return document;
}

base::Result<Json> read_json(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path, kMaxBytes));
  return parse_json(std::string(base::as_text(bytes)), path);
}

}  // namespace camshaft::io
