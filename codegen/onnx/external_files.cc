// SPDX-License-Identifier: MIT
#include "codegen/onnx/external_files.h"

#include <charconv>
#include <utility>

#include "codegen/onnx/format.h"

namespace camshaft::onnx {
namespace {

// What external_data says. Without a length, the tensor's own size counts.
struct Place {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool has_length = false;
};

bool parse_count(const std::string& text, uint64_t* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

bool parse_place(const ::onnx::TensorProto& tensor, Place* place) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place->location = entry.value();
    if (entry.key() == "offset" && !parse_count(entry.value(), &place->offset)) return false;
    if (entry.key() == "length") {
      if (!parse_count(entry.value(), &place->length)) return false;
      place->has_length = true;
    }
  }
  return !place->location.empty();
}

// A relative path none of whose parts is "..": data outside the model's folder is not the model's.
bool stays_inside(const std::string& location) {
  if (location[0] == '/' || location.find('\0') != std::string::npos) return false;
  const std::string parts = "/" + location + "/";
  return parts.find("/../") == std::string::npos;
}

}  // namespace

const base::MappedFile* ExternalFiles::open(const std::string& location, Failure* failure) {
  if (const auto found = files_.find(location); found != files_.end()) return &found->second;
  if (folder_.empty() || !stays_inside(location)) {
    *failure = {base::Code::kCorrupt,
                format_text("its data is in the file '%s', which is not in the model's folder",
                            printable(location).c_str())};
    return nullptr;
  }
  const std::string path = folder_ + "/" + location;
  base::Result<base::MappedFile> file = base::MappedFile::open(path);
  if (!file) {
    *failure = {base::Code::kCorrupt,
                format_text("its data is in the file '%s', which can't be opened: keep it beside "
                            "the model",
                            printable(path).c_str())};
    return nullptr;
  }
  paths_.push_back(path);
  return &files_.emplace(location, std::move(file).value()).first->second;
}

base::Bytes ExternalFiles::find(const ::onnx::TensorProto& tensor, uint64_t size_bytes,
                                Failure* failure) {
  Place place;
  if (!parse_place(tensor, &place)) {
    *failure = {base::Code::kCorrupt, "its external_data has no location, offset and length"};
    return {};
  }
  const base::MappedFile* file = open(place.location, failure);
  if (file == nullptr) return {};
  const uint64_t length = place.has_length ? place.length : size_bytes;
  const bool fits = base::range_fits(place.offset, length, file->bytes().size());
  if (!fits || length != size_bytes) {
    *failure = {
        base::Code::kCorrupt,
        format_text("needs %llu bytes; external_data gives %llu at %llu of the %zu bytes of "
                    "'%s'",
                    static_cast<unsigned long long>(size_bytes),
                    static_cast<unsigned long long>(length),
                    static_cast<unsigned long long>(place.offset), file->bytes().size(),
                    printable(place.location).c_str())};
    return {};
  }
  return base::slice(file->bytes(), place.offset, size_bytes);
}

}  // namespace camshaft::onnx
