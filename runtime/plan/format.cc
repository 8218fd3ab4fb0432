// SPDX-License-Identifier: MIT
#include "runtime/plan/format.h"

#include <cstring>

namespace camshaft::plan {
namespace {

using base::load_le;
using base::store_le;

constexpr size_t kHeaderHashOffset = 48;
static_assert(kHeaderHashOffset + 16 == kHeaderBytes);

void store_hash(std::byte* to, Hash128 hash) {
  store_le<uint64_t>(to, hash.low);
  store_le<uint64_t>(to + 8, hash.high);
}

Hash128 load_hash(const std::byte* from) {
  return {load_le<uint64_t>(from), load_le<uint64_t>(from + 8)};
}

constexpr SectionKindInfo kKinds[] = {
    {SectionKind::kMetadata, "metadata", true, 64},
    {SectionKind::kBinary, "binary", true, 4096},
    {SectionKind::kWeights, "weights", true, 4096},
    {SectionKind::kSource, "source", false, 64},
    {SectionKind::kGoldenInputs, "golden inputs", false, 64},
    {SectionKind::kGoldenOutputs, "golden outputs", false, 64},
    {SectionKind::kFrozenInputs, "frozen inputs", false, 64},
    {SectionKind::kDriverBinary, "driver binary", false, 64},
};

}  // namespace

void encode_header(const Header& header, std::byte* to) {
  std::memcpy(to, kMagic.data(), kMagic.size());
  store_le<uint32_t>(to + 8, header.format_version);
  store_le<uint32_t>(to + 12, header.flags);
  store_le<uint64_t>(to + 16, header.file_bytes);
  store_le<uint32_t>(to + 24, header.section_count);
  store_le<uint32_t>(to + 28, header.reserved);
  store_hash(to + 32, header.table_hash);
  store_hash(to + kHeaderHashOffset, header_hash_of(to));
}

Header decode_header(const std::byte* from) {
  Header header;
  header.format_version = load_le<uint32_t>(from + 8);
  header.flags = load_le<uint32_t>(from + 12);
  header.file_bytes = load_le<uint64_t>(from + 16);
  header.section_count = load_le<uint32_t>(from + 24);
  header.reserved = load_le<uint32_t>(from + 28);
  header.table_hash = load_hash(from + 32);
  header.header_hash = load_hash(from + kHeaderHashOffset);
  return header;
}

Hash128 header_hash_of(const std::byte* header) {
  return checksum({header, kHeaderHashOffset});
}

void encode_entry(const TableEntry& entry, std::byte* to) {
  store_le<uint32_t>(to, static_cast<uint32_t>(entry.kind));
  store_le<uint32_t>(to + 4, entry.flags);
  store_le<uint64_t>(to + 8, entry.offset);
  store_le<uint64_t>(to + 16, entry.size);
  store_le<uint32_t>(to + 24, entry.alignment);
  store_le<uint32_t>(to + 28, entry.reserved);
  store_hash(to + 32, entry.hash);
}

TableEntry decode_entry(const std::byte* from) {
  TableEntry entry;
  entry.kind = static_cast<SectionKind>(load_le<uint32_t>(from));
  entry.flags = load_le<uint32_t>(from + 4);
  entry.offset = load_le<uint64_t>(from + 8);
  entry.size = load_le<uint64_t>(from + 16);
  entry.alignment = load_le<uint32_t>(from + 24);
  entry.reserved = load_le<uint32_t>(from + 28);
  entry.hash = load_hash(from + 32);
  return entry;
}

const SectionKindInfo* find_section_kind(SectionKind kind) {
  for (const SectionKindInfo& known : kKinds) {
    if (known.kind == kind) return &known;
  }
  return nullptr;
}

std::string section_kind_name(SectionKind kind) {
  const SectionKindInfo* known = find_section_kind(kind);
  return known != nullptr ? known->name : "kind " + std::to_string(static_cast<uint32_t>(kind));
}

}  // namespace camshaft::plan
