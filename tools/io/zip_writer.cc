// SPDX-License-Identifier: MIT
#include <zlib.h>

#include <array>

#include "tools/io/zip.h"
#include "tools/io/zip_format.h"

namespace camshaft::io {
namespace {

using base::store_le;

constexpr uint16_t kVersionNeeded = 20;
constexpr uint16_t kFirstDate = 0x21;  // 1 January 1980

void append(std::vector<std::byte>& to, base::Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// The fields that local and central headers share, in the same order: from "version needed" to the
// length of the name.
void store_common(std::byte* to, const ZipContent& content) {
  const auto size = static_cast<uint32_t>(content.bytes.size());
  store_le<uint16_t>(to, kVersionNeeded);
  store_le<uint16_t>(to + 4, zip::kStored);
  store_le<uint16_t>(to + 8, kFirstDate);
  store_le<uint32_t>(to + 10, static_cast<uint32_t>(crc32_z(
                                  0, reinterpret_cast<const Bytef*>(content.bytes.data()), size)));
  store_le<uint32_t>(to + 14, size);
  store_le<uint32_t>(to + 18, size);
  store_le<uint16_t>(to + 22, static_cast<uint16_t>(content.name.size()));
}

void append_central(std::vector<std::byte>& directory, const ZipContent& content, size_t offset) {
  std::array<std::byte, zip::kCentralBytes> head{};
  store_le<uint32_t>(head.data(), zip::kCentralMark);
  store_le<uint16_t>(head.data() + 4, kVersionNeeded);
  store_common(head.data() + 6, content);
  store_le<uint32_t>(head.data() + 42, static_cast<uint32_t>(offset));
  append(directory, head);
  append(directory, base::as_bytes(content.name));
}

void append_local(std::vector<std::byte>& archive, const ZipContent& content) {
  std::array<std::byte, zip::kLocalBytes> head{};
  store_le<uint32_t>(head.data(), zip::kLocalMark);
  store_common(head.data() + 4, content);
  append(archive, head);
  append(archive, base::as_bytes(content.name));
  append(archive, content.bytes);
}

void append_end(std::vector<std::byte>& archive, size_t count, size_t directory_bytes) {
  std::array<std::byte, zip::kEndBytes> end{};
  store_le<uint32_t>(end.data(), zip::kEndMark);
  store_le<uint16_t>(end.data() + 8, static_cast<uint16_t>(count));
  store_le<uint16_t>(end.data() + 10, static_cast<uint16_t>(count));
  store_le<uint32_t>(end.data() + 12, static_cast<uint32_t>(directory_bytes));
  store_le<uint32_t>(end.data() + 16, static_cast<uint32_t>(archive.size() - directory_bytes));
  append(archive, end);
}

}  // namespace

base::Result<std::vector<std::byte>> make_zip(const std::vector<ZipContent>& contents) {
  uint64_t total = zip::kEndBytes;
  bool fits = contents.size() < 0xffff;
  for (const ZipContent& content : contents) {
    total += zip::kLocalBytes + zip::kCentralBytes + 2 * content.name.size() + content.bytes.size();
    fits = fits && content.name.size() <= 0xffff;
  }
  if (!fits || total >= zip::kInZip64) {
    return base::fail(base::Code::kInvalidArgument, "zip.too_large",
                      "a zip archive of %llu bytes can't be written; the limit is 4 GiB",
                      static_cast<unsigned long long>(total));
  }
  std::vector<std::byte> archive;
  std::vector<std::byte> directory;
  archive.reserve(total);
  for (const ZipContent& content : contents) {
    append_central(directory, content, archive.size());
    append_local(archive, content);
  }
  append(archive, directory);
  append_end(archive, contents.size(), directory.size());
  return archive;
}

}  // namespace camshaft::io
