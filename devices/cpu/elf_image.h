// SPDX-License-Identifier: MIT
// Reads a plan's kernel binary: an ELF shared object that needs nothing from outside. There is no
// dlopen here, because it needs a dynamic linker, a file and trust; this reader needs none of them.
//
// What is accepted: a 64-bit little-endian ET_DYN for this machine; PT_LOAD segments in ascending
// order that share no page; writable ones only where PT_GNU_RELRO covers them (they are written by
// relocation, then never again); relative relocations into those; symbols through DT_HASH. Refused:
// segments that are writable and executable, needed libraries, undefined symbols, constructors,
// thread-local storage, text relocations. Every offset, size and count is checked before use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/status.h"

namespace camshaft::cpu {

// Addresses count from the start of the image, which is mapped at a page of the loader's choice.
struct ElfSegment {
  uint64_t address = 0;
  uint64_t memory_bytes = 0;  // what is beyond file_bytes is zero
  uint64_t file_offset = 0;
  uint64_t file_bytes = 0;
  bool executable = false;
  bool relocated = false;  // relocations may point here; read-only once loaded
};
struct ElfFunction {
  std::string_view name;  // borrows the file's bytes
  uint64_t address = 0;   // within an executable segment
};
// The eight bytes at `address` become the image's address plus `addend`.
struct ElfRelocation {
  uint64_t address = 0;
  uint64_t addend = 0;
};

struct ElfImage {
  base::Bytes file;           // borrowed
  uint64_t memory_bytes = 0;  // of the whole image, a multiple of the page size
  std::vector<ElfSegment> segments;
  std::vector<ElfFunction> functions;  // sorted by name
  std::vector<ElfRelocation> relocations;

  // The function with that name, or null.
  const ElfFunction* find(std::string_view name) const;
};

// Reads and checks everything; maps nothing. `page_bytes` is the size of this machine's pages. Load
// time; allocates in proportion to the file. Fails with kWrongTarget for another machine's code,
// kUnsupported for a shared object of another kind, kCorrupt for a damaged one.
base::Result<ElfImage> parse_elf(base::Bytes file, uint64_t page_bytes);

}  // namespace camshaft::cpu
