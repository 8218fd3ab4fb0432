// SPDX-License-Identifier: MIT
#include "tools/io/npz.h"

#include <string_view>

#include "runtime/base/file.h"
#include "tools/io/npy.h"
#include "tools/io/zip.h"

namespace camshaft::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

base::Result<std::vector<NamedTensor>> parse_npz(base::Bytes bytes, const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<ZipEntry> entries, list_zip(bytes, file));
  std::vector<NamedTensor> tensors;
  for (const ZipEntry& entry : entries) {
    CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> content, extract_zip(bytes, entry, file));
    NamedTensor named{entry.name, {}};
    if (named.name.ends_with(kSuffix)) named.name.resize(named.name.size() - kSuffix.size());
    CAMSHAFT_TRY_ASSIGN(named.tensor, parse_npy(content, entry.name + " in " + file));
    tensors.push_back(std::move(named));
  }
  return tensors;
}

base::Result<std::vector<std::byte>> encode_npz(const std::vector<NamedTensor>& tensors) {
  std::vector<ZipContent> contents;
  for (const NamedTensor& named : tensors) {
    contents.push_back({named.name + std::string(kSuffix), encode_npy(named.tensor)});
  }
  return make_zip(contents);
}

base::Result<std::vector<NamedTensor>> read_npz(const std::string& path) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, base::read_file(path));
  return parse_npz(bytes, path);
}

base::Status write_npz(const std::string& path, const std::vector<NamedTensor>& tensors) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> bytes, encode_npz(tensors));
  return base::write_file_atomically(path, bytes);
}

}  // namespace camshaft::io
