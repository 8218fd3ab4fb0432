// SPDX-License-Identifier: MIT
#include "runtime/plan/outer_form.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/plan/damage.h"

namespace camshaft::plan {
namespace {

using base::Bytes;
using base::Code;
using base::Status;

unsigned long long to_ull(uint64_t value) {
  return value;
}

class OuterFormReader {
 public:
  OuterFormReader(Bytes bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Status read(OuterForm& form) {
    CAMSHAFT_TRY(read_header());
    CAMSHAFT_TRY(check_version());
    CAMSHAFT_TRY(find_table());
    for (uint32_t i = 0; i < header_.section_count; ++i) CAMSHAFT_TRY(read_section(i));
    CAMSHAFT_TRY(check_end());
    form = {header_, std::move(sections_), content_bytes_};
    return base::ok();
  }

 private:
  Status needs_newer(const char* site, const char* what, uint32_t number) {
    return base::fail(Code::kWrongTarget, site,
                      "%s needs a newer runtime: %s %u is unknown to this one, which reads plans "
                      "of version %u; update it, or recompile the model",
                      file_.c_str(), what, number, kFormatVersion);
  }

  // What no version changes: magic, version, file size and the header's checksum.
  Status read_header() {
    const size_t magic_bytes = std::min(bytes_.size(), kMagic.size());
    if (magic_bytes == 0 || std::memcmp(bytes_.data(), kMagic.data(), magic_bytes) != 0) {
      return base::fail(Code::kCorrupt, "plan.magic",
                        "%s is not a Camshaft plan%s; give the output of `camshaft compile`",
                        file_.c_str(), bytes_.empty() ? " (it is empty)" : "");
    }
    if (bytes_.size() < kHeaderBytes) {
      return damaged(file_, "plan.header", "it ends within its header, at byte %zu", bytes_.size());
    }
    header_ = decode_header(bytes_.data());
    if (header_.header_hash != header_hash_of(bytes_.data())) {
      return damaged(file_, "plan.header", "its header does not match its checksum");
    }
    if (header_.file_bytes != bytes_.size()) {
      return damaged(file_, "plan.file_size", "it has %zu bytes and should have %llu",
                     bytes_.size(), to_ull(header_.file_bytes));
    }
    return base::ok();
  }

  Status check_version() {
    if (header_.format_version == 0) {
      return damaged(file_, "plan.version", "its format version is 0");
    }
    if (header_.format_version > kFormatVersion) {
      return needs_newer("plan.version", "format version", header_.format_version);
    }
    const uint32_t unknown = header_.flags & ~kHeaderSigned;
    if (unknown != 0) return needs_newer("plan.flags", "header flag", unknown);
    if (header_.reserved != 0) return needs_newer("plan.flags", "header field", header_.reserved);
    return base::ok();
  }

  Status find_table() {
    const uint64_t trailer_bytes = (header_.flags & kHeaderSigned) != 0 ? kTrailerBytes : 0;
    const uint64_t table_bytes = header_.section_count * kTableEntryBytes;
    if (header_.section_count == 0 || header_.section_count > kMaxSections ||
        bytes_.size() < kHeaderBytes + table_bytes + trailer_bytes) {
      return damaged(file_, "plan.table", "there is no room for its %u sections",
                     header_.section_count);
    }
    content_bytes_ = bytes_.size() - trailer_bytes;
    const Bytes table = base::slice(bytes_, kHeaderBytes, table_bytes);
    if (checksum(table) != header_.table_hash) {
      return damaged(file_, "plan.table", "its section table does not match its checksum");
    }
    sections_.reserve(header_.section_count);
    end_ = kHeaderBytes + table_bytes;
    return base::ok();
  }

  Status read_section(uint32_t index) {
    const TableEntry entry = decode_entry(bytes_.data() + kHeaderBytes + index * kTableEntryBytes);
    CAMSHAFT_TRY(check_kind(index, entry));
    if (!std::has_single_bit(entry.alignment) || entry.alignment < kMinSectionAlignment ||
        entry.alignment > kMaxSectionAlignment) {
      return damaged(file_, "plan.alignment", "section %u is aligned to %u bytes", index,
                     entry.alignment);
    }
    if (entry.offset != base::align_up(end_, entry.alignment) ||
        !base::range_fits(entry.offset, entry.size, content_bytes_)) {
      return damaged(
          file_, "plan.section_range", "section %u (%s) can't have its %llu bytes at byte %llu",
          index, section_kind_name(entry.kind).c_str(), to_ull(entry.size), to_ull(entry.offset));
    }
    CAMSHAFT_TRY(check_padding(entry.offset));
    if (checksum(base::slice(bytes_, entry.offset, entry.size)) != entry.hash) {
      return damaged(file_, "plan.section_checksum",
                     "section %u (%s, %llu bytes at byte %llu) does not match its checksum", index,
                     section_kind_name(entry.kind).c_str(), to_ull(entry.size),
                     to_ull(entry.offset));
    }
    end_ = entry.offset + entry.size;
    sections_.push_back(entry);
    return base::ok();
  }

  Status check_kind(uint32_t index, const TableEntry& entry) {
    if ((entry.kind == SectionKind::kMetadata) != (index == 0)) {
      return damaged(file_, "plan.section_kind", "section %u can't be of kind %u", index,
                     static_cast<uint32_t>(entry.kind));
    }
    const SectionKindInfo* known = find_section_kind(entry.kind);
    if (known == nullptr && (entry.flags & kSectionRequired) != 0) {
      return needs_newer("plan.section_kind", "section kind", static_cast<uint32_t>(entry.kind));
    }
    const uint32_t unknown = entry.flags & ~kSectionRequired;
    if (unknown != 0) return needs_newer("plan.flags", "section flag", unknown);
    if (entry.reserved != 0) return needs_newer("plan.flags", "section field", entry.reserved);
    if (known != nullptr && entry.alignment < known->alignment) {
      return damaged(file_, "plan.alignment", "section %u (%s) is aligned to %u bytes, not %u",
                     index, known->name, entry.alignment, known->alignment);
    }
    return base::ok();
  }

  // From the end of what was read to `offset`, which is at most kMaxSectionAlignment further.
  Status check_padding(uint64_t offset) {
    if (base::is_all_zero(base::slice(bytes_, end_, offset - end_))) return base::ok();
    return damaged(file_, "plan.padding", "the padding at byte %llu is not zero", to_ull(end_));
  }

  Status check_end() {
    if (content_bytes_ != base::align_up(end_, kMinSectionAlignment)) {
      return damaged(file_, "plan.end", "its last section ends at byte %llu of %llu", to_ull(end_),
                     to_ull(content_bytes_));
    }
    return check_padding(content_bytes_);
  }

  Bytes bytes_;
  const std::string& file_;
  Header header_;
  std::vector<TableEntry> sections_;
  uint64_t content_bytes_ = 0;
  uint64_t end_ = 0;  // of the header, table or section read last
};

}  // namespace

base::Result<OuterForm> read_outer_form(Bytes bytes, const std::string& file) {
  OuterForm form;
  CAMSHAFT_TRY(OuterFormReader(bytes, file).read(form));
  return form;
}

}  // namespace camshaft::plan
