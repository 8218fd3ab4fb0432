// SPDX-License-Identifier: MIT
// Names and numbers are those of the System V ABI, chapters 4 and 5, and of its x86-64 and AArch64
// supplements.
#include "devices/cpu/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace camshaft::cpu {
namespace {

using base::Bytes;
using base::Code;
using base::range_fits;
using base::Result;
using base::Status;

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE;
constexpr uint64_t kInstructionBytes = 1;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
constexpr uint64_t kInstructionBytes = 4;
#endif

// Newer than the C library's elf.h.
constexpr int64_t kDtRelrSize = 35;
constexpr int64_t kDtRelr = 36;
constexpr int64_t kDtRelrEntry = 37;

constexpr uint64_t kMaxSegments = 64;
constexpr uint64_t kMaxNameBytes = 1024;
// The image may be this much larger than the file: gaps between segments and zeroed data. Keeps a
// small damaged file from asking for much memory.
constexpr uint64_t kMaxGrowthBytes = 8 << 20;

Status damaged(const char* what) {
  return base::fail(Code::kCorrupt, "elf.damaged",
                    "the plan's kernel binary is damaged: %s; copy or compile the plan again",
                    what);
}

Status refused(const char* what) {
  return base::fail(
      Code::kUnsupported, "elf.refused",
      "the plan's kernel binary is of a kind that is never loaded: %s; compile the plan "
      "with camshaft",
      what);
}

const char* machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "32-bit x86";
    case EM_ARM:
      return "32-bit Arm";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "64-bit PowerPC";
    default:
      return "an unknown machine";
  }
}

class Parser {
 public:
  Parser(Bytes file, uint64_t page_bytes) : page_bytes_(page_bytes) { image_.file = file; }

  Result<ElfImage> parse() {
    CAMSHAFT_TRY(read_header());
    CAMSHAFT_TRY(read_program_headers());
    CAMSHAFT_TRY(lay_out_segments());
    CAMSHAFT_TRY(check_writable_segments());
    CAMSHAFT_TRY(read_dynamic());
    CAMSHAFT_TRY(read_symbols());
    if (imports_functions_) return refused("it imports functions");
    CAMSHAFT_TRY(read_relocations());
    return std::move(image_);
  }

 private:
  // Addresses in this file that [dynamic] gives, and the sizes that belong to them.
  struct Dynamic {
    uint64_t hash = 0;
    uint64_t strings = 0;
    uint64_t strings_bytes = 0;
    uint64_t symbols = 0;
    uint64_t symbol_bytes = sizeof(Elf64_Sym);
    uint64_t relocations = 0;
    uint64_t relocations_bytes = 0;
    uint64_t relocation_bytes = sizeof(Elf64_Rela);
  };

  // A structure at a file offset that the caller has checked.
  template <typename T>
  T read(uint64_t offset) const {
    T value;
    std::memcpy(&value, base::slice(image_.file, offset, sizeof value).data(), sizeof value);
    return value;
  }

  Status read_header();
  Status read_program_headers();
  Status read_load_header(const Elf64_Phdr& header);
  Status lay_out_segments();
  Status check_writable_segments();
  Status read_dynamic();
  Status read_dynamic_entry(const Elf64_Dyn& entry);
  Status read_symbols();
  Status read_symbol(const Elf64_Sym& symbol, Bytes strings);
  Status read_relocations();

  // The file bytes behind addresses of one segment, or nothing if they are not all there.
  std::optional<Bytes> at_address(uint64_t address, uint64_t size_bytes) const;
  const ElfSegment* segment_of(uint64_t address, uint64_t size_bytes) const;

  uint64_t page_bytes_;
  uint64_t lowest_address_ = 0;
  Elf64_Ehdr header_ = {};
  std::optional<Elf64_Phdr> dynamic_header_;
  std::optional<Elf64_Phdr> relro_header_;
  Dynamic dynamic_;
  bool imports_functions_ = false;
  ElfImage image_;
};

Status Parser::read_header() {
  if (image_.file.size() < sizeof(Elf64_Ehdr)) return damaged("it is shorter than an ELF header");
  header_ = read<Elf64_Ehdr>(0);
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return damaged("it is not an ELF file");
  const bool is_ours = header_.e_ident[EI_CLASS] == ELFCLASS64 &&
                       header_.e_ident[EI_DATA] == ELFDATA2LSB && header_.e_machine == kMachine;
  if (!is_ours) {
    return base::fail(
        Code::kWrongTarget, "elf.machine",
        "the plan's kernels are for %s, but this machine is %s: compile the plan for it",
        header_.e_machine == kMachine ? "another byte order or word size"
                                      : machine_name(header_.e_machine),
        machine_name(kMachine));
  }
  if (header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT) {
    return damaged("its ELF version is unknown");
  }
  if (header_.e_type != ET_DYN) return refused("it is no shared object");
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum > kMaxSegments ||
      !range_fits(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr), image_.file.size())) {
    return damaged("its table of segments lies outside of it");
  }
  return base::ok();
}

Status Parser::read_program_headers() {
  for (uint64_t i = 0; i < header_.e_phnum; ++i) {
    const auto header = read<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
    switch (header.p_type) {
      case PT_LOAD:
        CAMSHAFT_TRY(read_load_header(header));
        break;
      case PT_DYNAMIC:
        if (dynamic_header_) return damaged("it has two dynamic sections");
        dynamic_header_ = header;
        break;
      case PT_GNU_RELRO:
        if (relro_header_) return damaged("it has two relocated read-only regions");
        relro_header_ = header;
        break;
      case PT_GNU_STACK:
        if ((header.p_flags & PF_X) != 0) return refused("it asks for an executable stack");
        break;
      case PT_INTERP:
        return refused("it asks for a dynamic linker");
      case PT_TLS:
        return refused("it has thread-local storage");
      default:  // notes and unwinding tables
        break;
    }
  }
  return base::ok();
}

Status Parser::read_load_header(const Elf64_Phdr& header) {
  if (header.p_memsz == 0) return base::ok();
  if (header.p_filesz > header.p_memsz ||
      !range_fits(header.p_offset, header.p_filesz, image_.file.size()) ||
      !base::checked_add(header.p_vaddr, header.p_memsz)) {
    return damaged("a segment lies outside of it");
  }
  if ((header.p_flags & PF_R) == 0) return refused("a segment can't be read");
  if ((header.p_flags & PF_W) != 0 && (header.p_flags & PF_X) != 0) {
    return refused("a segment is writable and executable");
  }
  image_.segments.push_back(ElfSegment{.address = header.p_vaddr,
                                       .memory_bytes = header.p_memsz,
                                       .file_offset = header.p_offset,
                                       .file_bytes = header.p_filesz,
                                       .executable = (header.p_flags & PF_X) != 0,
                                       .relocated = (header.p_flags & PF_W) != 0});
  return base::ok();
}

// Turns addresses into distances from the image's first page and checks that pages are not shared.
Status Parser::lay_out_segments() {
  if (image_.segments.empty()) return damaged("it has no segments");
  lowest_address_ = image_.segments.front().address & ~(page_bytes_ - 1);
  uint64_t end = 0;  // of the pages in use so far
  for (ElfSegment& segment : image_.segments) {
    if (segment.address < lowest_address_) return damaged("its segments are out of order");
    segment.address -= lowest_address_;
    if ((segment.address & ~(page_bytes_ - 1)) < end) {
      return damaged("its segments overlap, or share a page of this machine");
    }
    const auto next = base::checked_align_up(segment.address + segment.memory_bytes, page_bytes_);
    if (!next || *next > image_.file.size() + kMaxGrowthBytes) {
      return damaged("it asks for far more memory than it has bytes");
    }
    end = *next;
  }
  image_.memory_bytes = end;
  return base::ok();
}

Status Parser::check_writable_segments() {
  for (const ElfSegment& segment : image_.segments) {
    if (!segment.relocated) continue;
    if (!relro_header_ || relro_header_->p_vaddr < lowest_address_) {
      return refused("it has writable data");
    }
    const uint64_t start = relro_header_->p_vaddr - lowest_address_;
    const auto relro_end = base::checked_add(start, relro_header_->p_memsz);
    const auto end = relro_end ? base::checked_align_up(*relro_end, page_bytes_) : std::nullopt;
    if (!end || segment.address < start || segment.address + segment.memory_bytes > *end) {
      return refused("it has writable data");
    }
  }
  return base::ok();
}

const ElfSegment* Parser::segment_of(uint64_t address, uint64_t size_bytes) const {
  for (const ElfSegment& segment : image_.segments) {
    if (address >= segment.address &&
        range_fits(address - segment.address, size_bytes, segment.memory_bytes)) {
      return &segment;
    }
  }
  return nullptr;
}

std::optional<Bytes> Parser::at_address(uint64_t address, uint64_t size_bytes) const {
  if (address < lowest_address_) return std::nullopt;
  address -= lowest_address_;
  const ElfSegment* segment = segment_of(address, size_bytes);
  if (segment == nullptr ||
      !range_fits(address - segment->address, size_bytes, segment->file_bytes)) {
    return std::nullopt;
  }
  return base::slice(image_.file, segment->file_offset + (address - segment->address), size_bytes);
}

Status Parser::read_dynamic() {
  if (!dynamic_header_) return damaged("it has no dynamic section");
  const std::optional<Bytes> table = at_address(dynamic_header_->p_vaddr, dynamic_header_->p_memsz);
  if (!table) return damaged("its dynamic section lies outside of it");
  for (uint64_t at = 0; range_fits(at, sizeof(Elf64_Dyn), table->size()); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, table->data() + at, sizeof entry);
    if (entry.d_tag == DT_NULL) return base::ok();
    CAMSHAFT_TRY(read_dynamic_entry(entry));
  }
  return damaged("its dynamic section has no end");
}

Status Parser::read_dynamic_entry(const Elf64_Dyn& entry) {
  const uint64_t value = entry.d_un.d_val;
  switch (entry.d_tag) {
    case DT_HASH:
      dynamic_.hash = value;
      return base::ok();
    case DT_STRTAB:
      dynamic_.strings = value;
      return base::ok();
    case DT_STRSZ:
      dynamic_.strings_bytes = value;
      return base::ok();
    case DT_SYMTAB:
      dynamic_.symbols = value;
      return base::ok();
    case DT_SYMENT:
      dynamic_.symbol_bytes = value;
      return base::ok();
    case DT_RELA:
      dynamic_.relocations = value;
      return base::ok();
    case DT_RELASZ:
      dynamic_.relocations_bytes = value;
      return base::ok();
    case DT_RELAENT:
      dynamic_.relocation_bytes = value;
      return base::ok();
    case DT_FLAGS:
      return (value & DF_TEXTREL) != 0 ? refused("it relocates its code") : base::ok();
    case DT_TEXTREL:
      return refused("it relocates its code");
    case DT_NEEDED:
      return refused("it needs a library");
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
      return refused("it has code to run at loading");
    case DT_JMPREL:
    case DT_PLTRELSZ:
      imports_functions_ = true;  // refused below, with the name of one
      return base::ok();
    case DT_REL:
    case kDtRelr:
    case kDtRelrSize:
    case kDtRelrEntry:
      return refused("its relocations are not of the RELA kind");
    default:  // names, versions, hints
      return base::ok();
  }
}

Status Parser::read_symbols() {
  if (dynamic_.symbol_bytes != sizeof(Elf64_Sym)) return damaged("its symbols have a wrong size");
  const std::optional<Bytes> counts = at_address(dynamic_.hash, 2 * sizeof(uint32_t));
  if (dynamic_.hash == 0 || !counts) return damaged("it has no symbol hash table (DT_HASH)");
  const uint64_t count = base::load_le<uint32_t>(counts->data() + sizeof(uint32_t));
  const std::optional<Bytes> symbols = at_address(dynamic_.symbols, count * sizeof(Elf64_Sym));
  const std::optional<Bytes> strings = at_address(dynamic_.strings, dynamic_.strings_bytes);
  if (!symbols || !strings) return damaged("its symbols lie outside of it");
  for (uint64_t i = 1; i < count; ++i) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols->data() + i * sizeof symbol, sizeof symbol);
    CAMSHAFT_TRY(read_symbol(symbol, *strings));
  }
  std::sort(image_.functions.begin(), image_.functions.end(),
            [](const ElfFunction& a, const ElfFunction& b) { return a.name < b.name; });
  const auto twin = std::adjacent_find(
      image_.functions.begin(), image_.functions.end(),
      [](const ElfFunction& a, const ElfFunction& b) { return a.name == b.name; });
  return twin == image_.functions.end() ? base::ok() : damaged("it has two functions of one name");
}

Status Parser::read_symbol(const Elf64_Sym& symbol, Bytes strings) {
  if (symbol.st_name >= strings.size()) return damaged("a symbol's name lies outside of it");
  const std::string_view rest = base::as_text(strings.subspan(symbol.st_name));
  const std::string_view name = rest.substr(0, rest.substr(0, kMaxNameBytes).find('\0'));
  if (name.size() == rest.size() || name.size() >= kMaxNameBytes) {
    return damaged("a symbol's name has no end");
  }
  if (symbol.st_shndx == SHN_UNDEF) {
    return base::fail(Code::kUnsupported, "elf.undefined",
                      "the plan's kernel binary needs '%.*s' from outside, but kernels are loaded "
                      "alone; compile the plan with camshaft",
                      static_cast<int>(std::min<size_t>(name.size(), 200)), name.data());
  }
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (type == STT_GNU_IFUNC || type == STT_TLS) {
    return refused("it has symbols that are resolved at run time");
  }
  if (type != STT_FUNC) return base::ok();
  if (symbol.st_value < lowest_address_) return damaged("a function lies outside of its code");
  const uint64_t address = symbol.st_value - lowest_address_;
  const ElfSegment* segment = segment_of(address, 1);
  if (segment == nullptr || !segment->executable ||
      address - segment->address >= segment->file_bytes || address % kInstructionBytes != 0) {
    return damaged("a function lies outside of its code");
  }
  image_.functions.push_back(ElfFunction{.name = name, .address = address});
  return base::ok();
}

Status Parser::read_relocations() {
  if (dynamic_.relocations_bytes == 0) return base::ok();
  if (dynamic_.relocation_bytes != sizeof(Elf64_Rela)) {
    return damaged("its relocations have a wrong size");
  }
  const auto table = at_address(dynamic_.relocations, dynamic_.relocations_bytes);
  if (!table || table->size() % sizeof(Elf64_Rela) != 0) {
    return damaged("its relocations lie outside of it");
  }
  for (uint64_t at = 0; at < table->size(); at += sizeof(Elf64_Rela)) {
    Elf64_Rela entry;
    std::memcpy(&entry, table->data() + at, sizeof entry);
    if (ELF64_R_TYPE(entry.r_info) != kRelative || ELF64_R_SYM(entry.r_info) != 0) {
      return refused("it has relocations that need symbols");
    }
    if (entry.r_offset < lowest_address_) return damaged("a relocation points outside of it");
    const uint64_t address = entry.r_offset - lowest_address_;
    const uint64_t addend = static_cast<uint64_t>(entry.r_addend) - lowest_address_;
    const ElfSegment* segment = segment_of(address, sizeof(uint64_t));
    if (segment == nullptr || addend > image_.memory_bytes) {
      return damaged("a relocation points outside of it");
    }
    if (!segment->relocated) return refused("it relocates its code or constants");
    image_.relocations.push_back(ElfRelocation{.address = address, .addend = addend});
  }
  return base::ok();
}

}  // namespace

const ElfFunction* ElfImage::find(std::string_view name) const {
  const auto found = std::lower_bound(
      functions.begin(), functions.end(), name,
      [](const ElfFunction& function, std::string_view wanted) { return function.name < wanted; });
  return found != functions.end() && found->name == name ? &*found : nullptr;
}

Result<ElfImage> parse_elf(Bytes file, uint64_t page_bytes) {
  CAMSHAFT_CHECK(page_bytes != 0 && (page_bytes & (page_bytes - 1)) == 0);
  return Parser(file, page_bytes).parse();
}

}  // namespace camshaft::cpu
