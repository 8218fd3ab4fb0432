// SPDX-License-Identifier: MIT
#include "tools/io/zip.h"

#include <zlib.h>

#include <cstring>
#include <optional>
#include <set>

#include "tools/io/zip_format.h"

namespace camshaft::io {
namespace {

using base::Bytes;
using base::Code;
using base::load_le;
using base::Status;

Status damaged(const std::string& file, const char* site, const char* what) {
  return base::fail(Code::kCorrupt, site, "%s is damaged: %s", file.c_str(), what);
}

// The central directory and how many entries it says to have.
struct Directory {
  Bytes bytes;
  uint16_t count = 0;
};

base::Result<Directory> find_directory(Bytes archive, const std::string& file) {
  if (archive.size() >= zip::kEndBytes) {
    const size_t last = archive.size() - zip::kEndBytes;
    const size_t first = last > zip::kMaxCommentBytes ? last - zip::kMaxCommentBytes : 0;
    for (size_t at = last + 1; at-- > first;) {
      const std::byte* end = archive.data() + at;
      if (load_le<uint32_t>(end) != zip::kEndMark) continue;
      if (load_le<uint16_t>(end + 20) != last - at) continue;  // the comment reaches the file's end
      const auto count = load_le<uint16_t>(end + 10);
      const auto size = load_le<uint32_t>(end + 12);
      const auto offset = load_le<uint32_t>(end + 16);
      if (count == 0xffff || size == zip::kInZip64 || offset == zip::kInZip64) {
        return base::fail(Code::kUnsupported, "zip.zip64",
                          "%s is a zip64 archive (4 GiB or more), which is not read", file.c_str());
      }
      if (!base::range_fits(offset, size, at)) {
        return damaged(file, "zip.directory", "its directory lies outside of the file");
      }
      return Directory{archive.subspan(offset, size), count};
    }
  }
  return damaged(file, "zip.end", "it is no zip archive, or its end is missing");
}

// Takes one entry from the front of `rest`; nothing where it is cut.
std::optional<ZipEntry> take_entry(Bytes& rest, uint16_t& flags) {
  if (rest.size() < zip::kCentralBytes || load_le<uint32_t>(rest.data()) != zip::kCentralMark) {
    return std::nullopt;
  }
  const std::byte* head = rest.data();
  const size_t name_bytes = load_le<uint16_t>(head + 28);
  const size_t tail_bytes = size_t{load_le<uint16_t>(head + 30)} + load_le<uint16_t>(head + 32);
  if (rest.size() - zip::kCentralBytes < name_bytes + tail_bytes) return std::nullopt;
  flags = load_le<uint16_t>(head + 8);
  ZipEntry entry;
  entry.method = load_le<uint16_t>(head + 10);
  entry.crc32 = load_le<uint32_t>(head + 16);
  entry.packed_bytes = load_le<uint32_t>(head + 20);
  entry.content_bytes = load_le<uint32_t>(head + 24);
  entry.offset = load_le<uint32_t>(head + 42);
  entry.name = base::as_text(rest.subspan(zip::kCentralBytes, name_bytes));
  rest = rest.subspan(zip::kCentralBytes + name_bytes + tail_bytes);
  return entry;
}

Status check_entry(const ZipEntry& entry, uint16_t flags, const std::string& file) {
  const char* lack = nullptr;
  if ((flags & zip::kFlagEncrypted) != 0) lack = "is encrypted";
  if (entry.method != zip::kStored && entry.method != zip::kDeflated) {
    lack = "is packed by another method than deflate";
  }
  if (entry.packed_bytes == zip::kInZip64 || entry.content_bytes == zip::kInZip64 ||
      entry.offset == zip::kInZip64) {
    lack = "has 4 GiB or more";
  }
  if (lack != nullptr) {
    return base::fail(Code::kUnsupported, "zip.entry", "'%.100s' in %s %s, which is not read",
                      entry.name.c_str(), file.c_str(), lack);
  }
  const bool possible = entry.method == zip::kStored
                            ? entry.content_bytes == entry.packed_bytes
                            : entry.content_bytes <= entry.packed_bytes * zip::kMaxDeflateRatio +
                                                         zip::kMaxDeflateRatio;
  return possible ? base::ok() : damaged(file, "zip.sizes", "an entry's sizes are impossible");
}

// The packed bytes of an entry, behind its local header.
base::Result<Bytes> packed_bytes(Bytes archive, const ZipEntry& entry, const std::string& file) {
  if (base::range_fits(entry.offset, zip::kLocalBytes, archive.size())) {
    const std::byte* head = archive.data() + entry.offset;
    const uint64_t begin = uint64_t{entry.offset} + zip::kLocalBytes +
                           load_le<uint16_t>(head + 26) + load_le<uint16_t>(head + 28);
    if (load_le<uint32_t>(head) == zip::kLocalMark &&
        base::range_fits(begin, entry.packed_bytes, archive.size())) {
      return archive.subspan(begin, entry.packed_bytes);
    }
  }
  return damaged(file, "zip.local", "an entry lies outside of the file");
}

// Whether `packed` inflates to exactly the size of `content`.
bool inflate_exactly(Bytes packed, std::vector<std::byte>& content) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  std::byte nothing{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(content.empty() ? &nothing : content.data());
  stream.avail_out = static_cast<uInt>(content.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool is_exact =
      result == Z_STREAM_END && stream.avail_in == 0 && stream.total_out == content.size();
  inflateEnd(&stream);
  return is_exact;
}

uint32_t crc32_of(Bytes bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

base::Result<std::vector<ZipEntry>> list_zip(Bytes archive, const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(Directory directory, find_directory(archive, file));
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  uint64_t total_bytes = 0;
  for (int i = 0; i < directory.count; ++i) {
    uint16_t flags = 0;
    std::optional<ZipEntry> entry = take_entry(directory.bytes, flags);
    if (!entry) return damaged(file, "zip.directory", "its directory is cut");
    CAMSHAFT_TRY(check_entry(*entry, flags, file));
    if (!names.insert(entry->name).second) {
      return damaged(file, "zip.names", "two entries have the same name");
    }
    total_bytes += entry->packed_bytes;
    entries.push_back(std::move(*entry));
  }
  // Entries that share bytes would let a small file ask for much memory.
  if (total_bytes > archive.size()) return damaged(file, "zip.overlap", "its entries overlap");
  return entries;
}

base::Result<std::vector<std::byte>> extract_zip(Bytes archive, const ZipEntry& entry,
                                                 const std::string& file) {
  CAMSHAFT_TRY_ASSIGN(const Bytes packed, packed_bytes(archive, entry, file));
  std::vector<std::byte> content;
  if (entry.method == zip::kStored) {
    content.assign(packed.begin(), packed.end());
  } else {
    content.resize(entry.content_bytes);
    if (!inflate_exactly(packed, content)) {
      return damaged(file, "zip.deflate", "an entry can't be unpacked");
    }
  }
  if (crc32_of(content) != entry.crc32) {
    return damaged(file, "zip.crc", "an entry's checksum is wrong");
  }
  return content;
}

}  // namespace camshaft::io
