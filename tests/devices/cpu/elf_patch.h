// SPDX-License-Identifier: MIT
// Edits of an ELF file's headers, to make binaries that no linker would.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

namespace camshaft::test {

using Binary = std::vector<std::byte>;

template <typename T>
void edit(Binary& binary, size_t offset, const std::function<void(T&)>& change) {
  T value;
  std::memcpy(&value, binary.data() + offset, sizeof value);
  change(value);
  std::memcpy(binary.data() + offset, &value, sizeof value);
}

inline Elf64_Ehdr header_of(const Binary& binary) {
  Elf64_Ehdr header;
  std::memcpy(&header, binary.data(), sizeof header);
  return header;
}

inline Binary edit_header(Binary binary, const std::function<void(Elf64_Ehdr&)>& change) {
  edit<Elf64_Ehdr>(binary, 0, change);
  return binary;
}

// Changes the first program header of a type that has all of `flags`.
inline Binary edit_segment(Binary binary, uint32_t type, uint32_t flags,
                           const std::function<void(Elf64_Phdr&)>& change) {
  const Elf64_Ehdr header = header_of(binary);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t offset = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, binary.data() + offset, sizeof segment);
    if (segment.p_type != type || (segment.p_flags & flags) != flags) continue;
    edit<Elf64_Phdr>(binary, offset, change);
    return binary;
  }
  throw std::runtime_error("no such segment");
}

// File offset of the first entry of [dynamic] with that tag.
inline size_t find_dynamic(const Binary& binary, int64_t tag) {
  const Elf64_Ehdr header = header_of(binary);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, binary.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_DYNAMIC) continue;
    for (size_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz;
         at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, binary.data() + at, sizeof entry);
      if (entry.d_tag == tag) return at;
    }
  }
  throw std::runtime_error("no such dynamic entry");
}

inline Binary edit_dynamic(Binary binary, int64_t tag,
                           const std::function<void(Elf64_Dyn&)>& change) {
  edit<Elf64_Dyn>(binary, find_dynamic(binary, tag), change);
  return binary;
}

// File offset of an address, by the segments.
inline size_t offset_of(const Binary& binary, uint64_t address) {
  const Elf64_Ehdr header = header_of(binary);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, binary.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address < segment.p_vaddr + segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  throw std::runtime_error("no such address");
}

// File offset of the table that a dynamic entry points to.
inline size_t table_of(const Binary& binary, int64_t tag) {
  Elf64_Dyn entry;
  std::memcpy(&entry, binary.data() + find_dynamic(binary, tag), sizeof entry);
  return offset_of(binary, entry.d_un.d_ptr);
}

}  // namespace camshaft::test
