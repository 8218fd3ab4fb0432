// SPDX-License-Identifier: MIT
// Names for the calls of the device contract: what a trace records and what a fault is aimed at.
#pragma once

#include <cstdint>

namespace camshaft::hal {

enum class Call : uint8_t {
  kAllocate,
  kImportMemory,
  kMakeImage,
  kLoad,
  kRecord,
  kReleaseBuffer,
  kReleaseProgram,
  kReleaseCommandList,
  kSubmit,
  kWait,
  kReset,
};
inline constexpr int kCallCount = 11;

// "allocate", "import_memory", ... Static storage.
constexpr const char* call_name(Call call) {
  constexpr const char* kNames[kCallCount] = {
      "allocate",        "import_memory",        "make_image", "load", "record", "release_buffer",
      "release_program", "release_command_list", "submit",     "wait", "reset"};
  return kNames[static_cast<int>(call)];
}

}  // namespace camshaft::hal
