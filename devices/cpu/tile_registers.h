// SPDX-License-Identifier: MIT
// Intel's AMX has eight kilobytes of registers for each thread, which Linux saves only for
// processes that asked for them.
#pragma once

#include <string_view>

#include "runtime/base/status.h"

namespace camshaft::cpu {

// Whether code with this feature (LLVM's name, such as "amx-bf16") uses those registers.
inline bool needs_tile_registers(std::string_view feature) {
  return feature.starts_with("amx-");
}

// Asks for this process and its threads to come; again does no harm. Load time. kWrongTarget, with
// what to do, if the system refuses.
base::Status ask_for_tile_registers();

}  // namespace camshaft::cpu
