// SPDX-License-Identifier: MIT
#include "tests/runtime/plan/patch_plan.h"

#include <algorithm>

namespace camshaft::plan::test {

using base::Bytes;

void fix_checksums(std::vector<std::byte>& file) {
  if (file.size() < kHeaderBytes) return;
  Header header = decode_header(file.data());
  header.file_bytes = file.size();
  const uint64_t count =
      std::min<uint64_t>(header.section_count, (file.size() - kHeaderBytes) / kTableEntryBytes);
  for (uint64_t i = 0; i < count; ++i) {
    std::byte* at = file.data() + kHeaderBytes + i * kTableEntryBytes;
    TableEntry entry = decode_entry(at);
    if (!base::range_fits(entry.offset, entry.size, file.size())) continue;
    entry.hash = checksum(base::slice(file, entry.offset, entry.size));
    encode_entry(entry, at);
  }
  header.table_hash = checksum(base::slice(file, kHeaderBytes, count * kTableEntryBytes));
  encode_header(header, file.data());
}

std::vector<std::byte> with_header(std::vector<std::byte> file,
                                   const std::function<void(Header&)>& change) {
  Header header = decode_header(file.data());
  change(header);
  encode_header(header, file.data());
  return file;
}

std::vector<std::byte> with_entry(std::vector<std::byte> file, uint32_t index,
                                  const std::function<void(TableEntry&)>& change) {
  std::byte* at = file.data() + kHeaderBytes + index * kTableEntryBytes;
  TableEntry entry = decode_entry(at);
  change(entry);
  encode_entry(entry, at);
  Header header = decode_header(file.data());
  header.table_hash =
      checksum(base::slice(file, kHeaderBytes, header.section_count * kTableEntryBytes));
  encode_header(header, file.data());
  return file;
}

std::vector<std::byte> with_metadata(const std::vector<std::byte>& file, Bytes metadata) {
  const Header header = decode_header(file.data());
  std::vector<TableEntry> table;
  std::vector<std::byte> result(kHeaderBytes + header.section_count * kTableEntryBytes);
  for (uint32_t i = 0; i < header.section_count; ++i) {
    TableEntry entry = decode_entry(file.data() + kHeaderBytes + i * kTableEntryBytes);
    const Bytes old = base::slice(file, entry.offset, entry.size);
    const Bytes bytes = i == 0 ? metadata : old;
    result.resize(base::align_up(result.size(), entry.alignment));
    entry.offset = result.size();
    entry.size = bytes.size();
    result.insert(result.end(), bytes.begin(), bytes.end());
    table.push_back(entry);
  }
  result.resize(base::align_up(result.size(), kMinSectionAlignment));
  for (uint32_t i = 0; i < header.section_count; ++i) {
    encode_entry(table[i], result.data() + kHeaderBytes + i * kTableEntryBytes);
  }
  encode_header(header, result.data());
  fix_checksums(result);
  return result;
}

}  // namespace camshaft::plan::test
