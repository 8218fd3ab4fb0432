// SPDX-License-Identifier: MIT
// How targets compute kDot, sums of products of bytes. All forms are exact.
#pragma once

#include "codegen/render/render.h"

namespace camshaft::render {

enum class DotForm : uint8_t {
  kNone,   // not at all: legalize_kernel() spells it out
  kVnni,   // x86: one instruction
  kPairs,  // x86: bytes widened to 16 bits, whose products are summed in pairs
  kUsdot,  // AArch64 with i8mm: one instruction
  kSdot,   // AArch64 with dotprod: (a - 128) * b, which are both signed, plus 128 * b
};

// Of lanes that fill a register. Narrower ones than the target's widest have the same form.
DotForm dot_form(const CpuTarget& target, int32_t lanes);

}  // namespace camshaft::render
