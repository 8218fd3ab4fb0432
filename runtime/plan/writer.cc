// SPDX-License-Identifier: MIT
#include "runtime/plan/writer.h"

#include <cstring>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/plan/format.h"
#include "runtime/plan/metadata.h"
#include "runtime/plan/verify.h"

namespace camshaft::plan {
namespace {

using base::Bytes;

struct Part {
  SectionKind kind;
  uint32_t flags;
  Bytes bytes;
};

uint32_t flags_of(SectionKind kind) {
  const SectionKindInfo* known = find_section_kind(kind);
  return known != nullptr && known->is_required ? kSectionRequired : 0;
}

uint32_t alignment_of(SectionKind kind) {
  const SectionKindInfo* known = find_section_kind(kind);
  return known != nullptr ? known->alignment : static_cast<uint32_t>(kMinSectionAlignment);
}

// Where each part goes: one after another, each at the next multiple of its alignment.
std::vector<TableEntry> lay_out(const std::vector<Part>& parts) {
  std::vector<TableEntry> table;
  uint64_t end = kHeaderBytes + parts.size() * kTableEntryBytes;
  for (const Part& part : parts) {
    TableEntry entry;
    entry.kind = part.kind;
    entry.flags = part.flags;
    entry.alignment = alignment_of(part.kind);
    entry.offset = base::align_up(end, entry.alignment);
    entry.size = part.bytes.size();
    entry.hash = checksum(part.bytes);
    end = entry.offset + entry.size;
    table.push_back(entry);
  }
  return table;
}

std::vector<std::byte> assemble(const std::vector<Part>& parts) {
  const std::vector<TableEntry> table = lay_out(parts);
  const uint64_t end = table.back().offset + table.back().size;
  std::vector<std::byte> file(base::align_up(end, kMinSectionAlignment));
  for (size_t i = 0; i < parts.size(); ++i) {
    encode_entry(table[i], file.data() + kHeaderBytes + i * kTableEntryBytes);
    const Bytes bytes = parts[i].bytes;
    if (!bytes.empty()) std::memcpy(file.data() + table[i].offset, bytes.data(), bytes.size());
  }
  Header header;
  header.file_bytes = file.size();
  header.section_count = static_cast<uint32_t>(table.size());
  header.table_hash = checksum(base::slice(file, kHeaderBytes, table.size() * kTableEntryBytes));
  encode_header(header, file.data());
  return file;
}

}  // namespace

uint32_t PlanContents::add_section(SectionKind kind, std::vector<std::byte> bytes) {
  sections.push_back({kind, flags_of(kind), std::move(bytes)});
  return static_cast<uint32_t>(sections.size());
}

base::Result<std::vector<std::byte>> write_plan(const PlanContents& contents) {
  CAMSHAFT_TRY_ASSIGN(const std::vector<std::byte> metadata, encode_metadata(contents.info));
  std::vector<Part> parts = {{SectionKind::kMetadata, flags_of(SectionKind::kMetadata), metadata}};
  for (const SectionContents& section : contents.sections) {
    parts.push_back({section.kind, section.flags, section.bytes});
  }
  if (parts.size() > kMaxSections) {
    return base::fail(base::Code::kInternal, "plan.write", "a plan can't have %zu sections",
                      parts.size());
  }
  std::vector<SectionShape> shapes;
  for (const Part& part : parts) shapes.push_back({part.kind, part.bytes.size()});
  if (const std::optional<Problem> problem = find_problem(contents.info, shapes)) {
    return base::fail(base::Code::kInternal, problem->site,
                      "the compiler made an inconsistent plan: %s", problem->text.c_str());
  }
  return assemble(parts);
}

}  // namespace camshaft::plan
