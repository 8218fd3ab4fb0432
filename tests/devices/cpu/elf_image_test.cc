// SPDX-License-Identifier: MIT
#include "devices/cpu/elf_image.h"

#include <catch2/catch.hpp>
#include <string>

#include "devices/cpu/loaded_program.h"
#include "tests/devices/cpu/elf_patch.h"
#include "tests/support/compile_kernels.h"
#include "tests/support/last_sentence.h"

using namespace camshaft;
using base::Code;
using test::Binary;
using test::compile_kernels;
using test::last_sentence;

namespace {

constexpr uint64_t kPageBytes = 4096;

// Two functions, constants, and pointers to constants that need relocation.
constexpr const char* kText = R"(
static const uint32_t odd[4] = {1, 3, 5, 7};
static const uint32_t even[4] = {2, 4, 6, 8};
static const uint32_t* const volatile tables[2] = {odd, even};
void first(void* const* params, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) ((uint32_t*)params[0])[i] = tables[i & 1][i & 3];
}
void second(void* const* params, int64_t begin, int64_t end) { first(params, begin, end); }
)";

Binary good() {
  return compile_kernels(kText);
}

Code parse(const Binary& binary) {
  return cpu::parse_elf(binary, kPageBytes).error().code();
}

// That the binary is refused with this code and a sentence that holds the text.
void check_refused(const Binary& binary, Code code, const std::string& text) {
  INFO("expected: " << text);
  CHECK(parse(binary) == code);
  CHECK(last_sentence().find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("a shared object of kernels is read", "[elf]") {
  const Binary binary = good();
  const auto image = cpu::parse_elf(binary, kPageBytes);
  REQUIRE(image);
  REQUIRE(image->find("first") != nullptr);
  REQUIRE(image->find("second") != nullptr);
  CHECK(image->find("third") == nullptr);
  CHECK(image->find("") == nullptr);
  CHECK(image->find("first")->address != image->find("second")->address);
  CHECK(image->relocations.size() == 2);
  CHECK(image->memory_bytes % kPageBytes == 0);
  int executable = 0;
  for (const cpu::ElfSegment& segment : image->segments) {
    CHECK_FALSE((segment.executable && segment.relocated));
    executable += segment.executable ? 1 : 0;
  }
  CHECK(executable == 1);
}

TEST_CASE("binaries for other machines are of the wrong target", "[elf]") {
  const auto for_machine = [](uint16_t machine) {
    return test::edit_header(good(), [&](Elf64_Ehdr& h) { h.e_machine = machine; });
  };
  const bool is_x86 = test::header_of(good()).e_machine == EM_X86_64;
  check_refused(for_machine(is_x86 ? EM_AARCH64 : EM_X86_64), Code::kWrongTarget,
                is_x86 ? "for aarch64, but this machine is x86_64" : "for x86_64");
  check_refused(for_machine(EM_RISCV), Code::kWrongTarget, "for RISC-V");
  check_refused(for_machine(999), Code::kWrongTarget, "an unknown machine");
  check_refused(test::edit_header(good(), [](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }),
                Code::kWrongTarget, "word size");
  check_refused(test::edit_header(good(), [](Elf64_Ehdr& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }),
                Code::kWrongTarget, "byte order");
}

TEST_CASE("shared objects that need or do more than kernels are refused", "[elf]") {
  const std::string kernel = "void f(void* const* p, int64_t b, int64_t e) { BODY }";
  const auto with = [&](const std::string& before, const std::string& body,
                        std::vector<std::string> flags = {}) {
    std::string text = before + kernel;
    return compile_kernels(text.replace(text.find("BODY"), 4, body), flags);
  };
  check_refused(with("int missing(void);", "*(int*)p[0] = missing();", {"-Wl,-z,undefs,-z,now"}),
                Code::kUnsupported, "needs 'missing' from outside");
  check_refused(with("int count;", "++count;"), Code::kUnsupported, "writable data");
  check_refused(with("int count = 7;", "++count;"), Code::kUnsupported, "writable data");
  check_refused(with("", "", {"-Wl,--no-as-needed", "-lc"}), Code::kUnsupported, "needs a library");
  check_refused(with("__attribute__((constructor)) void c(void) { __asm__ volatile(\"\"); }", ""),
                Code::kUnsupported, "code to run at loading");
  check_refused(with("_Thread_local int t;", "*(int*)p[0] = t++;", {"-ftls-model=initial-exec"}),
                Code::kUnsupported, "thread-local");
  check_refused(with("", "", {"-Wl,-z,execstack"}), Code::kUnsupported, "executable stack");
  check_refused(with("", "", {"-Wl,--hash-style=gnu"}), Code::kCorrupt, "DT_HASH");
  check_refused(compile_kernels(kText, {"-Wl,-z,pack-relative-relocs"}), Code::kUnsupported,
                "not of the RELA kind");
  check_refused(compile_kernels(kText, {"-Wl,-z,norelro"}), Code::kUnsupported, "writable data");
  // Not without relocations, though: an ordinary object has no use for relro.
  CHECK(parse(with("", "", {"-Wl,-z,rodynamic", "-Wl,-z,norelro"})) == Code::kOk);
}

TEST_CASE("segments are checked", "[elf]") {
  const auto segment = [](uint32_t flags, const std::function<void(Elf64_Phdr&)>& change) {
    return test::edit_segment(good(), PT_LOAD, flags, change);
  };
  check_refused(segment(PF_X, [](Elf64_Phdr& s) { s.p_flags |= PF_W; }), Code::kUnsupported,
                "writable and executable");
  check_refused(segment(PF_X, [](Elf64_Phdr& s) { s.p_flags = PF_X; }), Code::kUnsupported,
                "can't be read");
  check_refused(segment(PF_X, [](Elf64_Phdr& s) { s.p_offset = 1 << 20; }), Code::kCorrupt,
                "outside of it");
  check_refused(segment(PF_X, [](Elf64_Phdr& s) { s.p_offset = UINT64_MAX - 10; }), Code::kCorrupt,
                "outside of it");
  check_refused(segment(PF_X, [](Elf64_Phdr& s) { s.p_filesz = s.p_memsz + 1; }), Code::kCorrupt,
                "outside of it");
  check_refused(segment(PF_X, [](Elf64_Phdr& s) { s.p_memsz = UINT64_MAX; }), Code::kCorrupt,
                "outside of it");
  check_refused(segment(PF_W, [](Elf64_Phdr& s) { s.p_memsz = 1 << 30; }), Code::kCorrupt,
                "far more memory");
  check_refused(segment(PF_W, [](Elf64_Phdr& s) { s.p_vaddr = uint64_t{1} << 40; }), Code::kCorrupt,
                "far more memory");
  check_refused(segment(PF_X, [](Elf64_Phdr& s) { s.p_vaddr = 0; }), Code::kCorrupt,
                "share a page");
  check_refused(segment(PF_R, [](Elf64_Phdr& s) { s.p_vaddr += 1 << 22; }), Code::kCorrupt,
                "out of order");
  // Pages of another size: what is apart in pages of 4 KiB is not in larger ones.
  const Binary binary = good();
  CHECK(cpu::parse_elf(binary, 64 << 10).error().code() == Code::kCorrupt);
  CHECK(last_sentence().find("share a page of this machine") != std::string::npos);
  // The region that may be written during loading can't be stretched over other data.
  check_refused(
      test::edit_segment(good(), PT_GNU_RELRO, 0, [](Elf64_Phdr& s) { s.p_vaddr += 4096; }),
      Code::kUnsupported, "writable data");
  check_refused(
      test::edit_segment(good(), PT_GNU_RELRO, 0, [](Elf64_Phdr& s) { s.p_memsz = UINT64_MAX; }),
      Code::kUnsupported, "writable data");
}

TEST_CASE("the header is checked", "[elf]") {
  const auto header = [](const std::function<void(Elf64_Ehdr&)>& change) {
    return test::edit_header(good(), change);
  };
  check_refused({}, Code::kCorrupt, "shorter");
  check_refused(Binary(64), Code::kCorrupt, "not an ELF file");
  check_refused(header([](Elf64_Ehdr& h) { h.e_version = 2; }), Code::kCorrupt, "version");
  check_refused(header([](Elf64_Ehdr& h) { h.e_type = ET_EXEC; }), Code::kUnsupported,
                "no shared object");
  check_refused(header([](Elf64_Ehdr& h) { h.e_type = ET_REL; }), Code::kUnsupported,
                "no shared object");
  check_refused(header([](Elf64_Ehdr& h) { h.e_phnum = 65; }), Code::kCorrupt, "table of segments");
  check_refused(header([](Elf64_Ehdr& h) { h.e_phnum = 0; }), Code::kCorrupt, "no segments");
  check_refused(header([](Elf64_Ehdr& h) { h.e_phoff = UINT64_MAX; }), Code::kCorrupt,
                "table of segments");
  check_refused(header([](Elf64_Ehdr& h) { h.e_phentsize = 32; }), Code::kCorrupt,
                "table of segments");
}

TEST_CASE("the dynamic section is checked", "[elf]") {
  const auto value = [](int64_t tag, uint64_t to) {
    return test::edit_dynamic(good(), tag, [&](Elf64_Dyn& d) { d.d_un.d_val = to; });
  };
  for (const int64_t tag : {DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_RELA, DT_RELASZ}) {
    for (const uint64_t to : {uint64_t{1} << 20, UINT64_MAX, UINT64_MAX - 24}) {
      CHECK(parse(value(tag, to)) == Code::kCorrupt);
    }
  }
  check_refused(value(DT_HASH, 0), Code::kCorrupt, "DT_HASH");
  check_refused(value(DT_SYMENT, 16), Code::kCorrupt, "symbols have a wrong size");
  check_refused(value(DT_RELAENT, 16), Code::kCorrupt, "relocations have a wrong size");
  check_refused(value(DT_RELASZ, 25), Code::kCorrupt, "relocations lie outside");
  const auto retag = [](int64_t to) {
    return test::edit_dynamic(good(), DT_RELACOUNT, [&](Elf64_Dyn& d) { d.d_tag = to; });
  };
  check_refused(retag(DT_TEXTREL), Code::kUnsupported, "relocates its code");
  check_refused(retag(DT_JMPREL), Code::kUnsupported, "imports functions");
  check_refused(retag(DT_REL), Code::kUnsupported, "RELA");
  check_refused(test::edit_dynamic(retag(DT_FLAGS), DT_FLAGS,
                                   [](Elf64_Dyn& d) { d.d_un.d_val = DF_TEXTREL; }),
                Code::kUnsupported, "relocates its code");
  check_refused(test::edit_segment(good(), PT_DYNAMIC, 0, [](Elf64_Phdr& s) { s.p_memsz = 16; }),
                Code::kCorrupt, "no end");
  check_refused(
      test::edit_segment(good(), PT_DYNAMIC, 0, [](Elf64_Phdr& s) { s.p_vaddr = 1 << 30; }),
      Code::kCorrupt, "dynamic section lies outside");
  check_refused(
      test::edit_segment(good(), PT_DYNAMIC, 0, [](Elf64_Phdr& s) { s.p_type = PT_NULL; }),
      Code::kCorrupt, "no dynamic section");
  check_refused(
      test::edit_segment(good(), PT_GNU_STACK, 0, [](Elf64_Phdr& s) { s.p_type = PT_INTERP; }),
      Code::kUnsupported, "dynamic linker");
}

TEST_CASE("symbols are checked", "[elf]") {
  // Symbol 0 is empty; 1 and 2 are the functions.
  const auto symbol = [](const std::function<void(Elf64_Sym&)>& change) {
    Binary binary = good();
    test::edit<Elf64_Sym>(binary, test::table_of(binary, DT_SYMTAB) + sizeof(Elf64_Sym), change);
    return binary;
  };
  check_refused(symbol([](Elf64_Sym& s) { s.st_name = 1 << 20; }), Code::kCorrupt,
                "name lies outside");
  check_refused(symbol([](Elf64_Sym& s) { s.st_shndx = SHN_UNDEF; }), Code::kUnsupported,
                "from outside");
  check_refused(symbol([](Elf64_Sym& s) { s.st_value = 0; }), Code::kCorrupt,
                "outside of its code");
  check_refused(symbol([](Elf64_Sym& s) { s.st_value = UINT64_MAX; }), Code::kCorrupt,
                "outside of its code");
  check_refused(symbol([](Elf64_Sym& s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC); }),
                Code::kUnsupported, "at run time");
  Binary twins = good();
  const size_t table = test::table_of(twins, DT_SYMTAB);
  std::memcpy(twins.data() + table + sizeof(Elf64_Sym),
              twins.data() + table + 2 * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
  check_refused(twins, Code::kCorrupt, "two functions of one name");
  // A name that runs to the end of the string table.
  Binary endless = good();
  Elf64_Dyn size;
  std::memcpy(&size, endless.data() + test::find_dynamic(endless, DT_STRSZ), sizeof size);
  endless[test::table_of(endless, DT_STRTAB) + size.d_un.d_val - 1] = std::byte{'x'};
  check_refused(endless, Code::kCorrupt, "has no end");
  // More symbols than the file has bytes for.
  Binary many = good();
  test::edit<uint32_t>(many, test::table_of(many, DT_HASH) + 4, [](uint32_t& n) { n = 1u << 31; });
  check_refused(many, Code::kCorrupt, "symbols lie outside");
}

TEST_CASE("relocations are checked", "[elf]") {
  const auto relocation = [](const std::function<void(Elf64_Rela&)>& change) {
    Binary binary = good();
    test::edit<Elf64_Rela>(binary, test::table_of(binary, DT_RELA), change);
    return binary;
  };
  check_refused(relocation([](Elf64_Rela& r) { r.r_offset = 1 << 20; }), Code::kCorrupt,
                "points outside");
  check_refused(relocation([](Elf64_Rela& r) { r.r_offset = UINT64_MAX - 3; }), Code::kCorrupt,
                "points outside");
  check_refused(relocation([](Elf64_Rela& r) { r.r_addend = 1 << 30; }), Code::kCorrupt,
                "points outside");
  check_refused(relocation([](Elf64_Rela& r) { r.r_addend = -1; }), Code::kCorrupt,
                "points outside");
  check_refused(relocation([](Elf64_Rela& r) { r.r_info = ELF64_R_INFO(1, 1); }),
                Code::kUnsupported, "need symbols");
  // Into the code, and into constants beside it: those pages are never writable.
  const auto image_bytes = good();
  const auto image = cpu::parse_elf(image_bytes, kPageBytes);
  for (const cpu::ElfSegment& segment : image->segments) {
    if (segment.relocated) continue;
    check_refused(relocation([&](Elf64_Rela& r) { r.r_offset = segment.address; }),
                  Code::kUnsupported, "relocates its code or constants");
  }
}

TEST_CASE("no cut and no changed byte does harm", "[elf]") {
  const Binary binary = good();
  hwio::MemoryCalls& calls = hwio::system_memory_calls();
  const auto attempt = [&](const Binary& changed) {
    const auto image = cpu::parse_elf(changed, kPageBytes);
    return image && cpu::LoadedProgram::map(*image, calls).has_value();
  };
  REQUIRE(attempt(binary));
  int refused_cuts = 0;
  for (size_t size = 0; size < binary.size(); ++size) {
    refused_cuts += attempt(Binary(binary.begin(), binary.begin() + size)) ? 0 : 1;
  }
  CHECK(refused_cuts > 1000);  // what is left may be loadable only without its section table
  int refused_changes = 0;
  for (size_t at = 0; at < binary.size(); ++at) {
    Binary changed = binary;
    changed[at] ^= std::byte{static_cast<uint8_t>(1 << (at * 7 % 8))};
    refused_changes += attempt(changed) ? 0 : 1;
  }
  CHECK(refused_changes > 100);
}
