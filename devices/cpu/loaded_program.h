// SPDX-License-Identifier: MIT
// A kernel binary in memory, ready to call. No page of it is ever writable and executable at once.
#pragma once

#include <cstdint>

#include "devices/cpu/elf_image.h"
#include "devices/hwio/memory.h"
#include "runtime/base/status.h"

namespace camshaft::cpu {

// Runs one kernel for the indices [begin, end) of its outermost loop. `params[i]` points to the
// i-th parameter's elements, 64-byte aligned (a scalar's: to its 8 bytes).
using KernelFunction = void (*)(void* const* params, int64_t begin, int64_t end);

class LoadedProgram {
 public:
  // Builds the image at its final address (relocated), writes it to a sealed memory file, and maps
  // that with each segment's protection: such pages are never writable at all. Where the kernel has
  // no memory files or won't map them for execution, pages are anonymous instead: writable, then
  // (and only then) executable. Load time. `calls` must outlive the program. Fails with kIo.
  static base::Result<LoadedProgram> map(const ElfImage& image, hwio::MemoryCalls& calls);

  LoadedProgram(LoadedProgram&& other) noexcept;
  LoadedProgram& operator=(LoadedProgram&& other) noexcept;
  ~LoadedProgram();

  // The code of a function of the image that was mapped. Valid while this object lives.
  KernelFunction function(const ElfFunction& function) const;

 private:
  LoadedProgram(std::byte* start, uint64_t size_bytes, hwio::MemoryCalls& calls)
      : start_(start), size_bytes_(size_bytes), calls_(&calls) {}

  std::byte* start_ = nullptr;  // null after a move
  uint64_t size_bytes_ = 0;
  hwio::MemoryCalls* calls_ = nullptr;
};

}  // namespace camshaft::cpu
