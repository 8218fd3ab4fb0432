// SPDX-License-Identifier: MIT
// The outer form of plan files: header, section table, alignment. FORMAT.md draws it and gives the
// rules; here are its numbers, and the fields as structs. metadata.h has what is inside section 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/bytes.h"
#include "runtime/plan/checksum.h"
#include "runtime/plan/plan.h"

namespace camshaft::plan {

// Like PNG's: the first byte is no text, and line-end conversion of any kind damages it.
inline constexpr std::array<uint8_t, 8> kMagic = {0x89, 'C', 'S', 'P', '\r', '\n', 0x1a, '\n'};

inline constexpr uint64_t kHeaderBytes = 64;
inline constexpr uint64_t kTableEntryBytes = 48;
inline constexpr uint64_t kTrailerBytes = 128;  // of a signed file: signature.h
inline constexpr uint64_t kMinSectionAlignment = 64;
inline constexpr uint64_t kMaxSectionAlignment = 64 * 1024;
inline constexpr uint32_t kMaxSections = 4096;

inline constexpr uint32_t kHeaderSigned = 1;  // Header::flags

struct Header {
  uint32_t format_version = kFormatVersion;
  uint32_t flags = 0;
  uint64_t file_bytes = 0;
  uint32_t section_count = 0;
  uint32_t reserved = 0;
  Hash128 table_hash;
  Hash128 header_hash;  // of all before it; set by encode_header()
};

struct TableEntry {
  SectionKind kind = SectionKind::kMetadata;
  uint32_t flags = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t alignment = 0;
  uint32_t reserved = 0;
  Hash128 hash;
};

// `to` has room for kHeaderBytes or kTableEntryBytes; `from` holds as many.
void encode_header(const Header& header, std::byte* to);
Header decode_header(const std::byte* from);
// What a whole header's last field holds.
Hash128 header_hash_of(const std::byte* header);
void encode_entry(const TableEntry& entry, std::byte* to);
TableEntry decode_entry(const std::byte* from);

// What this version knows about a kind of section.
struct SectionKindInfo {
  SectionKind kind;
  const char* name;    // "weights"
  bool is_required;    // a reader that doesn't know the kind must refuse the file
  uint32_t alignment;  // pages where sections are imported or loaded in place
};
// Null for kinds of later versions. Static storage.
const SectionKindInfo* find_section_kind(SectionKind kind);
// The name, or "kind 77".
std::string section_kind_name(SectionKind kind);

}  // namespace camshaft::plan
