// SPDX-License-Identifier: MIT
// Feeds damaged kernel binaries to the ELF reader and maps what it accepts (without running it).
#include <cstddef>
#include <cstdint>

#include "devices/cpu/elf_image.h"
#include "devices/cpu/loaded_program.h"
#include "tests/support/compile_kernels.h"

using namespace camshaft;

namespace {

const std::vector<std::byte>& seed() {
  static const std::vector<std::byte> binary = test::compile_kernels(R"(
static const uint32_t table[4] = {1, 3, 5, 7};
static const uint32_t* const volatile pointer = table;
void f(void* const* params, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) ((uint32_t*)params[0])[i] = pointer[i & 3];
}
)");
  return binary;
}

}  // namespace

// The input is a list of edits {offset: u16, value: u8} of a good binary, then where to cut it:
// most random files fail at the magic number, and would test nothing.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> binary = seed();
  size_t at = 0;
  for (; at + 3 <= size; at += 3) {
    const size_t offset = (data[at] | size_t{data[at + 1]} << 8) % binary.size();
    binary[offset] = std::byte{data[at + 2]};
  }
  if (at + 2 == size) binary.resize((data[at] | size_t{data[at + 1]} << 8) % (binary.size() + 1));
  const auto image = cpu::parse_elf(binary, 4096);
  if (image) {
    for (const cpu::ElfFunction& function : image->functions) {
      if (image->find(function.name) == nullptr) __builtin_trap();
    }
    (void)cpu::LoadedProgram::map(*image, hwio::system_memory_calls()).has_value();
  }
  return 0;
}
