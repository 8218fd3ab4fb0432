// SPDX-License-Identifier: MIT
#include "codegen/render/elf_check.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace camshaft::render {

namespace {

using base::Bytes;
using base::Status;

Status refuse(const char* what, const std::string& detail) {
  return base::fail(base::Code::kInternal, "render.shared_object",
                    "the linker made a shared object that %s%s%s", what, detail.empty() ? "" : ": ",
                    detail.c_str());
}

// An ELF file by its program headers, as a loader sees it.
class ElfView {
 public:
  static std::optional<ElfView> open(Bytes bytes);

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  // The value of a dynamic tag.
  std::optional<uint64_t> dynamic(int64_t tag) const;
  // The dynamic symbols but the null one, with their names.
  std::optional<std::vector<std::pair<Elf64_Sym, std::string>>> symbols() const;

 private:
  explicit ElfView(Bytes bytes) : bytes_(bytes) {}

  template <typename T>
  bool read(uint64_t offset, T* value) const {
    if (!base::range_fits(offset, sizeof(T), bytes_.size())) return false;
    std::memcpy(value, bytes_.data() + offset, sizeof(T));
    return true;
  }
  // The place in the file of a virtual address.
  std::optional<uint64_t> file_offset(uint64_t address) const;
  bool read_segments(const Elf64_Ehdr& header);
  bool read_dynamic();

  Bytes bytes_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
};

std::optional<ElfView> ElfView::open(Bytes bytes) {
  ElfView view(bytes);
  Elf64_Ehdr header;
  const bool is_shared_object = view.read(0, &header) &&
                                std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                                header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN;
  if (!is_shared_object || !view.read_segments(header) || !view.read_dynamic()) return std::nullopt;
  return view;
}

bool ElfView::read_segments(const Elf64_Ehdr& header) {
  segments_.resize(header.e_phnum);
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (!read(header.e_phoff + i * sizeof(Elf64_Phdr), &segments_[i])) return false;
    if (!base::range_fits(segments_[i].p_offset, segments_[i].p_filesz, bytes_.size())) {
      return false;
    }
  }
  return true;
}

bool ElfView::read_dynamic() {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      if (!read(segment.p_offset + at, &entry)) return false;
      if (entry.d_tag == DT_NULL) break;
      dynamic_.push_back(entry);
    }
    return true;
  }
  return false;
}

std::optional<uint64_t> ElfView::dynamic(int64_t tag) const {
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag == tag) return entry.d_un.d_val;
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfView::file_offset(uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    if (address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::optional<std::vector<std::pair<Elf64_Sym, std::string>>> ElfView::symbols() const {
  const auto table = file_offset(dynamic(DT_SYMTAB).value_or(0));
  const auto names = file_offset(dynamic(DT_STRTAB).value_or(0));
  const auto hash = file_offset(dynamic(DT_HASH).value_or(0));
  uint32_t counts[2];  // buckets, symbols
  if (!table || !names || !hash || !read(*hash, &counts)) return std::nullopt;
  std::vector<std::pair<Elf64_Sym, std::string>> result;
  for (uint64_t i = 1; i < counts[1]; ++i) {
    Elf64_Sym symbol;
    if (!read(*table + i * sizeof symbol, &symbol)) return std::nullopt;
    const uint64_t begin = *names + symbol.st_name;
    const auto* end = begin < bytes_.size()
                          ? std::memchr(bytes_.data() + begin, 0, bytes_.size() - begin)
                          : nullptr;
    if (end == nullptr) return std::nullopt;
    result.emplace_back(symbol, reinterpret_cast<const char*>(bytes_.data() + begin));
  }
  return result;
}

Status check_symbols(const ElfView& elf, std::vector<std::string> exports) {
  const auto symbols = elf.symbols();
  if (!symbols) return refuse("has no readable symbol table", "");
  std::vector<std::string> found;
  for (const auto& [symbol, name] : *symbols) {
    if (symbol.st_shndx == SHN_UNDEF) return refuse("needs a symbol that nothing provides", name);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return refuse("exports what is no kernel", name);
    found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  std::sort(exports.begin(), exports.end());
  return found == exports ? base::ok() : refuse("exports other functions than its kernels", "");
}

}  // namespace

Status check_shared_object(Bytes bytes, const std::vector<std::string>& exports) {
  const std::optional<ElfView> elf = ElfView::open(bytes);
  if (!elf) return refuse("is no 64-bit ELF shared object", "");
  for (const Elf64_Phdr& segment : elf->segments()) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
      return refuse("has a writable segment", "");
    }
  }
  for (const int64_t tag : {DT_REL, DT_RELA, DT_JMPREL, DT_RELR}) {
    if (elf->dynamic(tag)) return refuse("needs relocation", "");
  }
  if (elf->dynamic(DT_NEEDED)) return refuse("needs another library", "");
  return check_symbols(*elf, exports);
}

}  // namespace camshaft::render
